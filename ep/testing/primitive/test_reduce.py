"""Reduce: every key, every kind of axes, sizes across blocks and threads, nothing to reduce, and invalid arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.number_kind import FLOATS
from ep.include.primitive import ReduceFactory, ReduceOp
from ep.include.primitive.op_table import REDUCTIONS
from ep.testing.arrays import Dims, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, few_keys, needs, some_key, those_keys
from ep.testing.reductions import check_close, draw, launch
from ep.testing.refusals import Refusals, Refused
from ep.testing.refused_arguments import OfAnyLaunch
from ep.testing.samples import sized
from ep.testing.tolerances import launch_ulps
from ep.testing.ulps import errors_in_ulps

SUM, MAX = (ReduceOp.kSum, DataType.kFloat), (ReduceOp.kMax, DataType.kFloat)
SOME = [
    SUM,
    MAX,
    (ReduceOp.kSum, DataType.kDouble),
    (ReduceOp.kSum, DataType.kBFloat16),
    (ReduceOp.kMin, DataType.kInt8),
    (ReduceOp.kAny, DataType.kInt32),
]


def check(device: DeviceUnderTest, rng: Rng, key: FlatKey, dims: Any, axes: Dims) -> None:
    op, data_type = key
    src = draw(rng, op, data_type, dims)
    check_close(device, op, data_type, launch(device, op, data_type, src, axes), src, axes)


@every_key(ReduceFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    for dims, axes in (
        ((67, 5), (1,)),
        ((37, 19), (0,)),
        ((3, 5, 7), (1,)),
        ((3, 131), (0, 1)),
        ((2, 3, 5, 3), (0, 2)),
    ):
        check(device, rng, key, dims, axes)


SHAPES = [
    ((), ()),
    ((1,), (0,)),
    ((7,), ()),
    ((7,), (0,)),
    ((1, 1, 1), (1,)),
    ((5, 1, 3), (1,)),
    ((2, 3, 5), (0, 2)),
    ((2, 3, 5), (-2,)),
    ((2, 3, 5), (2, 0, 1)),
    ((3, 2, 5, 3), (1, 3)),
    ((3, 2, 5, 3, 2), (0, 2, 4)),
    ((3, 2, 5, 3, 2), (1, 3)),
    ((2, 3, 2, 3, 2, 1, 3, 2), (7, 0, 2, 5)),
    ((2, 3, 2, 3, 2, 2, 3, 2), (1, 3, 5, 7)),
    ((2, 3, 2, 3, 2, 2, 3, 2), (0, 2, 4, 6)),
]


@pytest.mark.parametrize(("dims", "axes"), SHAPES, ids=str)
@some_key(ReduceFactory, *SOME)
def test_every_kind_of_axes(device: DeviceUnderTest, rng: Rng, key: FlatKey, dims: Any, axes: Dims) -> None:
    check(device, rng, key, dims, axes)


@some_key(ReduceFactory, *SOME)
def test_one_primitive_for_rows_and_columns(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    """Test rows and columns with the same number of elements and of axes."""
    op, data_type = key
    primitive = device.require(ReduceFactory, op, data_type, 8)
    for dims, axes in (((6, 4), (1,)), ((9, 20), (0,)), ((6, 4), (1,))):
        src = draw(rng, op, data_type, dims)
        check_close(device, op, data_type, launch(device, op, data_type, src, axes, primitive), src, axes)


@pytest.mark.parametrize(
    ("dims", "axes"),
    [
        ((5, 200_003), (1,)),
        ((20_011, 31), (1,)),
        ((100_003, 3), (1,)),
        ((100_003, 3), (0,)),
        ((311, 1009), (0,)),
        ((3, 100_003), (0,)),
        ((400_009,), (0,)),
        ((7, 101, 307), (1,)),
        ((101, 67, 3), (1,)),
        ((61, 13, 307), (0, 2)),
        ((17, 5, 67, 31), (1, 3)),
        ((31, 67, 5, 17), (0, 2)),
        ((2, 40_009, 2), (1,)),
    ],
    ids=str,
)
@some_key(ReduceFactory, *SOME)
def test_across_blocks_and_threads(device: DeviceUnderTest, rng: Rng, key: FlatKey, dims: Any, axes: Dims) -> None:
    dims = tuple(sized(device, size, min(size, 300 if len(dims) < 3 else 23)) for size in dims)
    check(device, rng, key, dims, axes)


@pytest.mark.parametrize("size", [*range(1, 20), 31, 32, 33, 63, 64, 65, 100, 127, 129, 255, 257, 1023, 4097])
@some_key(ReduceFactory, *SOME)
def test_every_size(device: DeviceUnderTest, rng: Rng, key: FlatKey, size: int) -> None:
    check(device, rng, key, (sized(device, 5, 2), size), (1,))
    check(device, rng, key, (size, sized(device, 5, 2)), (0,))
    check(device, rng, key, (2, 3, size), (1,))


NUMBERS = [10, 10**3, 10**6]


@pytest.mark.parametrize("count", NUMBERS)
@those_keys(ReduceFactory, *((op, t) for op in (ReduceOp.kSum, ReduceOp.kMean) for t in FLOATS))
def test_positive_numbers(device: DeviceUnderTest, rng: Rng, key: FlatKey, count: int) -> None:
    """Test random and equal numbers, by rows and by columns."""
    op, data_type = key
    count = sized(device, count, min(count, 500))
    scale = 0.01 if data_type is DataType.kFloat16 else 1.0
    for src in (rng.random(count) * scale, np.full(count, 0.1 * scale)):
        src = src.astype(data_type.dtype)
        wide = src.astype(np.float64)
        want = np.array([np.longdouble(math.fsum(wide))])
        want = want / count if op is ReduceOp.kMean else want
        for dims, axes in (((count,), (0,)), ((count, 2), (0,))):
            of = src.reshape(dims) if len(dims) == 1 else np.stack([src, src], axis=1)
            got = launch(device, op, data_type, of, axes)
            errors = errors_in_ulps(got, np.repeat(want, got.size))
            bound = launch_ulps(4, data_type, got.dtype)
            assert errors.max() <= bound, f"{errors.max():.3g} ulp of {bound:.3g}"


@those_keys(ReduceFactory, *((ReduceOp.kMean, t) for t in (*FLOATS, DataType.kComplex64, DataType.kComplex128)))
def test_a_mean_does_not_overflow(device: DeviceUnderTest, key: FlatKey) -> None:
    """A mean is right if it fits the type, even if the sum does not."""
    op, data_type = key
    part = np.zeros(1, data_type.dtype).real.dtype
    largest = float(np.finfo(part).max) if data_type is not DataType.kBFloat16 else 3.3895314e38
    src = np.full((70, 5), largest).astype(data_type.dtype)
    src[:, 1] *= np.array(-1, data_type.dtype)
    src[::2, 2], src[:, 3] = 0, 1
    for turned, axes in ((src, (0,)), (np.ascontiguousarray(src.T), (1,))):
        got = launch(device, op, data_type, turned, axes).real.astype(np.longdouble)
        np.testing.assert_allclose(
            got / largest, [1, -1, 0.5, 1 / largest, 1], rtol=2e-2 if part.itemsize == 2 else 1e-6
        )


@those_keys(ReduceFactory, *((op, t) for op in (ReduceOp.kMin, ReduceOp.kMax, ReduceOp.kSum) for t in FLOATS))
def test_not_a_number_spreads(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    op, data_type = key
    for dims, axes in (((5, 131), (1,)), ((131, 5), (0,)), ((3, 131, 5), (1,))):
        src = rng.random(dims).astype(data_type.dtype)
        flat = np.moveaxis(src, axes[0], -1).reshape(-1, 131).copy()
        for place, row in zip((0, 17, 64, 130), flat, strict=False):
            row[place] = np.nan
        kept = [size for axis, size in enumerate(dims) if axis != axes[0]]
        src = np.ascontiguousarray(np.moveaxis(flat.reshape(*kept, 131), -1, axes[0]))
        got = launch(device, op, data_type, src, axes).astype(np.float32)
        assert (np.isnan(got) == (np.arange(got.size) < 4)).all()


@those_keys(ReduceFactory, *((op, t) for op in (ReduceOp.kMin, ReduceOp.kMax) for t in FLOATS))
def test_infinities(device: DeviceUnderTest, key: FlatKey) -> None:
    op, data_type = key
    src = np.array([[np.inf] * 40, [-np.inf] * 40, [np.inf, -np.inf] * 20]).astype(data_type.dtype)
    got = launch(device, op, data_type, src, (1,)).astype(np.float32)
    assert list(got) == [np.inf, -np.inf, np.inf if op is ReduceOp.kMax else -np.inf]


NOTHING = {ReduceOp.kSum: 0, ReduceOp.kProd: 1, ReduceOp.kMean: np.nan, ReduceOp.kAny: 0, ReduceOp.kAll: 1}


@every_key(ReduceFactory)
def test_nothing_to_reduce(device: DeviceUnderTest, key: FlatKey, refuses: Refusals) -> None:
    op, data_type = key
    assert launch(device, op, data_type, np.zeros((0, 3), data_type.dtype), (1,)).size == 0
    src = np.zeros((3, 0, 2), data_type.dtype)
    if op in NOTHING:
        got = launch(device, op, data_type, src, (1,))
        part = got.real if got.dtype.kind == "c" else got
        np.testing.assert_array_equal(part.astype(np.float64), np.full(6, NOTHING[op], np.float64))
    else:
        with refuses.expected(
            device.require(ReduceFactory, *key, 3), ValueError, r"src_dims \(3, 0, 2\) has no elements"
        ):
            launch(device, op, data_type, src, (1,))


@some_key(ReduceFactory, *SOME)
def test_memory_that_is_not_aligned(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    """A row gives the same bits at any address."""
    op, data_type = key
    result_type, primitive = REDUCTIONS[op].result_type(data_type), device.require(ReduceFactory, *key, 2)
    for dims, axes in (((5, 67), (1,)), ((67, 21), (0,))):
        src = draw(rng, op, data_type, dims)
        want = launch(device, op, data_type, src, axes)
        for begin in (1, 3, 5):
            memory = device.buffer(np.concatenate([np.zeros(begin, data_type.dtype), src.reshape(-1)]))
            dst = device.filled(want.size + 9, result_type)
            primitive.Launch(device.stream, dims, memory[begin:], axes, dst[begin + 1 :])
            assert device.written(dst, want.size, begin + 1).tobytes() == want.tobytes()


@st.composite
def shapes(draw: Callable[..., Any]) -> Any:
    dims = draw(st.lists(st.one_of(st.integers(1, 5), st.sampled_from([16, 17])), max_size=8))
    while math.prod(dims) > 20_000:
        dims.pop()
    axes = (
        draw(st.lists(st.integers(-len(dims), len(dims) - 1), max_size=8, unique_by=lambda a: a % len(dims)))
        if dims
        else []
    )
    return tuple(dims), tuple(axes)


@few_keys(ReduceFactory)
@few_examples
@given(shape=shapes())
def test_any_axes(device: DeviceUnderTest, key: FlatKey, shape: Any) -> None:
    check(device, np.random.default_rng(len(shape[0])), key, *shape)


@some_key(ReduceFactory, SUM)
class TestRefusals(OfAnyLaunch):
    factory, more, dims = ReduceFactory, (3,), ("src_dims",)

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        src, dst = device.buffer(np.ones(6, key[1].dtype)), device.filled(2, key[1])
        return {"src_dims": (2, 3), "src": src, "axes": (1,), "dst": dst}

    def test_axes(self, refused: Refused) -> None:
        refused(ValueError, r"axes\[0\] is 2; src_dims \(2, 3\) has 2 axes", axes=(2,))
        refused(ValueError, r"axes\[1\] is -3; src_dims", axes=(0, -3))
        refused(ValueError, r"axes \(1, -1\) name an axis of src_dims \(2, 3\) twice", axes=(1, -1))
        refused(TypeError, r"axes must be a sequence of integers, not 1", axes=1)
        refused(TypeError, r"axes\[0\] must be an integer, not 1.0", axes=(1.0,))
        refused(ValueError, "dst has 2 elements; at least 3", axes=(0,))

    def test_overlap(self, device: DeviceUnderTest, key: FlatKey, refused: Refused) -> None:
        memory = device.filled(16, key[1])
        refused(ValueError, "dst overlaps src", src=memory[:6], dst=memory[5:7])


@pytest.mark.ep_long
@needs(ReduceFactory, ReduceOp.kMax, DataType.kInt8)
def test_more_than_two_to_the_31_elements(device: DeviceUnderTest) -> None:
    """Test offsets past 2^31, along the last axis and along the first."""
    rows, cols = sized(device, (1 << 11) + 1, 33), sized(device, 1 << 20, 32)
    large = device.empty(rows * cols, DataType.kInt8)
    for row in range(rows):
        device.write(large[row * cols : (row + 1) * cols], np.zeros(cols, np.int8))
    device.write(large[rows * cols - 1 :], np.array([7], np.int8))
    primitive = device.require(ReduceFactory, ReduceOp.kMax, "int8", 2)
    dst = device.filled(max(rows, cols), DataType.kInt8)
    primitive.Launch(device.stream, (rows, cols), large, (1,), dst)
    got = device.array(dst)
    assert (got[: rows - 1] == 0).all()
    assert got[rows - 1] == 7
    primitive.Launch(device.stream, (rows, cols), large, (0,), dst)
    got = device.array(dst)
    assert (got[: cols - 1] == 0).all()
    assert got[cols - 1] == 7
