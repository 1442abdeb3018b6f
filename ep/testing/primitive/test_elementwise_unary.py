"""ElementwiseUnary: every key against the references, in place, sizes above the grain, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep import UnaryOp
from ep.include import DataType
from ep.include.number_kind import FLOATS
from ep.include.primitive import ElementwiseUnaryFactory
from ep.include.primitive.op_table import attributes_of
from ep.testing.agreement import check_unary
from ep.testing.arrays import Array, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.keys import FlatKey, every_key, few_examples, needs, some_key, those_keys
from ep.testing.references.convert import convert
from ep.testing.refusals import Refusals
from ep.testing.refused_arguments import OfTwoCounts
from ep.testing.samples import other_types, samples, sized

REQUIRED = {UnaryOp.kThreshold: (0.25, -3.0)}
RELU_FLOAT, RELU_HALF, RELU_INT8 = (
    (UnaryOp.kRelu, data_type, data_type) for data_type in (DataType.kFloat, DataType.kFloat16, DataType.kInt8)
)


def default_attributes(op: Any) -> Any:
    return REQUIRED.get(op) or tuple(attribute.default for attribute in attributes_of(op))


def launch(device: DeviceUnderTest, key: FlatKey, src: Array, *attributes: Any) -> Any:
    op, src_type, dst_type = key
    dst = device.filled(src.size + 3, dst_type)
    primitive = device.require(ElementwiseUnaryFactory, op, src_type, dst_type, *attributes)
    primitive.Launch(device.stream, device.buffer(src), dst, src.size)
    return device.written(dst, src.size)


@every_key(ElementwiseUnaryFactory)
def test_every_key(device: DeviceUnderTest, rng: Rng, key: FlatKey) -> None:
    op, src_type, _ = key
    src = samples(rng, src_type, sized(device, 1013, 257))
    check_unary(
        device.library, op, src_type, launch(device, key, src, *REQUIRED.get(op, ())), src, default_attributes(op)
    )


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17, 31, 33, 32768, 32769, 100_003])
@some_key(ElementwiseUnaryFactory, RELU_FLOAT, RELU_HALF, RELU_INT8)
def test_every_length(device: DeviceUnderTest, rng: Rng, key: FlatKey, count: int) -> None:
    """Test tails, one grain, and several of them; a value gives the same bits at any position."""
    op, src_type, _ = key
    count = sized(device, count, min(count, 4099))
    src = samples(rng, src_type, count)
    got = launch(device, key, src, *REQUIRED.get(op, ()))
    if op is UnaryOp.kRelu:
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(got, np.where(src <= 0, np.zeros_like(src), src))
    elif count:
        check_unary(device.library, op, src_type, got, src, default_attributes(op))


@pytest.mark.parametrize("count", [1, 33, 100_003])
@some_key(
    ElementwiseUnaryFactory,
    (UnaryOp.kAbs, DataType.kFloat, DataType.kFloat),
    (UnaryOp.kLogicalNot, DataType.kUInt8, DataType.kBool),
    suits=lambda key: key[1].itemsize == key[2].itemsize,
)
def test_in_place(device: DeviceUnderTest, rng: Rng, key: FlatKey, count: int) -> None:
    op, src_type, dst_type = key
    src = samples(rng, src_type, count)
    memory = device.buffer(src)
    primitive = device.require(ElementwiseUnaryFactory, *key, *REQUIRED.get(op, ()))
    primitive.Launch(device.stream, memory, memory.view(dst_type.dtype), count)
    check_unary(device.library, op, src_type, device.array(memory).view(dst_type.dtype), src, default_attributes(op))


@needs(ElementwiseUnaryFactory, UnaryOp.kLeakyRelu, DataType.kDouble, DataType.kDouble)
@pytest.mark.parametrize("alpha", [0.1, 1 / 3, 1e-300])
def test_attributes_are_not_cut_to_float32(device: DeviceUnderTest, alpha: Any) -> None:
    src = np.array([-1.0, -3.0])
    got = launch(device, (UnaryOp.kLeakyRelu, DataType.kDouble, DataType.kDouble), src, alpha)
    np.testing.assert_array_equal(got, alpha * src)


@those_keys(
    ElementwiseUnaryFactory,
    (UnaryOp.kReal, DataType.kComplex128, DataType.kFloat16),
    (UnaryOp.kReal, DataType.kComplex128, DataType.kBFloat16),
)
def test_narrowing_rounds_once(device: DeviceUnderTest, key: FlatKey) -> None:
    """In a cast from complex128 to a 16-bit type, these values would show an intermediate rounding to float32."""
    destination = key[2]
    digits = 11 if destination is DataType.kFloat16 else 8
    ties = 1 + np.arange(1, 200, 2) * 2.0**-digits
    reals = np.concatenate(
        [ties, ties + 2.0**-50, ties - 2.0**-50, [65519.999999999, 65520, 1e300, 2.0**-25, 0, np.inf]]
    )
    src = np.concatenate([reals, -reals]).astype(np.complex128)
    got = launch(device, key, src)
    assert got.tobytes() == convert(src.real, destination.dtype).tobytes()


@those_keys(
    ElementwiseUnaryFactory,
    (UnaryOp.kCeil, DataType.kFloat16, DataType.kFloat16),
    (UnaryOp.kCeil, DataType.kBFloat16, DataType.kBFloat16),
)
def test_all_16_bit_values_survive(device: DeviceUnderTest, key: FlatKey) -> None:
    """Every bit pattern converts to float32 and back unchanged, and NaN stays NaN."""
    data_type = key[1]
    src = np.arange(65536, dtype=np.uint32).astype(np.uint16).view(data_type.dtype)
    got = launch(device, key, src)
    with np.errstate(invalid="ignore"):  # on ARM processors, NumPy warns of signalling NaNs in casts
        values = src.astype(np.float32)
        want = np.ceil(values)
    np.testing.assert_array_equal(got.astype(np.float32), convert(want, data_type.dtype).astype(np.float32))
    assert np.isnan(got[np.isnan(values)].astype(np.float32)).all()


REAL = st.floats(-8, 8, width=32)


WITH_ATTRIBUTES = [
    (op, data_type, data_type)
    for op in (UnaryOp.kLeakyRelu, UnaryOp.kHardTanh, UnaryOp.kThreshold, UnaryOp.kRelu)
    for data_type in FLOATS
]


@those_keys(ElementwiseUnaryFactory, *WITH_ATTRIBUTES)
@few_examples
@given(values=st.lists(st.floats(width=32), max_size=40), attributes=st.tuples(REAL, REAL))
def test_any_values_and_attributes(device: DeviceUnderTest, key: Any, values: Any, attributes: Any) -> None:
    op, data_type, _ = key
    with np.errstate(over="ignore"):
        src = np.array(values, np.float32).astype(data_type.dtype)
    attributes = attributes[: len(attributes_of(op))]
    got = launch(device, key, src, *attributes)
    if src.size:
        check_unary(device.library, op, data_type, got, src, attributes)


@some_key(ElementwiseUnaryFactory, RELU_FLOAT)
class TestRefusals(OfTwoCounts):
    factory = ElementwiseUnaryFactory

    @pytest.fixture
    def primitive(self, device: DeviceUnderTest, key: FlatKey) -> Any:
        return device.require(ElementwiseUnaryFactory, *key, *REQUIRED.get(key[0], ()))

    def test_zero_elements_are_nothing_but_checked(
        self, device: DeviceUnderTest, key: FlatKey, primitive: Any, refuses: Refusals
    ) -> None:
        _, src_type, dst_type = key
        src, dst = device.empty(0, src_type), device.empty(0, dst_type)
        primitive.Launch(device.stream, src, dst, 0)
        with refuses.expected(primitive, TypeError, "src has dtype"):
            primitive.Launch(device.stream, device.empty(0, other_types(src_type)[0]), dst, 0)


@some_key(ElementwiseUnaryFactory, RELU_FLOAT, suits=lambda key: key[1].itemsize == key[2].itemsize)
def test_overlap(device: DeviceUnderTest, key: FlatKey, refuses: Refusals) -> None:
    _, src_type, dst_type = key
    primitive = device.require(ElementwiseUnaryFactory, *key, *REQUIRED.get(key[0], ()))
    memory = device.buffer(np.ones(16, src_type.dtype))
    for src, dst in ((memory[:8], memory[7:15]), (memory[1:9], memory[:8])):
        with refuses.expected(primitive, ValueError, "dst overlaps src"):
            primitive.Launch(device.stream, src, dst.view(dst_type.dtype), 8)
    assert (device.array(memory) == 1).all()


@some_key(
    ElementwiseUnaryFactory,
    (UnaryOp.kIsNan, DataType.kFloat, DataType.kBool),
    suits=lambda key: key[1].itemsize != key[2].itemsize,
)
def test_elements_of_another_size_in_place(device: DeviceUnderTest, key: FlatKey, refuses: Refusals) -> None:
    _, src_type, dst_type = key
    memory = device.buffer(np.ones(8 * 16, np.uint8))
    primitive = device.require(ElementwiseUnaryFactory, *key, *REQUIRED.get(key[0], ()))
    with refuses.expected(primitive, ValueError, "dst overlaps src"):
        primitive.Launch(device.stream, memory.view(src_type.dtype), memory.view(dst_type.dtype), 8)
    assert (device.array(memory) == 1).all()
