"""The time of launches with new dims, and of operators on a thousand small arrays and on views."""

from __future__ import annotations

import itertools
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

import ep.ops
from ep import BinaryOp, DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.bench.timing import interleaved
from ep.include import primitive as p
from ep.include.primitive import BlasTransposeType, ReduceOp

_F32: Final = np.dtype(np.float32)
_ROWS: Final = 1000  # at most: the time of launches of so few elements is that of Python alone
_ARRAYS: Final = 1000
_ELEMENTS: Final = 8
_VIEWED: Final = (1001, 1003)
_SECONDS: Final = 0.5

_N: Final = BlasTransposeType.N
_BINARY: Final = (p.BroadcastElementwiseBinaryFactory, BinaryOp.kAdd, _F32, _F32, 2)

Arguments = Callable[[int, np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]], tuple[Any, ...]]

_NEW_DIMS: Final[Mapping[str, tuple[tuple[Any, ...], Arguments]]] = {
    # the key of a primitive, and the arguments of a launch of n rows on two arrays and a result
    "binary, same shape": (_BINARY, lambda n, a, b, c: ((n, 3), a, (n, 3), b, c)),
    "binary, row": (_BINARY, lambda n, a, b, c: ((n, 3), a, (3,), b, c)),
    "unary": (
        (p.BroadcastElementwiseUnaryFactory, UnaryOp.kRelu, _F32, _F32, 2),
        lambda n, a, b, c: ((n, 3), a, (n, 3), c),
    ),
    "expand": ((p.ExpandFactory, _F32, 2), lambda n, a, b, c: ((n, 1), a, (n, 5), c)),
    "permute": ((p.PermuteFactory, 2), lambda n, a, b, c: (_F32, (n, 4), a, (1, 0), c)),
    "copy_nd": ((p.CopyNdFactory, 2), lambda n, a, b, c: (_F32, c, (n + 9, 8), (3, 1), a, (n + 3, 4), (1, 0), (n, 3))),
    "copy_nd, new place": (
        (p.CopyNdFactory, 2),
        lambda n, a, b, c: (_F32, c, (8, 1009), (1, n), a, (8, 1), (0, 0), (3, 1)),
    ),
    "pad": ((p.ConstantPadFactory, _F32), lambda n, a, b, c: ((n, 3), a, (1, 0), (0, 2), 0, c)),
    "where, same shape": (
        (p.WhereFactory, np.dtype(bool), _F32, 2),
        lambda n, a, b, c: ((n, 3), a.view(bool), (n, 3), a, (n, 3), b, c),
    ),
    "where, two broadcasts": (
        (p.WhereFactory, np.dtype(bool), _F32, 2),
        lambda n, a, b, c: ((n, 1), a.view(bool), (n, 3), a, (3,), b, c),
    ),
    "reduce": ((p.ReduceFactory, ReduceOp.kSum, _F32, 2), lambda n, a, b, c: ((n, 4), a, (1,), c)),
    "matmul": (
        (p.BroadcastMatmulFactory, _F32, _N, _N, 3),
        lambda n, a, b, c: (1, (n, 2, 3), a, (3, 2), b, 0, (n, 2, 2), c),
    ),
}


def new_dims() -> dict[str, dict[str, float]]:
    """Return the seconds of a launch with new dims, and of one with the same dims again: the minimum of a thousand.

    A launch with certain dims is the first only once, so these are not medians of samples; the minimum is the time of a
    launch that no other work on the machine disturbs.
    """
    stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()
    a, b, c = (np.zeros(16 * (_ROWS + 1009), _F32) for _ in range(3))
    found = {}
    for name, ((factory, *key), arguments) in _NEW_DIMS.items():
        primitive = RequirePrimitive(factory, DeviceType.kCPU, *key)
        least = {"new dims": float("inf"), "kept dims": float("inf")}
        for n in range(1, _ROWS):
            given = arguments(n, a, b, c)
            for which in least:
                begin = time.perf_counter()
                primitive.Launch(stream, *given)
                least[which] = min(least[which], time.perf_counter() - begin)
        found[name] = least
    return found


def many_arrays() -> dict[str, dict[str, float]]:
    """Return the seconds to join a thousand arrays, or to split one into a thousand, compared with NumPy."""
    arrays = [np.full(_ELEMENTS, place, _F32) for place in range(_ARRAYS)]
    whole = np.concatenate(arrays)
    ends = list(itertools.accumulate(map(len, arrays)))[:-1]
    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "concat": (lambda: ep.ops.concat(arrays), lambda: np.concatenate(arrays)),
        "stack": (lambda: ep.ops.stack(arrays), lambda: np.stack(arrays)),
        "stack, last axis": (lambda: ep.ops.stack(arrays, 1), lambda: np.stack(arrays, 1)),
        "split": (lambda: ep.ops.split(whole, _ARRAYS), lambda: [one.copy() for one in np.split(whole, _ARRAYS)]),
        "split, at places": (lambda: ep.ops.split(whole, ends), lambda: [one.copy() for one in np.split(whole, ends)]),
    }
    found = {}
    for name, (ours, theirs) in pairs.items():
        if not np.array_equal(np.asarray(ours()), np.asarray(theirs())):
            raise AssertionError(f"{name} differs from NumPy's")
        times = interleaved({"ep": ours, "numpy": theirs}, _SECONDS)
        found[name] = {who: timing.median for who, timing in times.items()}
    return found


def views() -> dict[str, dict[str, float]]:
    """Return the seconds of an operator on a view, compared with the operator on a copy by NumPy."""
    found = {}
    for dtype in (np.dtype(np.int8), _F32, np.dtype(np.float64)):
        array = np.ones(_VIEWED, dtype)
        for name, view in {"x.T": array.T, "x[:, ::2]": array[:, ::2], "x[:, 3:]": array[:, 3:]}.items():
            times = interleaved(
                {
                    "ep": lambda view=view: ep.ops.abs(view),
                    "copied by numpy": lambda view=view: ep.ops.abs(np.ascontiguousarray(view)),
                },
                _SECONDS,
            )
            found[f"{name}, {dtype}"] = {who: timing.median for who, timing in times.items()}
    return found


def measure(arguments: Namespace) -> dict[str, Any]:
    """Return all figures of this module: compared with NumPy only, for launches too small for two threads."""
    return {"new_dims": new_dims(), "many_arrays": many_arrays(), "views": views()}


def show(found: Mapping[str, Any]) -> None:
    """Print the figures."""
    groups = {
        "new_dims": "new dims, least of many",
        "many_arrays": f"{_ARRAYS:,} arrays, medians",
        "views": "abs of views of {:,} x {:,}, medians".format(*_VIEWED),
    }
    for group, title in groups.items():
        print(f"\n{title}:")
        for name, times in found[group].items():
            print(f"{name}: " + ", ".join(f"{who} {taken * 1e6:.2f} us" for who, taken in times.items()))
