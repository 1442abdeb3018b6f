"""The data types that kernels load and store: fewer than those of keys, many of which give the same bits."""

from __future__ import annotations

from typing import Final

from ep.include.data_type import DataType
from ep.include.number_kind import COMPLEXES, FLOATS, PART, UNSIGNED, Kind, number_kind, part_of
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.reduce_op import EXTREMES, TRUTHS, ReduceOp
from ep.include.primitive.unary_op import UnaryOp

_WITHOUT_SIGN: Final = frozenset(
    (
        *(UnaryOp.kLogicalNot, UnaryOp.kBitwiseNot, UnaryOp.kIsNan, UnaryOp.kIsInf, UnaryOp.kIsFinite),
        *(BinaryOp.kAdd, BinaryOp.kSub, BinaryOp.kMul, BinaryOp.kEqual, BinaryOp.kNotEqual),
        *(BinaryOp.kLogicalAnd, BinaryOp.kLogicalOr, BinaryOp.kLogicalXor),
        *(BinaryOp.kBitwiseAnd, BinaryOp.kBitwiseOr, BinaryOp.kBitwiseXor),
    )
)
"""The ops that give the same bits for signed and unsigned integers: sums are modulo 2^n."""

UNITS: Final = {each.itemsize: each for each in (*UNSIGNED, DataType.kComplex128)}
"""The data type, by size, that is used to move elements whose values do not matter."""


def unit_of(data_type: DataType) -> DataType:
    """Return the data type that is used to move elements of `data_type`."""
    return UNITS[data_type.itemsize]


def stored_types(op: UnaryOp | BinaryOp, src_type: DataType, dst_type: DataType) -> tuple[DataType, DataType]:
    """Return the pair of types whose kernel serves `op` from `src_type` to `dst_type`: it gives the same bits."""
    if op in (UnaryOp.kIdentity, UnaryOp.kCast):
        return _same_conversion(src_type, dst_type)
    if op in _WITHOUT_SIGN:
        return _without_sign(src_type), _without_sign(dst_type)
    return stored_as(src_type), stored_as(dst_type)


def stored_as(data_type: DataType) -> DataType:
    """Return the data type that is used to store and compute elements: kInt8 for kChar."""
    return DataType.kInt8 if data_type is DataType.kChar else data_type


def added_as(data_type: DataType) -> tuple[DataType, int]:
    """Return the data type of an element's parts, whose sums have the same bits, and the number of parts."""
    return (part_of(data_type), 2) if data_type in COMPLEXES else (_without_sign(data_type), 1)


def carried_as(op: ReduceOp, data_type: DataType) -> DataType:
    """Return the data type in which a reduction carries the numbers of elements, before it rounds them.

    Sums and products of floating types are carried in float64, the least and largest of 16-bit types in float32.
    """
    stored = PART.get(data_type, data_type)  # `part_of` without its call: plans for new dims are made here
    if op in TRUTHS or stored not in FLOATS:
        return stored
    if op in EXTREMES:
        return stored if stored.itemsize > 4 else DataType.kFloat
    return DataType.kDouble


def scanned_as(data_type: DataType) -> tuple[DataType, DataType]:
    """Return the types that a Scan stores, with the same bits, and carries; integers are carried modulo 2^64."""
    if data_type in COMPLEXES:
        return data_type, DataType.kComplex128
    return _without_sign(data_type), DataType.kDouble if data_type in FLOATS else UNSIGNED[-1]


def _without_sign(data_type: DataType) -> DataType:
    """Return the unsigned type of an integer type's size; any other type itself."""
    return unit_of(data_type) if number_kind(data_type) is Kind.INTEGER else data_type


def _same_conversion(src_type: DataType, dst_type: DataType) -> tuple[DataType, DataType]:
    """Return the pair of types that represents all pairs converted by the same instructions."""
    src_kind, dst_kind = number_kind(src_type), number_kind(dst_type)
    if src_type is dst_type and src_kind is not Kind.BOOL:  # a bool is normalized to 0 or 1
        return unit_of(src_type), unit_of(src_type)
    to_integer = dst_kind is Kind.INTEGER
    if src_kind is Kind.INTEGER:
        # its sign matters only if the destination is wider
        no_wider = to_integer and dst_type.itemsize <= src_type.itemsize
        src_type = unit_of(src_type) if no_wider or dst_kind is Kind.BOOL else stored_as(src_type)
    if to_integer:
        from_bits = src_kind in (Kind.INTEGER, Kind.BOOL)
        dst_type = unit_of(dst_type) if from_bits else stored_as(dst_type)
    return src_type, dst_type
