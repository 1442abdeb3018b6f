"""`ep bench --onnx`: a model against ONNX Runtime on this machine, on random inputs."""

from __future__ import annotations

import functools
import os
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

import numpy as np

from ep.bench.timing import interleaved
from ep.cli import models, output, text
from ep.cli.computing import REFUSALS, device_of, refused
from ep.cli.parser import CommandError
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
    model = models.load(arguments.onnx, device_type)
    inputs = _inputs(model, models.by_name("--shape", arguments.shape, [one.name for one in model.inputs]))
    device = device_of(device_type)
    placed = {name: device.place(one) for name, one in inputs.items()}

    def ours() -> list[Any]:
        results = model.run(None, placed)
        device.stream.Sync()
        return [*results]

    try:
        results = [device.bring_back(one) for one in ours()]
    except REFUSALS as error:
        notes = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
        raise CommandError(f"{refused(error)}{notes}") from error
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
        "shapes": {name: list(one.shape) for name, one in inputs.items()},
        "first_seconds": first,
        "seconds": {name: one.median for name, one in times.items()},
        "quartiles": {name: [one.lower, one.upper] for name, one in times.items()},
        "distance": distance,
        "right": right,
    }


def _inputs(model: Any, shapes: Mapping[str, tuple[int, ...]]) -> Arrays:
    """Return random inputs; free sizes that were not given are 1."""
    rng, found = np.random.default_rng(0), Arrays()
    for name, dtype, shape in model.inputs:
        own = () if shape is None else tuple(size if isinstance(size, int) else 1 for size in shape)
        sizes = shapes.get(name, own)
        if dtype.kind in "iub":  # indices, masks, lengths: values that most models accept
            found[name] = rng.integers(0, 2, sizes).astype(dtype)
        else:
            found[name] = rng.standard_normal(sizes).astype(dtype)
    return found


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
    names = {"ep": f"ep, {found['device']}", "onnxruntime": "ONNX Runtime"}
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
