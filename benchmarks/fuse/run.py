"""Measurement of the expressions: the results of all libraries are compared, then they are timed in turns."""

from __future__ import annotations

import ctypes
import re
import statistics
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import ml_dtypes
import numpy as np

from benchmarks.fuse.expressions import EXPRESSIONS
from benchmarks.fuse.libraries import libraries
from benchmarks.quiet import wait_for_threads
from ep import DeviceManagerRegistry, DeviceType
from ep.bench.timing import interleaved
from ep.cli import output

SHAPES: Final = {2**12: (16, 256), 2**16: (128, 512), 2**20: (1024, 1024), 2**24: (4096, 4096)}
"""Rows and columns, by the number of elements."""

_TYPES: Final = {"float32": np.dtype(np.float32), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
_SEED: Final = 20
_TOLERANCES: Final = {"float32": 1e-3, "bfloat16": 0.1}
"""The largest distance from the float64 result over its largest element: finds a wrong formula, not other rounding."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_OWN: Final = ("ep", "ep.ops")


def measure(arguments: Namespace) -> dict[str, Any]:
    """Return the seconds of each expression by library, for each requested type and size that exists."""
    _keep_memory()
    device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    device.SetNumThreads(arguments.threads)
    found = libraries(arguments.peers, arguments.threads)
    cases = [
        (name, dtype, size)
        for dtype in _TYPES
        for size in SHAPES
        for name in EXPRESSIONS
        if dtype in arguments.dtypes and size in (arguments.sizes or SHAPES) and re.search(arguments.cases, name)
    ]
    results = []
    with output.progress("expressions", len(cases)) as advance:
        for case in cases:
            results.append(dict(zip(("expression", "dtype", "size"), case, strict=True)))
            results[-1] |= _measure(*case, found, arguments.seconds)
            advance(1)
    return {"cases": results} if cases else {}


def _measure(name: str, dtype: str, size: int, found: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    expression, rng = EXPRESSIONS[name], np.random.default_rng(_SEED)
    arrays = [_of_type(array, _TYPES[dtype]) for array in expression.draw(rng, *SHAPES[size])]
    calls: dict[str, Callable[[], Any]] = {}
    different, tolerance = [], _TOLERANCES[dtype]
    exact = [array.astype(np.float64) if array.dtype == _TYPES[dtype] else array for array in arrays]
    expected = list(_as_float64(found["ep.ops"](expression, exact)()))
    for library, prepare in found.items():
        call = prepare(expression, arrays)
        if call is None:
            continue
        results = list(_as_float64(call()))
        if all(_close(*pair, tolerance) for pair in zip(results, expected, strict=True)):
            calls[library] = call
        else:
            different.append(library)
    if wrong := [own for own in _OWN if own in different]:
        raise AssertionError(f"{name} of {dtype}, {size:,} elements: {wrong[0]} differs from the float64 result")
    times = {library: timing.median for library, timing in interleaved(calls, seconds, wait_for_threads).items()}
    rivals = {library: taken for library, taken in times.items() if library not in _OWN}
    best = min(rivals, key=rivals.__getitem__, default=None)
    return {
        "seconds": times,
        "best_peer": best,
        "ratio": rivals[best] / times["ep"] if best else None,
        "bytes": sum(array.nbytes for array in arrays) + sum(one.size for one in expected) * _TYPES[dtype].itemsize,
        "different": different,
    }


def _close(result: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], tolerance: float) -> bool:
    return np.allclose(result, expected, rtol=0, atol=tolerance * np.abs(expected).max(initial=0))


def _of_type(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return array.astype(dtype) if array.dtype == np.float64 else array


def _as_float64(results: Any) -> Iterator[np.ndarray[Any, Any]]:
    for one in results if isinstance(results, tuple | list) else (results,):
        array = one.float().numpy() if hasattr(one, "float") and hasattr(one, "numpy") else np.asarray(one)
        yield array.astype(np.float64)


def _keep_memory() -> None:
    """Make the C library keep freed memory, for all libraries: each call allocates its results."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_MMAP_THRESHOLD, 2**30)
        libc.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


def show(found: Mapping[str, Any]) -> None:
    """Print a table, and the geometric means by type and size."""
    cases = found["cases"]
    names = list(dict.fromkeys(library for case in cases for library in case["seconds"]))
    rows = [
        [
            case["expression"],
            case["dtype"],
            f"{case['size']:,}",
            *(f"{case['seconds'][name] * 1e6:,.1f}" if name in case["seconds"] else "" for name in names),
            f"{case['ratio']:.2f}" if case["ratio"] else "",
            f"{case['bytes'] / case['seconds']['ep'] / 1e9:.1f}",
        ]
        for case in cases
    ]
    columns = ("expression", "dtype", "size", *names, "ratio", "GB/s")
    output.table(columns, rows, "microseconds of expressions; ratio: the best peer's time over ep's", right=columns[2:])
    print("\ngeometric means:")
    for dtype in dict.fromkeys(case["dtype"] for case in cases):
        for size in [*dict.fromkeys(case["size"] for case in cases), None]:
            chosen = [case for case in cases if case["dtype"] == dtype and size in (None, case["size"])]
            ratios = [case["ratio"] for case in chosen if case["ratio"]]
            beside = [case["seconds"]["ep.ops"] / case["seconds"]["ep"] for case in chosen]
            behind = sum(ratio < 0.95 for ratio in ratios)
            if ratios:
                what = f"{dtype}, {f'{size:,} elements' if size else 'all sizes'}"
                print(
                    f"{what}: {statistics.geometric_mean(ratios):.2f} of the best peer, {behind} of {len(ratios)} "
                    f"below 0.95; {statistics.geometric_mean(beside):.2f} of the operators one by one"
                )
    for case in cases:
        if case["different"]:
            print(f"not timed: {', '.join(case['different'])} of {case['expression']}, {case['dtype']}: another result")
