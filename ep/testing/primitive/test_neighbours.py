"""A row, a column or a segment gives the same bits whatever others hold: infinities, NaN, and numbers of any size."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ep.include import DataType
from ep.include.number_kind import COMPLEXES, FLOATS, part_of
from ep.include.primitive import (
    BatchUnsortedSegmentSumFactory,
    Factory,
    MatmulFactory,
    ReduceFactory,
    ReduceOp,
    UnsortedSegmentSumFactory,
)
from ep.include.primitive.blas import BlasTransposeType
from ep.testing import reductions, segments, softmaxes
from ep.testing.arrays import Array, Dims, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, those_keys
from ep.testing.samples import samples
from ep.testing.tolerances import launch_ulps, sum_ulps

N = BlasTransposeType.N
INEXACT = [*product((*FLOATS, *COMPLEXES), (DataType.kInt32, DataType.kInt64))]
"""The keys of segment sums whose sums are rounded; their kernels differ by the type of the ids in the lookup alone."""


def special(rng: Rng, data_type: DataType, count: int) -> Any:
    """Return numbers that spread or overflow: infinities, NaN, the largest, the least, and ordinary ones."""
    if data_type not in FLOATS and data_type not in COMPLEXES:
        return samples(rng, data_type, count)
    part = part_of(data_type).dtype
    info = ml_dtypes.finfo(part)
    largest, least, normal = float(info.max), float(info.smallest_subnormal), float(info.tiny)
    chosen = [np.inf, -np.inf, np.nan, largest, -largest, largest / 3, least, normal, 0.0, -0.0, 1.0]
    numbers = rng.choice(chosen, count * (2 if data_type in COMPLEXES else 1)).astype(part)
    return numbers.view(data_type.dtype)


def small(rng: Rng, data_type: DataType, count: int) -> Any:
    """Return numbers of which a factor below 1 would take bits: near the least normal one of the type, and below."""
    if data_type not in FLOATS and data_type not in COMPLEXES:
        return samples(rng, data_type, count)
    part = part_of(data_type).dtype
    numbers = rng.uniform(-4, 4, count * (2 if data_type in COMPLEXES else 1)) * float(ml_dtypes.finfo(part).tiny)
    return numbers.astype(part).view(data_type.dtype)


def check(rng: Rng, data_type: DataType, sources: Any, along: Any, computed: Any) -> None:
    """Compare the results of rows that stay the same, while the others hold special numbers.

    sources: arrays of one shape. along: the axes of a row. computed: (sources) -> the results, with axes of 1 or more
        elements in place of those of a row.
    """
    shape = sources[0].shape
    stays = rng.random([1 if axis in along else size for axis, size in enumerate(shape)]) < 0.5
    before = computed(sources)
    for share in (0.1, 1):
        changed = np.broadcast_to(~stays, shape) & (rng.random(shape) < share)
        others = [np.where(changed, special(rng, data_type, one.size).reshape(shape), one) for one in sources]
        after, rows = computed(others), np.broadcast_to(stays, before.shape)
        assert after[rows].tobytes() == before[rows].tobytes()


LAYOUTS = [
    ((7, 5), (0,)),
    ((67, 3), (0,)),
    ((5, 7), (1,)),
    ((11, 131), (1,)),
    ((37, 1), (1,)),
    ((1, 37), (0,)),
    ((3, 13, 5), (1,)),
    ((3, 5, 7), (0, 2)),
    ((2, 3, 5, 3), (1, 3)),
]
"""Dims and axes: by rows and by columns, rows of one element, several axes."""


@pytest.mark.parametrize("draw", [small, None])
@every_key(ReduceFactory)
def test_reduce(device: DeviceUnderTest, rng: Rng, key: FlatKey, draw: Callable[..., Any]) -> None:
    op, data_type = key
    for dims, axes in LAYOUTS:
        count = int(np.prod(dims))
        drawn = reductions.draw(rng, op, data_type, dims) if draw is None else draw(rng, data_type, count)
        kept = [1 if axis in axes else size for axis, size in enumerate(dims)]

        def computed(sources: Any, axes: Dims = axes, kept: Any = kept) -> Any:
            return reductions.launch(device, op, data_type, sources[0], axes).reshape(kept)

        check(rng, data_type, [drawn.reshape(dims).astype(data_type.dtype)], axes, computed)


@those_keys(ReduceFactory, *((ReduceOp.kMean, t) for t in (*FLOATS, *COMPLEXES)))
def test_means_of_equal_numbers(device: DeviceUnderTest, key: FlatKey) -> None:
    """The mean of 2^n equal numbers is this number, beside columns and rows of any others."""
    op, data_type = key
    info = ml_dtypes.finfo(part_of(data_type).dtype)
    numbers = [info.smallest_subnormal, info.tiny, 1.0, info.max, -info.max, np.inf, np.nan, -np.inf, 0.0]
    want = np.array(numbers, part_of(data_type).dtype).astype(data_type.dtype)
    for count in (1, 2, 64, 512):
        columns = np.repeat(want[None], count, 0)
        for src, axes in ((columns, (0,)), (columns.T.copy(), (1,)), (columns[None].repeat(2, 0), (0, 1))):
            got = reductions.launch(device, op, data_type, src, axes)
            np.testing.assert_array_equal(got.real.astype(np.float64), want.real.astype(np.float64))


@those_keys(ReduceFactory, (ReduceOp.kMean, DataType.kDouble))
def test_means_of_any_magnitude(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    """Each mean is near the exact one, measured by that of the magnitudes, beside columns whose sums overflow."""
    op, data_type = key
    largest, bound = np.finfo(np.float64).max, launch_ulps(sum_ulps(device.library), data_type, data_type.dtype)
    for count in (1, 3, 7, 67, 513):
        scales = [5e-324, 1e-310, *2.0 ** rng.uniform(-1070, 1000, 3)]
        columns = [rng.integers(1, 99, count) * rng.choice([-1.0, 1.0], count) * scale for scale in scales]
        columns += [np.full(count, largest), rng.choice([-largest, largest], count), rng.uniform(0, largest, count)]
        src = np.stack(columns, 1)
        terms = [[Fraction(one) for one in column.tolist()] for column in columns]
        for array, axes in ((src, (0,)), (src.T.copy(), (1,))):
            for got, exact in zip(reductions.launch(device, op, data_type, array, axes), terms, strict=True):
                unit = np.spacing(min(float(sum(map(abs, exact)) / count), float(np.nextafter(largest, 0))))
                assert abs(Fraction(float(got)) - sum(exact, Fraction()) / count) <= bound * Fraction(float(unit))


def softmax_test(tested: Any) -> Any:
    """Return the test of one of the softmaxes."""

    @every_key(tested.factory)
    def test(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
        for rows, cols in ((11, 1), (11, 5), (7, 67), (3, 517)):

            def computed(sources: Any) -> Any:
                return softmaxes.launch(device, tested, key[0], sources)

            check(rng, key[0], tested.draw(rng, key[0], rows, cols, 5), (1,), computed)

    return test


test_softmax = softmax_test(softmaxes.SOFTMAX)
test_log_softmax = softmax_test(softmaxes.LOG_SOFTMAX)
test_softmax_backward = softmax_test(softmaxes.SOFTMAX_BACKWARD)
test_log_softmax_backward = softmax_test(softmaxes.LOG_SOFTMAX_BACKWARD)


def check_segments(device: DeviceUnderTest, rng: Rng, factory: type[Factory[Any]], key: FlatKey, batch: int) -> None:
    data_type, ids_type = key
    num_segments, num_ids = 5, 41
    for inner in (1, 3, 67):
        ids = rng.integers(0, num_segments, (batch, num_ids)).astype(ids_type.dtype)
        data = segments.draw_data(rng, data_type, (batch, 2, num_ids, inner))
        before = segments.launch(device, factory, key, data, ids, num_segments, 0)
        changed = np.broadcast_to((ids % 2 == 1)[:, None, :, None], data.shape)
        others = np.where(changed, special(rng, data_type, data.size).reshape(data.shape), data)
        after = segments.launch(device, factory, key, others, ids, num_segments, 0)
        assert after[:, :, ::2].tobytes() == before[:, :, ::2].tobytes()


@those_keys(UnsortedSegmentSumFactory, *INEXACT)
def test_segment_sum(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    check_segments(device, rng, UnsortedSegmentSumFactory, key, 1)


@those_keys(BatchUnsortedSegmentSumFactory, *INEXACT)
def test_batch_segment_sum(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    check_segments(device, rng, BatchUnsortedSegmentSumFactory, key, 3)


@every_key(MatmulFactory)
def test_matmul(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    """Test rows of a, and columns of b."""
    (data_type,) = key
    for m, n, k in ((5, 7, 3), (33, 17, 67), (1, 37, 5), (37, 1, 5)):
        a, b = (segments.draw_data(rng, data_type, shape) for shape in ((m, k), (k, n)))
        primitive = device.require(MatmulFactory, data_type, N, N)

        def multiplied(a: Array, b: Array, m: int = m, n: int = n, k: int = k, primitive: Any = primitive) -> Any:
            c = device.buffer(np.zeros((m, n), data_type.dtype))
            primitive.Launch(device.stream, m, n, k, 1, device.buffer(a), device.buffer(b), 0, c)
            return device.array(c).reshape(m, n)

        check(rng, data_type, [a], (1,), lambda sources, b=b: multiplied(sources[0], b))
        check(rng, data_type, [b], (0,), lambda sources, a=a: multiplied(a, sources[0]))
