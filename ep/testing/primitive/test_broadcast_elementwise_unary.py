"""BroadcastElementwiseUnary: every key, every kind of strides, on both sides, and invalid arguments."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep import UnaryOp
from ep.common.primitive.strides import extent
from ep.include import DataType
from ep.include.primitive import BroadcastElementwiseUnaryFactory
from ep.include.primitive.op_table import attributes_of
from ep.testing.agreement import assert_same_numbers, check_unary
from ep.testing.arrays import Array, Dims, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, few_keys, some_key, those_keys
from ep.testing.references.convert import convert
from ep.testing.refusals import Refusals, Refused
from ep.testing.refused_arguments import OfTwoShapes
from ep.testing.samples import samples, sized

T = DataType
REQUIRED = {UnaryOp.kThreshold: (0.25, -3.0)}
IDENTITY, NEGATIVE = (UnaryOp.kIdentity, T.kFloat, T.kFloat), (UnaryOp.kNegative, T.kFloat, T.kFloat)
TO_HALF, TO_DOUBLE = (UnaryOp.kCast, T.kInt32, T.kFloat16), (UnaryOp.kCast, T.kInt8, T.kDouble)
IS_NAN, COPY = (UnaryOp.kIsNan, T.kDouble, T.kBool), (UnaryOp.kCast, T.kInt16, T.kUInt16)
WALKS = IDENTITY, NEGATIVE, TO_HALF, TO_DOUBLE, IS_NAN
EXACT = {UnaryOp.kIdentity, UnaryOp.kCast}


def check_result(device: DeviceUnderTest, key: FlatKey, got: Array, src: Array) -> None:
    """Check the elements of `got`. src: as it was read, broadcast to the dims of `got`."""
    op, src_type, dst_type = key
    got, src = np.ascontiguousarray(got).reshape(-1), np.ascontiguousarray(src).reshape(-1)
    if op in EXACT:
        assert_same_numbers(got, convert(src, dst_type.dtype) if op is UnaryOp.kCast else src)
    elif got.size:
        attributes = REQUIRED.get(op) or tuple(attribute.default for attribute in attributes_of(op))
        check_unary(device.library, op, src_type, got, src, attributes)


def require(device: DeviceUnderTest, key: FlatKey, max_num_dims: int = 8) -> Any:
    return device.require(BroadcastElementwiseUnaryFactory, *key, max_num_dims, *REQUIRED.get(key[0], ()))


def launch(
    device: DeviceUnderTest, key: FlatKey, src: Array, dst_dims: Dims, src_dims: Dims | None = None, **strides: Any
) -> Any:
    """Launch, and return dst, row-major in its dims."""
    dst = device.filled(math.prod(dst_dims) + 3, key[2])
    src_dims = src.shape if src_dims is None else src_dims
    require(device, key).Launch(device.stream, src_dims, device.buffer(src), dst_dims, dst, **strides)
    return device.written(dst, dst_dims)


def random(rng: Rng, key: FlatKey, dims: Any) -> Any:
    return samples(rng, key[1], max(math.prod(dims), 1))[: math.prod(dims)].reshape(dims)


@every_key(BroadcastElementwiseUnaryFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    src = random(rng, key, (sized(device, 9, 2), 1, 37))
    dims = (src.shape[0], 2, 37)
    check_result(device, key, launch(device, key, src, dims), np.broadcast_to(src, dims))


SHAPES = [
    ((), ()),
    ((), (3, 5)),
    ((1,), (7,)),
    ((5, 1), (5, 7)),
    ((1, 5), (7, 5)),
    ((1,), (2, 3, 2, 4)),
    ((4, 3, 1, 2), (2, 4, 3, 4, 2)),
    ((2, 1, 3, 1, 2, 1, 5, 1), (2, 3, 3, 2, 2, 3, 5, 2)),
    ((1, 1, 1), (1, 1, 1)),
    ((2, 3, 4), (2, 3, 4)),
    ((0, 1), (0, 5)),
    ((1, 1), (0, 5)),
    ((331, 1, 7), (331, 101, 7)),
    ((100_003, 1), (100_003, 3)),
    ((1, 70_001), (3, 70_001)),
]


@pytest.mark.parametrize(("src_dims", "dst_dims"), SHAPES, ids=str)
@some_key(BroadcastElementwiseUnaryFactory, *WALKS)
def test_every_kind_of_broadcast(
    device: DeviceUnderTest, rng: Rng, key: FlatKey, src_dims: Dims, dst_dims: Dims
) -> None:
    src_dims, dst_dims = (tuple(sized(device, size, min(size, 23)) for size in dims) for dims in (src_dims, dst_dims))
    src = random(rng, key, src_dims)
    check_result(device, key, launch(device, key, src, dst_dims), np.broadcast_to(src, dst_dims))


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 33, 1023, 1024, 1025, 32769, 200_003])
@some_key(BroadcastElementwiseUnaryFactory, *WALKS)
def test_every_length(device: DeviceUnderTest, rng: Rng, key: FlatKey, count: int) -> None:
    src = random(rng, key, (sized(device, count, min(count, 4099)),))
    check_result(device, key, launch(device, key, src, src.shape), src)


@pytest.mark.parametrize("order", [*itertools.permutations(range(4))], ids=str)
@some_key(BroadcastElementwiseUnaryFactory, *WALKS)
def test_every_order_of_strides(device: DeviceUnderTest, rng: Rng, key: FlatKey, order: Any) -> None:
    """Test permuted strides on either side, and on both: no permutation is mistaken for its inverse."""
    src = random(rng, key, (2, 3, 4, 5))
    permuted = src.transpose(order)
    strides = tuple(stride // src.itemsize for stride in permuted.strides)
    check_result(device, key, launch(device, key, src, permuted.shape, permuted.shape, src_strides=strides), permuted)
    src = src.reshape(permuted.shape)
    out = launch(device, key, src, permuted.shape, dst_strides=strides).reshape(2, 3, 4, 5).transpose(order)
    check_result(device, key, out, src)
    other = launch(device, key, src, permuted.shape, src_strides=strides, dst_strides=strides)
    check_result(device, key, other, src)


@some_key(BroadcastElementwiseUnaryFactory, *WALKS)
def test_upstreams_walks(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    """Test sources of one element or rows, into a permuted dst; and matrices with gaps between rows."""
    src_dims: Dims
    for src_dims, steps in [((1,), None), ((1, 3, 2, 4), (1, 2, 6, 12)), ((1, 3, 1, 4), (24, 1, 12, 3))]:
        src = random(rng, key, src_dims)
        got = launch(device, key, src, (2, 3, 2, 4), dst_strides=steps).reshape(-1)
        strides = steps or (24, 8, 4, 1)
        at = sum(step * index for step, index in zip(strides, np.indices((2, 3, 2, 4)), strict=True))
        check_result(device, key, got[at], np.broadcast_to(src, (2, 3, 2, 4)))
    for src_strides, dst_strides in (((4, 1), (1, 5)), ((2, 1), (1, 10))):
        src = random(rng, key, (20,))
        dst = device.filled(20, key[2])
        require(device, key).Launch(device.stream, (5, 2), device.buffer(src), (5, 2), dst, src_strides, dst_strides)
        rows, columns = np.indices((5, 2))
        got = device.array(dst)
        check_result(
            device,
            key,
            got[rows * dst_strides[0] + columns * dst_strides[1]],
            src[rows * src_strides[0] + columns * src_strides[1]],
        )


@some_key(BroadcastElementwiseUnaryFactory, *WALKS)
def test_strides_with_gaps_do_not_fuse(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    """src (4, 1, 5) with strides (100, 5, 1) is four rows of five, not twenty contiguous elements."""
    memory = random(rng, key, (400,))
    out = launch(device, key, memory, (4, 1, 5), (4, 1, 5), src_strides=(100, 5, 1))
    check_result(device, key, out[:, 0], memory.reshape(4, 100)[:, :5])


@some_key(BroadcastElementwiseUnaryFactory, *WALKS)
def test_rows_that_no_wide_unit_divides(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    """A last axis of 4 under a row stride of 5, on either side: four elements must not be moved as one unit."""
    memory = random(rng, key, (25,))
    out = launch(device, key, memory, (2, 5, 4), (5, 4), src_strides=(5, 1))
    check_result(device, key, out, np.broadcast_to(memory.reshape(5, 5)[:, :4], (2, 5, 4)))
    dst = device.filled(25, key[2])
    require(device, key).Launch(device.stream, (5, 4), device.buffer(memory[:20]), (5, 4), dst, dst_strides=(5, 1))
    result = device.array(dst, (5, 5))
    check_result(device, key, result[:, :4], memory[:20].reshape(5, 4))
    assert set(np.ascontiguousarray(result[:, 4]).view(np.uint8)) == {0xA5}, "gaps were written"


@pytest.mark.parametrize(
    ("dims", "strides"), [((3, 2), (2, 3)), ((2, 3, 5), (15, 10, 6)), ((101, 50), (50, 101)), ((50, 101), (101, 50))]
)
@some_key(BroadcastElementwiseUnaryFactory, *WALKS)
def test_elements_between_those_of_other_rows(
    device: DeviceUnderTest, rng: Rng, key: FlatKey, dims: Any, strides: Dims
) -> None:
    """No two elements of dst share a place, although the steps along one axis pass those along another one."""
    src, dst = random(rng, key, dims), device.filled(4 * math.prod(dims), key[2])
    require(device, key).Launch(device.stream, dims, device.buffer(src), dims, dst, dst_strides=strides)
    result = device.array(dst)
    places = [sum(map(int.__mul__, index, strides)) for index in np.ndindex(dims)]
    assert len({*places}) == len(places)
    check_result(device, key, result[places], src)
    assert set(np.delete(result, places).view(np.uint8)) == {0xA5}, "gaps were written"


@some_key(BroadcastElementwiseUnaryFactory, *WALKS)
def test_one_element_into_gaps(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    """A source of one element must not make a launch ignore the strides of dst."""
    src = random(rng, key, ())
    dst = device.filled(3 * 1500, key[2])
    dims = (sized(device, 1500, 50),)
    require(device, key).Launch(device.stream, (), device.buffer(src), dims, dst, dst_strides=(3,))
    result = device.array(dst, (-1, 3))
    check_result(device, key, result[: dims[0], 0], np.broadcast_to(src, dims))
    untouched = np.concatenate([result[:, 1:].reshape(-1), result[dims[0] :].reshape(-1)])
    assert set(untouched.view(np.uint8)) == {0xA5}, "gaps were written"


@pytest.mark.parametrize(
    ("dims", "strides"),
    [
        ((2, 3), None),
        ((100, 331), None),
        ((6,), (3,)),
        ((3, 4), (1, 3)),
        ((40, 50), (60, 1)),
        ((), None),
        ((0, 3), None),
    ],
    ids=str,
)
@some_key(
    BroadcastElementwiseUnaryFactory, NEGATIVE, COPY, IDENTITY, suits=lambda key: key[1].itemsize == key[2].itemsize
)
def test_the_same_places_in_place(device: DeviceUnderTest, rng: Rng, key: FlatKey, dims: Any, strides: Dims) -> None:
    dims = tuple(sized(device, size, min(size, 50)) for size in dims)
    steps = strides or tuple(math.prod(dims[axis + 1 :]) for axis in range(len(dims)))
    values = random(rng, key, (extent(dims, steps),))
    memory = device.buffer(values)
    dst = memory.view(key[2].dtype)
    require(device, key).Launch(device.stream, dims, memory, dims, dst, strides, strides)
    at = sum((step * index for step, index in zip(steps, np.indices(dims), strict=True)), np.zeros(dims, np.int64))
    got = device.array(dst)
    check_result(device, key, got[at], values[at])
    others = np.setdiff1d(np.arange(values.size), at)
    assert got[others].tobytes() == values[others].tobytes(), "gaps were written"


@some_key(BroadcastElementwiseUnaryFactory, NEGATIVE, IDENTITY)
def test_other_places_in_place(device: DeviceUnderTest, key: FlatKey, refuses: Refusals) -> None:
    values = np.arange(6).astype(key[1].dtype)
    memory = device.buffer(values)
    with refuses.expected(require(device, key), ValueError, "dst is the memory of src"):
        require(device, key).Launch(device.stream, (3, 2), memory, (3, 2), memory, (1, 3))
    np.testing.assert_array_equal(device.array(memory), values)


@some_key(BroadcastElementwiseUnaryFactory, TO_HALF, NEGATIVE, IDENTITY)
def test_plain_numbers(device: DeviceUnderTest, key: FlatKey) -> None:
    primitive, dst = require(device, key), device.filled(15, key[2])
    for number in (2, 3.0, np.int8(4), 2):
        primitive.Launch(device.stream, (), number, (3, 5), dst)
        check_result(device, key, device.array(dst), np.full(15, number, key[1].dtype))
    primitive.Launch(device.stream, (), 7, (5, 1), dst, dst_strides=(3, 1))
    check_result(device, key, device.array(dst, (5, 3))[:, 0], np.full(5, 7, key[1].dtype))


@those_keys(BroadcastElementwiseUnaryFactory, (UnaryOp.kCast, T.kFloat, T.kUInt8), (UnaryOp.kCast, T.kDouble, T.kBool))
def test_casts_by_the_rules_of_cast(device: DeviceUnderTest, key: FlatKey) -> None:
    src = np.array([[np.nan, np.inf, -np.inf, 0.5, -0.5, 300, -1, 255.9]] * 3, key[1].dtype)
    got = launch(device, key, src, (2, 3, 8))
    assert_same_numbers(got, np.broadcast_to(convert(src, key[2].dtype), (2, 3, 8)))


@st.composite
def walks(draw: Callable[..., Any]) -> Any:
    """Draw dims and strides of src and dst, with gaps between elements."""
    dst_dims = draw(st.lists(st.integers(0, 4), max_size=8))
    kept = dst_dims[draw(st.integers(0, len(dst_dims))) :]
    src_dims = [draw(st.sampled_from([1, size])) for size in kept]
    return tuple(src_dims), draw(strides_of(src_dims)), tuple(dst_dims), draw(strides_of(dst_dims))


@st.composite
def strides_of(draw: Callable[..., Any], dims: Any) -> Any:
    if draw(st.booleans()):
        return None
    strides, step = [0] * len(dims), 1
    for axis in draw(st.permutations(range(len(dims)))):
        strides[axis] = step
        step = step * max(dims[axis], 1) + draw(st.sampled_from([0, 0, 1, 3]))
    return tuple(strides)


@few_keys(BroadcastElementwiseUnaryFactory, suits=lambda key: key[0] in EXACT)
@few_examples
@given(walk=walks(), seed=st.integers(0, 2**32))
def test_any_walk(device: DeviceUnderTest, key: FlatKey, walk: Any, seed: int) -> None:
    src_dims, src_strides, dst_dims, dst_strides = walk
    places = []
    for dims, strides in ((src_dims, src_strides), (dst_dims, dst_strides)):
        steps = strides or [math.prod(dims[axis + 1 :]) for axis in range(len(dims))]
        at = sum((step * index for step, index in zip(steps, np.indices(dims), strict=True)), np.zeros(dims, np.int64))
        places.append((extent(dims, steps), at))
    (src_count, src_at), (dst_count, dst_at) = places
    src = random(np.random.default_rng(seed), key, (src_count,))
    dst = device.filled(dst_count + 3, key[2])
    require(device, key).Launch(device.stream, src_dims, device.buffer(src), dst_dims, dst, src_strides, dst_strides)
    got = device.array(dst)
    check_result(device, key, got[dst_at], np.broadcast_to(src[src_at], dst_dims))
    untouched = np.setdiff1d(np.arange(got.size), dst_at)
    assert set(got[untouched].view(np.uint8)) == {0xA5}, "gaps were written"


@some_key(BroadcastElementwiseUnaryFactory, NEGATIVE, IDENTITY)
class TestRefusals(OfTwoShapes):
    factory = BroadcastElementwiseUnaryFactory

    @pytest.fixture
    def primitive(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        return require(device, key, 3)

    def test_numbers(self, refused: Refused) -> None:
        refused(ValueError, r"src is 1e\+300, which float32 cannot hold", src_dims=(), src=1e300)
        refused(TypeError, "src is the complex number", src_dims=(), src=1j)
        refused(TypeError, "src must be", src_dims=(), src="1")
