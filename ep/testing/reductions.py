"""The values of the tests of Reduce, its launches, and the check of its results within the tolerances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.include import DataType
from ep.include.number_kind import FLOATS, Kind, number_kind
from ep.include.primitive import ReduceFactory, ReduceOp
from ep.include.primitive.op_table import REDUCTIONS
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.references.reduce import exact, magnitude
from ep.testing.samples import finite, samples
from ep.testing.tolerances import launch_ulps, sum_ulps
from ep.testing.ulps import errors_in_ulps


def draw(rng: np.random.Generator, op: ReduceOp, data_type: DataType, dims: Sequence[int]) -> np.ndarray:
    """Return values for which the op's result is distinctive: products stay near 1."""
    drawn: np.ndarray = _draw(rng, op, data_type, math.prod(dims)).reshape(dims)
    return drawn


def launch(
    device: DeviceUnderTest,
    op: ReduceOp,
    data_type: DataType,
    src: np.ndarray,
    axes: Sequence[int],
    primitive: Any = None,
) -> np.ndarray:
    """Launch, and return the result. primitive: one for these types, unless the launch makes it."""
    result_type = REDUCTIONS[op].result_type(data_type)
    count = math.prod(size for axis, size in enumerate(src.shape) if axis not in {a % src.ndim for a in axes})
    dst = device.filled(count + 3, result_type)
    primitive = primitive or device.require(ReduceFactory, op, data_type, 8)
    primitive.Launch(device.stream, src.shape, device.buffer(src), axes, dst)
    return device.written(dst, count)


def check_close(
    device: DeviceUnderTest, op: ReduceOp, data_type: DataType, got: np.ndarray, src: np.ndarray, axes: Sequence[int]
) -> None:
    """Raise AssertionError if a result is further from the exact one than the documented bound."""
    want = exact(op, src, axes, data_type)
    if got.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
        return
    if op in (ReduceOp.kMin, ReduceOp.kMax):
        np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64))
        return
    count = src.size // max(got.size, 1)
    bound = launch_ulps(sum_ulps(device.library) if op is not ReduceOp.kProd else count + 1, data_type, got.dtype)
    if got.dtype.kind == "c":
        term = magnitude(op, src, axes) if op is not ReduceOp.kProd else np.abs(want)
        parts = [(got.real, want.real, term), (got.imag, want.imag, term)]
    else:
        parts = [(got, want, magnitude(op, src, axes) if op is not ReduceOp.kProd else 0)]
    for got_part, want_part, term in parts:
        errors = errors_in_ulps(got_part, want_part, term)
        worst = int(np.argmax(errors)) if errors.size else 0
        assert not errors.size or errors[worst] <= bound, (
            f"{op.name} of {data_type.name} {src.shape} along {axes}, element {worst}: {got_part[worst]!r}, exactly "
            f"{want_part[worst]!r}: {errors[worst]:.3g} ulp of {bound:.3g}"
        )


def _draw(rng: np.random.Generator, op: ReduceOp, data_type: DataType, count: int) -> np.ndarray:
    drawn: np.ndarray
    if number_kind(data_type) is Kind.BOOL:
        drawn = rng.random(count) < rng.choice([0.02, 0.5, 0.98])
    elif op in (ReduceOp.kAny, ReduceOp.kAll):
        drawn = samples(rng, data_type, count)
        if op is ReduceOp.kAny:
            drawn[rng.random(count) < 0.95] = 0
        else:
            drawn[drawn == 0] = 1
            drawn[rng.random(count) < 0.02] = 0
    elif op is ReduceOp.kProd and data_type in FLOATS:
        drawn = np.exp(rng.normal(0, 0.5 / math.sqrt(count + 1), count)).astype(data_type.dtype)
    elif op is ReduceOp.kProd and number_kind(data_type) is Kind.COMPLEX:
        drawn = np.exp(1j * rng.normal(0, 1, count)).astype(data_type.dtype)
    elif op in (ReduceOp.kSum, ReduceOp.kMean) and data_type in FLOATS:
        drawn = finite(rng, data_type, count)
    else:
        drawn = samples(rng, data_type, count)
    return drawn
