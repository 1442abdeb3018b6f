"""The runtimes of ONNX models that are compared with `ep`: each runs models on the CPU, in float32, on some threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]
Call = Callable[[], Sequence[Array]]
"""A run of a model, which returns its outputs as new arrays."""

NAMES: Final = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
"""The packages, and what they are called."""


def installed(wanted: Sequence[str] = tuple(NAMES)) -> list[str]:
    """Return the wanted packages that are installed; of each other one, print that it is left out."""
    present = [name for name in NAMES if name in wanted and find_spec(name) is not None]
    for name in NAMES:
        if name in wanted and name not in present:
            print(f"{NAMES[name]} is left out: the package {name} is not installed")
    return present


def prepared(name: str, model: Path | bytes, inputs: Mapping[str, Array], threads: int) -> Call | None:
    """Return a run of a model, of a file or its bytes, on inputs; None if the runtime cannot load the model."""
    return _MAKERS[name](model, inputs, threads)


def session_of(model: Path | bytes, threads: int) -> Any:
    """Return ONNX Runtime's session of a model, on a number of threads."""
    onnxruntime = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads, options.inter_op_num_threads = 3, threads, 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _of_onnxruntime(model: Path | bytes, inputs: Mapping[str, Array], threads: int) -> Call:
    session = session_of(model, threads)
    return lambda: session.run(None, inputs)


def _of_openvino(model: Path | bytes, inputs: Mapping[str, Array], threads: int) -> Call | None:
    """Return a run of OpenVINO. The model is compiled for the shapes of the inputs, for the least time of one run."""
    core = import_module("openvino").Core()
    try:
        graph = core.read_model(model)
    except RuntimeError:  # it has an operator that OpenVINO does not convert
        return None
    graph.reshape({name: list(array.shape) for name, array in inputs.items()})
    options = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",  # else bfloat16, where the processor multiplies that
    }
    request, given = core.compile_model(graph, "CPU", options).create_infer_request(), dict(inputs)
    return lambda: list(request.infer(given, share_inputs=True).values())


_MAKERS: Final = {"onnxruntime": _of_onnxruntime, "openvino": _of_openvino}
