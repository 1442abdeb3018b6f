"""`ep bench --onnx`: a model against ONNX Runtime on this machine, on random inputs."""

from __future__ import annotations

import functools
import os
import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np

from ep.bench.timing import interleaved
from ep.cli import models, output, text
from ep.cli.computing import REFUSALS, device_of, refused
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType

_SECONDS: Final = 4.0
_NEAR: Final = 1e-3  # of the largest number of an output
Arrays = dict[str, np.ndarray[Any, Any]]


def run(arguments: Namespace) -> int:
    """Time a model on each device that was asked for; return 1 if its outputs differ from ONNX Runtime's."""
    devices = arguments.device or [DeviceType.kCPU]
    found = [_measured(arguments, one) for one in devices]
    if arguments.format == "json":
        output.as_json({"model": str(arguments.onnx), "devices": found})
    else:
        for one in found:
            _print(arguments, one)
    return 0 if all(one["right"] is not False for one in found) else 1


def _measured(arguments: Namespace, device_type: DeviceType) -> dict[str, Any]:
    begin = time.perf_counter()
    model = models.load(arguments.onnx, device_type, arguments.otherwise)
    inputs = inputs_of(model, models.shapes_of(model, arguments.shape))
    device = device_of(device_type)
    placed = {name: device.place(one) for name, one in inputs.items()}

    def ours() -> list[Any]:
        results = model.run(None, placed)
        device.stream.Sync()
        return [*results]

    try:
        results = [device.bring_back(one) for one in ours()]
    except REFUSALS as error:
        raise refused(error) from error
    first = {"ep": time.perf_counter() - begin}
    calls: dict[str, Callable[[], Any]] = {"ep": ours}
    begin = time.perf_counter()
    theirs = _onnxruntime(arguments, inputs)
    right = distance = None
    if theirs is not None:
        expected = theirs()
        first["onnxruntime"] = time.perf_counter() - begin
        calls["onnxruntime"] = theirs
        distance = max(map(_distance, results, expected), default=0.0)
        right = distance <= _NEAR
    times = interleaved(calls, _SECONDS)
    return {
        "device": device_type.tag,
        "otherwise": arguments.otherwise and arguments.otherwise.tag,
        "parts": str(model.explain(**inputs)) if arguments.otherwise else None,
        "shapes": {name: list(one.shape) for name, one in inputs.items()},
        "first_seconds": first,
        "seconds": {name: one.median for name, one in times.items()},
        "quartiles": {name: [one.lower, one.upper] for name, one in times.items()},
        "distance": distance,
        "right": right,
    }


def inputs_of(model: Any, shapes: Mapping[str, tuple[int, ...]]) -> Arrays:
    """Return random inputs of a model."""
    rng = np.random.default_rng(0)
    return {name: random_array(rng, shapes[name], dtype, 2) for name, dtype, _ in model.inputs}


def random_array(rng: np.random.Generator, shape: Sequence[int], dtype: Any, count: int) -> np.ndarray[Any, Any]:
    """Return random numbers; integers and truth values are from 0 to count - 1, which most take for indices, masks and
    lengths."""
    if np.dtype(dtype).kind in "iub":
        return rng.integers(0, count, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def _onnxruntime(arguments: Namespace, inputs: Arrays) -> Callable[[], Any] | None:
    """Return a run of ONNX Runtime on as many threads as the CPU device has; None if it is not installed."""
    try:
        onnxruntime: Any = import_module("onnxruntime")
    except ModuleNotFoundError:
        return None
    cpu: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = cpu.GetNumThreads(), 1
    options.log_severity_level = 4
    # else its threads would take processors from the next turn
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = onnxruntime.InferenceSession(os.fspath(arguments.onnx), options, providers=["CPUExecutionProvider"])
    return functools.partial(session.run, None, inputs)


def _distance(one: Any, other: Any) -> float:
    """Return the largest difference of two outputs, of the largest number of the second."""
    if one.shape != other.shape:
        return float("inf")
    wide = np.complex128 if other.dtype.kind == "c" else np.float64
    one, other = one.astype(wide), other.astype(wide)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    largest = abs(other[np.isfinite(other)]).max(initial=0.0) or 1.0
    return float(np.where(same, 0.0, abs(one - other)).max(initial=0.0) / largest)


def _print(arguments: Namespace, found: Mapping[str, Any]) -> None:
    shapes = ", ".join(f"{name} {' x '.join(map(str, shape)) or '1'}" for name, shape in found["shapes"].items())
    beside = f" and {found['otherwise']}" if found["otherwise"] else ""
    names = {"ep": f"ep, {found['device']}{beside}", "onnxruntime": "ONNX Runtime"}
    ours = found["seconds"]["ep"]
    taken = found["seconds"]
    first_unit, first = text.column([found["first_seconds"][name] for name in taken])
    unit, times = text.column([*taken.values()])
    shares = [f"{seconds / ours:.2f}" for seconds in taken.values()]
    rows = [*zip(map(names.__getitem__, taken), first, times, shares, strict=True)]
    columns = ("", f"load, first run, {first_unit}", f"run, {unit}", "of ours")
    output.table(columns, rows, f"{arguments.onnx}: {shapes}", right=columns[1:])
    if found["distance"] is None:
        output.paragraph("ONNX Runtime is not installed: nothing is compared.")
    else:
        verdict = "ok" if found["right"] else f"fail, since one of the two is off by more than {_NEAR / 2:.0e}"
        output.paragraph(f"The outputs differ by {found['distance']:.1g} of the largest: {verdict}.")
    if found["parts"]:
        print(found["parts"])
