"""Expand: every data type, every kind of strides, on both sides, and invalid arguments."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.include import DataType
from ep.include.primitive import ExpandFactory
from ep.testing.arrays import Array, Dims, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, some_key
from ep.testing.refusals import Refusals
from ep.testing.refused_arguments import OfTwoShapes
from ep.testing.samples import samples, sized

SIZES = [(data_type,) for data_type in (DataType.kUInt8, DataType.kInt16, DataType.kFloat, DataType.kComplex128)]

SHAPES = [
    ((), ()),
    ((), (3, 5)),
    ((1,), (7,)),
    ((5, 1), (5, 7)),
    ((1, 5), (7, 5)),
    ((4, 3, 1, 2), (2, 4, 3, 4, 2)),
    ((4, 1, 3, 5), (2, 1, 4, 4, 3, 5)),
    ((3, 1, 4), (3, 7, 4)),
    ((3, 1, 6), (3, 7, 6)),
    ((2, 1, 3, 1, 2, 1, 5, 1), (2, 3, 3, 2, 2, 3, 5, 2)),
    ((1, 1, 1), (1, 1, 1)),
    ((2, 3, 4), (2, 3, 4)),
    ((0, 1), (0, 5)),
    ((1, 1), (0, 5)),
    ((3, 0), (3, 0)),
]


def launch(
    device: DeviceUnderTest,
    data_type: DataType,
    src: Array,
    dst_dims: Dims,
    src_dims: Dims | None = None,
    **strides: Any,
) -> Any:
    dst = device.filled(math.prod(dst_dims) + 3, data_type)
    primitive = device.require(ExpandFactory, data_type, 8)
    src_dims = src.shape if src_dims is None else src_dims
    primitive.Launch(device.stream, src_dims, device.buffer(src), dst_dims, dst, **strides)
    return device.written(dst, dst_dims)


@pytest.mark.parametrize(("src_dims", "dst_dims"), SHAPES, ids=str)
@every_key(ExpandFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey, src_dims: Dims, dst_dims: Dims) -> None:
    (data_type,) = key
    src = samples(rng, data_type, max(math.prod(src_dims), 1))[: math.prod(src_dims)].reshape(src_dims)
    out = launch(device, data_type, src, dst_dims)
    assert out.tobytes() == np.broadcast_to(src, dst_dims).tobytes()


@pytest.mark.parametrize(
    ("src_dims", "dst_dims"),
    [
        ((100_003,), (3, 100_003)),
        ((100_003, 1), (100_003, 3)),
        ((1,), (100_003,)),
        ((331, 1, 7), (331, 101, 7)),
        ((1, 257, 1, 2), (7, 257, 61, 2)),
        ((70_001, 1, 1), (70_001, 2, 3)),
    ],
)
@some_key(ExpandFactory, (DataType.kFloat16,))
def test_across_the_grain(device: DeviceUnderTest, rng: Rng, key: FlatKey, src_dims: Dims, dst_dims: Dims) -> None:
    (data_type,) = key
    src_dims, dst_dims = (tuple(sized(device, size, min(size, 1009)) for size in dims) for dims in (src_dims, dst_dims))
    src = samples(rng, data_type, math.prod(src_dims)).reshape(src_dims)
    out = launch(device, data_type, src, dst_dims)
    assert out.tobytes() == np.broadcast_to(src, dst_dims).tobytes()


ROWS = [*range(1, 20), 31, 32, 33, 47, 48, 63, 64, 65, 127, 128, 129, 191, 255, 256, 257, 319, 320, 513, 1025]


@some_key(ExpandFactory, *SIZES)
@pytest.mark.parametrize("row", [*ROWS, 8191, 8192, 8193])
def test_every_size_of_a_row(device: DeviceUnderTest, rng: Rng, key: FlatKey, row: Any) -> None:
    """Test rows copied and rows filled, in blocks of every width, from memory that is not aligned to them."""
    (data_type,) = key
    src = samples(rng, data_type, 3 * row).reshape(3, 1, row)
    out = launch(device, data_type, src, (3, 2, row))
    assert out.tobytes() == np.broadcast_to(src, (3, 2, row)).tobytes()
    src = samples(rng, data_type, 3)
    out = launch(device, data_type, src, (2, 3, row), (3, 1))
    assert out.tobytes() == np.broadcast_to(src[:, None], (2, 3, row)).tobytes()


@some_key(ExpandFactory, *SIZES)
@pytest.mark.parametrize("row", range(1, 68))
def test_short_rows_many_times(device: DeviceUnderTest, rng: Rng, key: FlatKey, row: Any) -> None:
    (data_type,) = key
    src = samples(rng, data_type, 2 * row).reshape(2, 1, row)
    for times in (3, 8, 21, 150):
        out = launch(device, data_type, src, (2, times, row))
        assert out.tobytes() == np.broadcast_to(src, (2, times, row)).tobytes()


@some_key(ExpandFactory, *SIZES)
@pytest.mark.parametrize("times", [2, 3, 4])
def test_each_element_a_few_times(device: DeviceUnderTest, rng: Rng, key: FlatKey, times: Any) -> None:
    (data_type,) = key
    for count in (1, 2, 3, 7, 8, 9, 31, 32, 33, 65, 1000):
        src = samples(rng, data_type, count).reshape(count, 1)
        out = launch(device, data_type, src, (count, times))
        assert out.tobytes() == np.broadcast_to(src, (count, times)).tobytes()


@pytest.mark.parametrize("row", [3, 17, 64, 331])
@some_key(ExpandFactory, (DataType.kUInt8,))
def test_rows_between_gaps(device: DeviceUnderTest, rng: Rng, key: FlatKey, row: Any) -> None:
    """No block exceeds its row."""
    (data_type,) = key
    src = samples(rng, data_type, 5 * row)
    dst = device.filled(5 * (row + 2), data_type)
    device.require(ExpandFactory, data_type, 2).Launch(
        device.stream, (5, row), device.buffer(src), (5, row), dst, dst_strides=(row + 2, 1)
    )
    result = device.array(dst, (5, row + 2))
    assert result[:, :row].tobytes() == src.tobytes()
    assert set(np.ascontiguousarray(result[:, row:]).view(np.uint8).reshape(-1)) == {0xA5}, "gaps were written"


@pytest.mark.parametrize("dims", [(61, 1, 67, 1), (1, 53, 1, 71), (601, 1, 3, 1)], ids=str)
@some_key(ExpandFactory, (DataType.kFloat,))
def test_blocks_across_the_grain(device: DeviceUnderTest, rng: Rng, key: FlatKey, dims: Any) -> None:
    """Test threads that begin in the middle of a row, and of a block of rows."""
    (data_type,) = key
    dims = tuple(sized(device, size, min(size, 11)) for size in dims)
    others = (sized(device, size, 7) for size in (47, 43, 41, 37))
    dst_dims = tuple(size if size > 1 else other for size, other in zip(dims, others, strict=True))
    src = samples(rng, data_type, math.prod(dims)).reshape(dims)
    out = launch(device, data_type, src, dst_dims)
    assert out.tobytes() == np.broadcast_to(src, dst_dims).tobytes()


INTERWOVEN = [
    ((3, 2), (2, 3)),  # 0 3 2 5 4 7
    ((2, 3), (3, 2)),
    ((2, 3, 5), (15, 6, 10)),
    ((7, 4, 2), (8, 2, 1)),
    ((101, 50), (50, 101)),
    ((50, 101), (101, 50)),
    ((4, 33, 64), (2048, 64, 1)),
    ((5, 7, 9), (63, 45, 35)),
]
"""Dims and strides of a dst of which steps along one axis pass those along others; in some, elements share places."""


@pytest.mark.parametrize(("dims", "strides"), INTERWOVEN)
@some_key(ExpandFactory, *SIZES)
def test_elements_between_those_of_other_rows(
    device: DeviceUnderTest, rng: Rng, key: FlatKey, dims: Any, strides: Dims
) -> None:
    (data_type,) = key
    src = samples(rng, data_type, math.prod(dims)).reshape(dims)
    dst = device.filled(math.prod(dims) * 4, data_type)
    if len({sum(map(int.__mul__, index, strides)) for index in np.ndindex(dims)}) < src.size:
        with pytest.raises(ValueError, match="share a place"):
            device.require(ExpandFactory, data_type, 3).Launch(
                device.stream, dims, device.buffer(src), dims, dst, dst_strides=strides
            )
        assert set(device.array(dst).view(np.uint8)) == {0xA5}
        return
    device.require(ExpandFactory, data_type, 3).Launch(
        device.stream, dims, device.buffer(src), dims, dst, dst_strides=strides
    )
    expected = np.full(math.prod(dims) * 4 * src.itemsize, 0xA5, np.uint8).view(src.dtype)
    for index in np.ndindex(dims):
        expected[sum(map(int.__mul__, index, strides))] = src[index]
    assert device.array(dst).tobytes() == expected.tobytes()


@pytest.mark.parametrize("order", [*itertools.permutations(range(4))], ids=str)
@some_key(ExpandFactory, (DataType.kInt32,))
def test_permuted_strides(device: DeviceUnderTest, key: FlatKey, order: Any) -> None:
    """Test every axis order of a 4-d array in memory, on either side: no order is mistaken for its inverse."""
    (data_type,) = key
    memory = np.arange(2 * 3 * 4 * 5).astype(data_type.dtype)
    permuted = memory.reshape(2, 3, 4, 5).transpose(order)
    strides = tuple(stride // data_type.itemsize for stride in permuted.strides)
    out = launch(device, data_type, memory, permuted.shape, permuted.shape, src_strides=strides)
    np.testing.assert_array_equal(out, permuted)
    out = launch(device, data_type, memory, permuted.shape, permuted.shape, dst_strides=strides)
    np.testing.assert_array_equal(out.reshape(2, 3, 4, 5).transpose(order), memory.reshape(permuted.shape))


@some_key(ExpandFactory, (DataType.kFloat,))
def test_strides_with_gaps_do_not_fuse(device: DeviceUnderTest, key: FlatKey) -> None:
    """src (4, 1, 5) with strides (100, 5, 1) is four rows of five, not twenty contiguous elements."""
    (data_type,) = key
    memory = np.arange(400).astype(data_type.dtype)
    out = launch(device, data_type, memory, (4, 1, 5), (4, 1, 5), src_strides=(100, 5, 1))
    np.testing.assert_array_equal(out[:, 0], memory.reshape(4, 100)[:, :5])


@some_key(ExpandFactory, (DataType.kUInt8,), (DataType.kFloat,), (DataType.kComplex128,))
def test_rows_that_no_wide_unit_divides(device: DeviceUnderTest, key: FlatKey) -> None:
    """A last axis of 4 under a row stride of 5: four elements must not be moved as one unit."""
    (data_type,) = key
    memory = np.arange(50).astype(data_type.dtype)
    out = launch(device, data_type, memory, (2, 5, 4), (5, 4), src_strides=(5, 1))
    np.testing.assert_array_equal(out, np.broadcast_to(memory[:25].reshape(5, 5)[:, :4], (2, 5, 4)))
    dst = device.filled(25, data_type)
    device.require(ExpandFactory, data_type, 2).Launch(
        device.stream, (5, 4), device.buffer(memory), (5, 4), dst, dst_strides=(5, 1)
    )
    result = device.array(dst, (5, 5))
    np.testing.assert_array_equal(result[:, :4], memory[:20].reshape(5, 4))
    assert set(np.ascontiguousarray(result[:, 4]).view(np.uint8)) == {0xA5}, "gaps were written"


@pytest.mark.parametrize(
    ("src_dims", "dst_dims", "src_strides"),
    [((2, 3), (2, 3), None), ((6,), (1, 6), None), ((1, 6), (1, 6), (9, 1)), ((), (1, 1), None)],
)
@some_key(ExpandFactory, (DataType.kDouble,))
def test_the_same_places_in_place(
    device: DeviceUnderTest, key: FlatKey, src_dims: Dims, dst_dims: Dims, src_strides: Dims
) -> None:
    values = np.arange(6).astype(key[0].dtype)
    memory = device.buffer(values)
    primitive = device.require(ExpandFactory, *key, 2)
    primitive.Launch(device.stream, src_dims, memory, dst_dims, memory, src_strides)
    np.testing.assert_array_equal(device.array(memory), values)


@some_key(ExpandFactory, (DataType.kDouble,))
def test_other_places_in_place(device: DeviceUnderTest, key: FlatKey, refuses: Refusals) -> None:
    values = np.arange(6).astype(key[0].dtype)
    memory = device.buffer(values)
    primitive = device.require(ExpandFactory, *key, 2)
    with refuses.expected(primitive, ValueError, "dst is the memory of src"):
        primitive.Launch(device.stream, (3, 2), memory, (3, 2), memory, (1, 3))
    np.testing.assert_array_equal(device.array(memory), values)


@st.composite
def expansions(draw: Callable[..., Any]) -> Any:
    dst_dims = draw(st.lists(st.integers(0, 5), max_size=8))
    kept = dst_dims[draw(st.integers(0, len(dst_dims))) :]
    src_dims = [draw(st.sampled_from([1, size])) for size in kept]
    return tuple(src_dims), tuple(dst_dims)


@every_key(ExpandFactory)
@few_examples
@given(dims=expansions())
def test_any_dims(device: DeviceUnderTest, key: FlatKey, dims: Any) -> None:
    (data_type,), (src_dims, dst_dims) = key, dims
    count = math.prod(src_dims)
    src = (
        np.arange(count * data_type.itemsize, dtype=np.uint32).astype(np.uint8).view(data_type.dtype).reshape(src_dims)
    )
    assert launch(device, data_type, src, dst_dims).tobytes() == np.broadcast_to(src, dst_dims).tobytes()


@some_key(ExpandFactory, (DataType.kFloat,))
class TestRefusals(OfTwoShapes):
    factory = ExpandFactory
