"""The start and the memory of models, beside ONNX Runtime: `python -m benchmarks.model_starts` prints a table.

Each time is that of fresh processes, from the import of the library, after NumPy, to the first result; the median of
some. Ours find compiled kernels and plans on disk; with `--cold` they do not. All find Python's bytecode on disk, as
pip leaves it. Peak memory is that of the process after three results. `in use` is the memory that one plan has for
intermediate values, over the largest sum of those that are needed at once. The first row is a model of one node: it
shows the part of the libraries themselves.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper

import ep.onnx
from benchmarks.models import MODELS
from benchmarks.startup import with_bytecode
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType

Array = np.ndarray[Any, Any]
_SEED: Final = 20

_PROCESS: Final = """
import json, sys, time
import numpy as np
library, path, arrays, threads = sys.argv[1:]
inputs = dict(np.load(arrays))
times = [time.perf_counter()]
if library == "ep":
    import ep.onnx
    times.append(time.perf_counter())
    model = ep.onnx.load(path)
else:
    import onnxruntime
    times.append(time.perf_counter())
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, int(threads)
    model = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
for _ in range(3):
    times.append(time.perf_counter())
    model.run(None, inputs)
times.append(time.perf_counter())
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024
print(json.dumps([times[1] - times[0], times[2] - times[1], times[3] - times[2], peak]))
"""


def _process(library: str, path: Path, arrays: Path, threads: int, **environment: str) -> list[float]:
    """Return the seconds of import, load and first result of a fresh process, and its peak memory in bytes."""
    command = [sys.executable, "-c", _PROCESS, library, str(path), str(arrays), str(threads)]
    environment = {**with_bytecode(arrays.parent), **environment}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _node(folder: Path) -> Path:
    """Return the path of a model of one node, which is written."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, (64,)) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "one node", [x], [y])
    path = folder / "node.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    return path


def _models(folder: Path, only: str) -> Iterator[tuple[str, Path, Mapping[str, Array]]]:
    """Yield the names, the paths and the inputs of the models."""
    if not only:
        yield "one node", _node(folder), {"x": np.ones(64, np.float32)}
    for one in MODELS:
        if only in one.what and (path := one.path()) is not None:
            yield one.what, path, one.inputs(np.random.default_rng(_SEED))


def _in_use(path: Path, inputs: Mapping[str, Array]) -> str:
    """Return the bytes of the first plan's intermediate values, over the largest sum of those needed at once."""
    text = ep.onnx.load(path).explain(**{name: one.shape for name, one in inputs.items()})
    found = re.search(r"memory: ([\d,]+) bytes.* have ([\d,]+) at most", text)
    assert found is not None, text
    bytes_, live = (int(one.replace(",", "")) for one in found.groups())
    return f"{bytes_ / live:.2f}" if live else "-"


def _rows(runs: int, threads: int, only: str, cold: bool) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| model | ONNX Runtime, ms | ep, ms: import, load, first | ONNX Runtime, MB | ep, MB | ratio | in use |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    with TemporaryDirectory() as folder:
        for what, path, inputs in _models(Path(folder), only):
            arrays = Path(folder) / "inputs.npz"
            np.savez(arrays, **inputs)
            for library in ("ep", "onnxruntime"):  # what is not on disk yet is compiled, and bytecode in any case
                _process(library, path, arrays, threads)
            found: dict[str, list[list[float]]] = {"ep": [], "onnxruntime": []}
            for _ in range(runs):
                for library, each in found.items():
                    with TemporaryDirectory() as empty:
                        environment = {"EP_CACHE_DIR": empty} if cold else {}
                        each.append(_process(library, path, arrays, threads, **environment))
            (*ours, peak), (*theirs, their_peak) = (
                [statistics.median(column) for column in zip(*found[library], strict=True)] for library in found
            )
            parts = ", ".join(f"{part * 1e3:.0f}" for part in ours)
            cells = what, f"{sum(theirs) * 1e3:.0f}", f"{sum(ours) * 1e3:.0f}: {parts}", f"{their_peak / 1e6:.0f}"
            cells = *cells, f"{peak / 1e6:.0f}", f"{peak / their_peak:.2f}", _in_use(path, inputs)
            yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help="a part of the names of models")
    parser.add_argument("--cold", action="store_true", help="with no compiled kernels and no plans on disk")
    given = parser.parse_args()
    device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    for line in _rows(given.runs, device.GetNumThreads(), given.only, given.cold):
        print(line, flush=True)


if __name__ == "__main__":
    main()
