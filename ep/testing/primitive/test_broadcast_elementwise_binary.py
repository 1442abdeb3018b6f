"""BroadcastElementwiseBinary: every key against the references, every way to broadcast, and invalid arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep import BinaryOp, UnaryOp
from ep.include import DataType
from ep.include.number_kind import FLOATS
from ep.include.primitive import BroadcastElementwiseBinaryFactory, ElementwiseUnaryFactory
from ep.include.primitive.op_table import attributes_of
from ep.testing import tolerances
from ep.testing.agreement import check_binary
from ep.testing.arrays import Dims, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, key_name, needs, some_key, those_keys
from ep.testing.references.convert import convert
from ep.testing.refusals import Refusals, Refused
from ep.testing.refused_arguments import OfAnyLaunch
from ep.testing.samples import finite, operands, samples, sized

REQUIRED = {
    BinaryOp.kThresholdBackwardWithDyX: (0.25,),
    BinaryOp.kScalarBasePowerGrad: (3.0,),
    BinaryOp.kScalarExpPowerGrad: (1.5,),
}
ADD_FLOAT = (BinaryOp.kAdd, DataType.kFloat, DataType.kFloat)
SUB_FLOAT = (BinaryOp.kSub, DataType.kFloat, DataType.kFloat)


def is_simple(key: FlatKey) -> bool:
    """Return whether the reference is fast for many elements, and all elements have the same size."""
    op, src_type, dst_type = key
    return op not in (*tolerances.SLOW_BINARY_REFERENCE, *REQUIRED) and src_type.itemsize == dst_type.itemsize


def default_attributes(op: Any) -> Any:
    return REQUIRED.get(op) or tuple(attribute.default for attribute in attributes_of(op))


def launch(device: DeviceUnderTest, key: FlatKey, a: Any, b: Any, *attributes: Any, dims: Any = None) -> Any:
    """Launch, and return dst. dims: those given to Launch, if they are not the shapes."""
    op, src_type, dst_type = key
    a_dims, b_dims = dims or (np.shape(a), np.shape(b))
    shape = np.broadcast_shapes(a_dims, b_dims)
    dst = device.filled(math.prod(shape) + 3, dst_type)
    primitive = device.require(BroadcastElementwiseBinaryFactory, op, src_type, dst_type, 8, *attributes)
    a, b = (operand if np.isscalar(operand) else device.buffer(operand) for operand in (a, b))
    primitive.Launch(device.stream, a_dims, a, b_dims, b, dst)
    return device.written(dst, shape)


@every_key(BroadcastElementwiseBinaryFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    op, src_type, _ = key
    count = 101 if op in tolerances.SLOW_BINARY_REFERENCE else sized(device, 1013, 257)
    a, b = operands(rng, op, src_type, count)
    attributes = default_attributes(op)
    given = attributes if op in REQUIRED else ()  # the others keep their defaults
    check_binary(device.library, op, src_type, launch(device, key, a, b, *given), a, b, attributes)


SHAPES = [
    ((), ()),
    ((), (7,)),
    ((7,), ()),
    ((1,), (1, 1, 1)),
    ((5, 7), (5, 7)),
    ((5, 7), (7,)),
    ((7,), (5, 7)),
    ((5, 7), (5, 1)),
    ((5, 1), (5, 7)),
    ((5, 1), (1, 7)),
    ((3, 11, 5), (11, 1)),
    ((2, 5, 10, 5), (5, 1, 5, 10, 1)),
    ((10, 5, 1, 5), (5,)),
    ((2, 1, 3, 1, 2, 1, 3, 1), (1, 3, 1, 2, 1, 3, 1, 2)),
    ((0,), (1,)),
    ((3, 0), (3, 1)),
    ((0, 1), (1, 0)),
    ((331, 101), (101,)),
    ((331, 101), (331, 1)),
    ((20_011, 3), (3,)),
    ((3, 1, 7), (1, 20_011, 1)),
]


@pytest.mark.parametrize("dims", SHAPES, ids=str)
@some_key(
    BroadcastElementwiseBinaryFactory,
    SUB_FLOAT,
    (BinaryOp.kLessThan, DataType.kInt16, DataType.kBool),
    (BinaryOp.kSub, DataType.kBFloat16, DataType.kBFloat16),
    suits=is_simple,
)
def test_every_way_to_broadcast(device: DeviceUnderTest, rng: Rng, key: FlatKey, dims: Any) -> None:
    """Test an op whose operands cannot be swapped, and results of another size than the operands."""
    dims = tuple(tuple(sized(device, size, min(size, 1009)) for size in side) for side in dims)
    op, src_type, dst_type = key
    a, b = (samples(rng, src_type, max(math.prod(d), 8))[: math.prod(d)].reshape(d) for d in dims)
    got = launch(device, key, a, b)
    if op not in (BinaryOp.kSub, BinaryOp.kLessThan):
        a, b, got = (array.reshape(-1) for array in (*np.broadcast_arrays(a, b), got))
        if got.size:
            check_binary(device.library, op, src_type, got, a, b, default_attributes(op))
        return
    with np.errstate(invalid="ignore"):
        want = np.less(a, b) if op is BinaryOp.kLessThan else np.subtract(a, b)
    np.testing.assert_array_equal(got.astype(np.float64), want.astype(dst_type.dtype).astype(np.float64))


@st.composite
def broadcasts(draw: Callable[..., Any]) -> Any:
    dims = draw(st.lists(st.integers(0, 4), max_size=8))
    sides = []
    for _ in range(2):
        kept = dims[draw(st.integers(0, len(dims))) :]
        sides.append(tuple(1 if draw(st.booleans()) else size for size in kept))
    return sides


@those_keys(
    BroadcastElementwiseBinaryFactory,
    *((BinaryOp.kSub, t, t) for t in (DataType.kInt8, DataType.kFloat16, DataType.kFloat, DataType.kDouble)),
)
@pytest.mark.parametrize("row", [2, 3, 4, 7, 8, 9, 15, 16, 17, 33, 65])
def test_every_size_of_a_row(device: DeviceUnderTest, rng: Rng, key: FlatKey, row: Any) -> None:
    """Test rows with and without tiles, split between threads in the middle of blocks."""
    data_type = key[1]
    outer, middle, last = (sized(device, *sizes) for sizes in ((211, 2), (31, 3), (11, 5)))
    a = rng.integers(-9, 9, (outer, middle, last, row)).astype(data_type.dtype)
    for dims in ((middle, 1, row), (outer, 1, last, 1), (1, middle, 1, 1), (row,)):
        b = rng.integers(-9, 9, dims).astype(data_type.dtype)
        assert launch(device, key, a, b).tobytes() == (a - b).tobytes()
        assert launch(device, key, b, a).tobytes() == (b - a).tobytes()


@needs(BroadcastElementwiseBinaryFactory, *ADD_FLOAT)
@given(dims=broadcasts())
def test_any_dims(device: DeviceUnderTest, dims: Any) -> None:
    a = np.arange(math.prod(dims[0]), dtype=np.float32).reshape(dims[0])
    b = np.arange(math.prod(dims[1]), dtype=np.float32).reshape(dims[1]) * 100
    np.testing.assert_array_equal(launch(device, ADD_FLOAT, a, b), a + b)


OF_INTEGERS = [
    (op, data_type, data_type)
    for op in (BinaryOp.kAdd, BinaryOp.kMul, BinaryOp.kFloorDiv, BinaryOp.kFloorMod, BinaryOp.kPow)
    for data_type in (DataType.kInt8, DataType.kUInt8, DataType.kInt64, DataType.kUInt64)
]


@those_keys(BroadcastElementwiseBinaryFactory, *OF_INTEGERS)
@few_examples
@given(data=st.data())
def test_any_integers(device: DeviceUnderTest, key: Any, data: st.DataObject) -> None:
    op, data_type, _ = key
    info = np.iinfo(data_type.dtype)
    numbers = st.lists(st.integers(info.min, info.max) | st.integers(0, 5), min_size=3, max_size=3)
    a, b = (np.array(data.draw(numbers), data_type.dtype) for _ in range(2))
    check_binary(device.library, op, data_type, launch(device, key, a, b), a, b, ())


@needs(BroadcastElementwiseBinaryFactory, *SUB_FLOAT)
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("shape", [(7,), (331, 101)])
def test_in_place_of_either_operand(device: DeviceUnderTest, rng: Rng, side: int, shape: Dims) -> None:
    """The operands of sub are not swapped if dst is its second operand."""
    values = [finite(rng, DataType.kFloat, math.prod(shape)).reshape(shape) for _ in range(2)]
    buffers = [device.buffer(value) for value in values]
    primitive = device.require(BroadcastElementwiseBinaryFactory, BinaryOp.kSub, "float32", "float32", 2)
    primitive.Launch(device.stream, shape, buffers[0], shape, buffers[1], buffers[side])
    np.testing.assert_array_equal(device.array(buffers[side], shape), values[0] - values[1])


@needs(BroadcastElementwiseBinaryFactory, *ADD_FLOAT)
def test_in_place_with_the_other_operand_broadcast(device: DeviceUnderTest) -> None:
    memory, row = device.buffer(np.arange(6, dtype=np.float32)), device.buffer(np.array([10, 20, 30], np.float32))
    primitive = device.require(BroadcastElementwiseBinaryFactory, *ADD_FLOAT, 2)
    primitive.Launch(device.stream, (2, 3), memory, (3,), row, memory)
    np.testing.assert_array_equal(device.array(memory), [10, 21, 32, 13, 24, 35])


NUMBERS: dict[DataType, list[Any]] = {
    DataType.kFloat: [(2, 2.0), (np.float64(0.1), np.float32(0.1))],
    DataType.kInt8: [(300, 44), (1e9, 127)],
    DataType.kUInt8: [(-1.5, 0)],
    DataType.kInt32: [(float("nan"), 0), (-2.9, -2)],
    DataType.kBool: [(0.5, True)],
    DataType.kUInt64: [(2**64 - 1, np.uint64(2**64 - 1))],
    DataType.kFloat16: [(1 + 2**-11 + 2**-40, 1 + 2**-10)],
    DataType.kBFloat16: [(1 + 2**-8 + 2**-40, 1 + 2**-7)],
    DataType.kComplex64: [(2, 2 + 0j)],
}
"""By data type: numbers, and the elements that they are converted to."""


@pytest.mark.parametrize(
    ("key", "number", "element"),
    [
        pytest.param(key, *pair, marks=needs(BroadcastElementwiseBinaryFactory, *key), id=f"{key_name(key)}-{pair[0]}")
        for data_type, pairs in NUMBERS.items()
        for pair in pairs
        for key in [(BinaryOp.kEqual, data_type, DataType.kBool)]
    ],
)
@pytest.mark.parametrize("side", [0, 1])
def test_plain_numbers_convert_as_cast_does(
    device: DeviceUnderTest, key: FlatKey, number: int, element: Any, side: int
) -> None:
    other = np.zeros(2, key[1].dtype)
    other[0] = element
    operands = (number, other) if side == 0 else (other, number)
    assert launch(device, key, *operands).tolist() == [True, element == 0]


@pytest.mark.parametrize("bounds", [(), (-0.3, 0.7), (-1e9, 1.0 + 2**-8 + 2**-40)], ids=str)
@pytest.mark.parametrize(
    "data_type",
    [
        pytest.param(
            t,
            marks=[
                needs(ElementwiseUnaryFactory, UnaryOp.kHardTanh, t, t),
                needs(BroadcastElementwiseBinaryFactory, BinaryOp.kHardtanhBackwardWithDyY, t, t),
            ],
            id=t.name,
        )
        for t in FLOATS
    ],
)
def test_the_gradient_of_a_clamp_knows_what_was_clamped(
    device: DeviceUnderTest, data_type: DataType, bounds: Any
) -> None:
    """The forward op stores its bounds rounded to the data type; the backward op compares with the rounded bounds."""
    low, high = bounds or (-1.0, 1.0)
    x = convert(np.array([-np.inf, -4, low, -0.25, 0.0, 0.5, high, 4, np.inf]), data_type.dtype)
    y = device.filled(x.size, data_type)
    forward = device.require(ElementwiseUnaryFactory, UnaryOp.kHardTanh, data_type, data_type, *bounds)
    forward.Launch(device.stream, device.buffer(x), y, x.size)
    key = (BinaryOp.kHardtanhBackwardWithDyY, data_type, data_type)
    dy = np.arange(1, x.size + 1).astype(data_type.dtype)
    dx = launch(device, key, dy, device.array(y), *bounds)
    clamped = np.array([True, low > -4, True, False, False, False, True, True, True])
    np.testing.assert_array_equal(dx.astype(np.float64), np.where(clamped, 0, dy.astype(np.float64)))


@needs(BroadcastElementwiseBinaryFactory, BinaryOp.kDiv, DataType.kDouble, DataType.kDouble)
@needs(BroadcastElementwiseBinaryFactory, BinaryOp.kAdd, DataType.kComplex128, DataType.kComplex128)
def test_numbers_that_are_equal_but_not_the_same(device: DeviceUnderTest) -> None:
    """Test one primitive with zeros of either sign and any type in turn, also as parts of complex numbers."""
    divide = device.require(BroadcastElementwiseBinaryFactory, BinaryOp.kDiv, "float64", "float64", 1)
    dst, one = device.buffer(np.zeros(1)), device.buffer(np.ones(1))
    for number in (0.0, -0.0, 0, np.float32(-0.0), False):
        divide.Launch(device.stream, (1,), one, (), number, dst)
        assert device.array(dst)[0] == np.copysign(np.inf, number)
    add = device.require(BroadcastElementwiseBinaryFactory, BinaryOp.kAdd, "complex128", "complex128", 1)
    dst, zero = device.buffer(np.zeros(1, complex)), device.buffer(np.array([complex(0, -0.0)]))
    for imag in (0.0, -0.0):
        add.Launch(device.stream, (1,), zero, (), complex(1, imag), dst)
        assert str(device.array(dst)[0].imag) == str(imag)


@needs(BroadcastElementwiseBinaryFactory, *ADD_FLOAT)
@pytest.mark.parametrize("none", [(), [], range(0), np.array([], int)], ids=lambda dims: type(dims).__name__)
def test_no_dims_in_any_sequence(device: DeviceUnderTest, none: Any) -> None:
    add = device.require(BroadcastElementwiseBinaryFactory, *ADD_FLOAT, 1)
    dst, one = device.buffer(np.zeros(2, np.float32)), device.buffer(np.ones(2, np.float32))
    add.Launch(device.stream, (2,), one, none, 3, dst)
    assert device.array(dst).tolist() == [4, 4]
    add.Launch(device.stream, none, 5, [2], one, dst)
    assert device.array(dst).tolist() == [6, 6]


@some_key(BroadcastElementwiseBinaryFactory, ADD_FLOAT)
class TestRefusals(OfAnyLaunch):
    factory, dims = BroadcastElementwiseBinaryFactory, ("src0_dims", "src1_dims")

    @pytest.fixture
    def primitive(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        return device.require(self.factory, *key, 3, *REQUIRED.get(key[0], ()))

    def arguments(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        src0, src1 = (device.buffer(np.ones(count, key[1].dtype)) for count in (6, 3))
        return {"src0_dims": (2, 3), "src0": src0, "src1_dims": (3,), "src1": src1, "dst": device.filled(6, key[2])}

    def test_dims(self, refused: Refused) -> None:
        refused(ValueError, r"src0_dims \(2, 3\), src1_dims \(4,\) do not broadcast at axis -1", src1_dims=(4,))
        refused(TypeError, "src0_dims must be a sequence of integers, not '23'", src0_dims="23")

    def test_numbers_need_empty_dims(self, refused: Refused) -> None:
        refused(TypeError, "src1 must be", src1=2.0)


@some_key(BroadcastElementwiseBinaryFactory, ADD_FLOAT, suits=lambda key: key[1].dtype.kind != "c")
def test_complex_numbers_for_real_operands(device: DeviceUnderTest, key: FlatKey, refuses: Refusals) -> None:
    op, src_type, dst_type = key
    primitive = device.require(BroadcastElementwiseBinaryFactory, *key, 1, *REQUIRED.get(op, ()))
    src, dst = device.buffer(np.ones(2, src_type.dtype)), device.filled(2, dst_type)
    with refuses.expected(primitive, TypeError, "src1 is the complex number"):
        primitive.Launch(device.stream, (2,), src, (), 2j, dst)
    assert set(device.array(dst).view(np.uint8)) == {0xA5}


@some_key(BroadcastElementwiseBinaryFactory, ADD_FLOAT, suits=lambda key: key[1].itemsize == key[2].itemsize)
def test_overlap(device: DeviceUnderTest, key: FlatKey, refuses: Refusals) -> None:
    op, src_type, dst_type = key
    primitive = device.require(BroadcastElementwiseBinaryFactory, *key, 3, *REQUIRED.get(op, ()))
    memory, other = device.buffer(np.ones(16, src_type.dtype)), device.buffer(np.ones(6, src_type.dtype))
    with refuses.expected(primitive, ValueError, "dst overlaps src0"):
        primitive.Launch(device.stream, (2, 3), memory[:6], (3,), other, memory[1:7].view(dst_type.dtype))
    with refuses.expected(primitive, ValueError, "dst overlaps src1"):
        primitive.Launch(device.stream, (2, 3), other, (3,), memory[:3], memory[:6].view(dst_type.dtype))
    assert (device.array(memory) == 1).all()


@some_key(
    BroadcastElementwiseBinaryFactory,
    (BinaryOp.kEqual, DataType.kFloat, DataType.kBool),
    suits=lambda key: key[1].itemsize != key[2].itemsize,
)
def test_operands_of_another_size_in_place(device: DeviceUnderTest, key: FlatKey, refuses: Refusals) -> None:
    op, src_type, dst_type = key
    memory = device.buffer(np.ones(4 * 16, np.uint8))
    primitive = device.require(BroadcastElementwiseBinaryFactory, *key, 1, *REQUIRED.get(op, ()))
    src = memory.view(src_type.dtype)
    with refuses.expected(primitive, ValueError, "dst overlaps src0"):
        primitive.Launch(device.stream, (4,), src, (4,), src, memory.view(dst_type.dtype))
    assert (device.array(memory) == 1).all()


@needs(BroadcastElementwiseBinaryFactory, *ADD_FLOAT)
def test_dims_in_any_sequence(device: DeviceUnderTest) -> None:
    """Dims may be a list, an ndarray of integers, or NumPy integers in a tuple."""
    primitive = device.require(BroadcastElementwiseBinaryFactory, *ADD_FLOAT, 2)
    ones = device.buffer(np.ones(6, np.float32))
    for dims in ([2, 3], np.array([2, 3]), (np.int32(2), np.int64(3))):
        dst = device.filled(6, DataType.kFloat)
        primitive.Launch(device.stream, dims, ones, dims, ones, dst)
        assert (device.array(dst) == 2).all()


@those_keys(
    BroadcastElementwiseBinaryFactory,
    (BinaryOp.kPow, DataType.kFloat, DataType.kFloat),
    (BinaryOp.kPow, DataType.kDouble, DataType.kDouble),
)
def test_power_is_the_same_beside_special_cases(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    """Blocks in which an operand is special are computed by another functor, with the same results."""
    count, data_type = 3000, key[1]
    base, exponent = np.exp(rng.uniform(-20, 20, count)), rng.uniform(-4, 4, count)
    base[::7], exponent[::11] = 1, 0
    dtype = np.float32 if data_type is DataType.kFloat else np.float64
    base, exponent = base.astype(dtype), exponent.astype(dtype)
    alone = launch(device, key, base, exponent)
    ordinary = np.arange(count) % 500 != 0
    for special in (0, -2, 1e-40, np.inf, np.nan, 1e30):
        beside = base.copy(), exponent.copy()
        for operand in beside:
            operand[::500] = special
        for got in (launch(device, key, beside[0], exponent), launch(device, key, base, beside[1])):
            np.testing.assert_array_equal(got[ordinary].view(np.uint8), alone[ordinary].view(np.uint8))
