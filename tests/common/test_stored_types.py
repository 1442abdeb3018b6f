"""The data types that kernels are compiled for: of the same size as those of the keys, and fewer."""

import pytest

from ep import BinaryOp, DeviceType, UnaryOp
from ep.common.functor.lookup import first_op, functor_maker
from ep.common.stored_types import stored_types
from ep.include import DataType as T
from ep.include.number_kind import Kind, number_kind
from ep.include.primitive import BroadcastElementwiseBinary, Cast, ElementwiseUnary, registered

KEYS = [
    (entry.op or UnaryOp.kCast, *entry.dtypes)
    for entry in registered(DeviceType.kCPU)
    if entry.interface in (ElementwiseUnary, BroadcastElementwiseBinary, Cast)
]


def kernel(op, src_type, dst_type):
    return first_op(op, number_kind(src_type)), *stored_types(op, src_type, dst_type)


def test_kernels_load_and_store_elements_of_the_keys_sizes():
    for op, *types in KEYS:
        stored = stored_types(op, *types)
        assert [each.itemsize for each in stored] == [each.itemsize for each in types]
        assert stored_types(op, *stored) == stored


def test_many_keys_have_a_kernel_in_common():
    assert len(KEYS) - len({kernel(*key) for key in KEYS}) > 200


@pytest.mark.parametrize(
    ("key", "other"),
    [
        ((BinaryOp.kAdd, T.kInt8, T.kInt8), (BinaryOp.kAdd, T.kUInt8, T.kUInt8)),
        ((BinaryOp.kEqual, T.kChar, T.kBool), (BinaryOp.kEqual, T.kInt8, T.kBool)),
        ((BinaryOp.kReluBackwardWithDyY, T.kFloat, T.kFloat), (BinaryOp.kReluBackwardWithDyX, T.kFloat, T.kFloat)),
        ((UnaryOp.kIdentity, T.kFloat, T.kFloat), (UnaryOp.kCast, T.kInt32, T.kUInt32)),
        ((UnaryOp.kCast, T.kInt64, T.kInt16), (UnaryOp.kCast, T.kUInt64, T.kUInt16)),
    ],
)
def test_what_makes_the_same_bits_is_one_kernel(key, other):
    assert kernel(*key) == kernel(*other)


@pytest.mark.parametrize(
    ("key", "other"),
    [
        ((BinaryOp.kMax, T.kInt8, T.kInt8), (BinaryOp.kMax, T.kUInt8, T.kUInt8)),
        ((BinaryOp.kLessThan, T.kInt32, T.kBool), (BinaryOp.kLessThan, T.kUInt32, T.kBool)),
        ((UnaryOp.kCast, T.kInt16, T.kInt64), (UnaryOp.kCast, T.kUInt16, T.kInt64)),
        ((UnaryOp.kCast, T.kInt16, T.kFloat), (UnaryOp.kCast, T.kUInt16, T.kFloat)),
        ((UnaryOp.kCast, T.kFloat, T.kInt8), (UnaryOp.kCast, T.kFloat, T.kUInt8)),
        ((UnaryOp.kIdentity, T.kBool, T.kBool), (UnaryOp.kIdentity, T.kUInt8, T.kUInt8)),  # a bool becomes 0 or 1
    ],
)
def test_a_sign_that_matters_is_kept(key, other):
    assert kernel(*key) != kernel(*other)


def test_the_first_op_has_the_same_functor():
    for op, src_type, _ in KEYS:
        kind = number_kind(src_type)
        assert functor_maker(first_op(op, kind), kind) is functor_maker(op, kind)
    assert first_op(BinaryOp.kDiv, Kind.FLOAT) is BinaryOp.kDiv
