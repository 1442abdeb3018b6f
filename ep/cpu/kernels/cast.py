"""The row kernels of conversions: one for each way to convert bits, of which there are fewer than pairs of types."""

from __future__ import annotations

from functools import cache

import numpy as np

from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import loader, storer
from ep.cpu.engine.map.rows import RowFunctions, row_kernel
from ep.cpu.kernels.functors import attribute_reader, storage_type
from ep.include.data_type import DataType
from ep.include.number_kind import Kind, number_kind

BITS = {
    1: DataType.kUInt8,
    2: DataType.kUInt16,
    4: DataType.kUInt32,
    8: DataType.kUInt64,
    16: DataType.kComplex128,
}
"""By size, the type in which elements are moved as they are."""


def cast_kernel(src_type: DataType, dst_type: DataType, streaming: bool = False) -> int:
    """The address of the row kernel that converts elements of `src_type` to `dst_type`; streaming: see `row_kernel`."""
    return _cast_kernel(*same_conversion(src_type, dst_type), streaming)


def same_conversion(src_type: DataType, dst_type: DataType) -> tuple[DataType, DataType]:
    """The pair of types that stands for all those which are converted by the same instructions."""
    src_kind, dst_kind = number_kind(src_type), number_kind(dst_type)
    if src_type is dst_type and src_kind is not Kind.BOOL:  # a bool is made 0 or 1
        return BITS[src_type.itemsize], BITS[src_type.itemsize]
    to_integer = dst_kind is Kind.INTEGER
    if src_kind is Kind.INTEGER:
        # its sign matters only where there is more to write than its bits
        no_wider = to_integer and dst_type.itemsize <= src_type.itemsize
        src_type = BITS[src_type.itemsize] if no_wider or dst_kind is Kind.BOOL else storage_type(src_type)
    if to_integer:
        from_bits = src_kind in (Kind.INTEGER, Kind.BOOL)
        dst_type = BITS[dst_type.itemsize] if from_bits else storage_type(dst_type)
    return src_type, dst_type


@cache
def _cast_kernel(src_type: DataType, dst_type: DataType, streaming: bool) -> int:
    to_integer = number_kind(src_type) is Kind.FLOAT and number_kind(dst_type) in (Kind.INTEGER, Kind.BOOL)
    light = dst_type.itemsize >= src_type.itemsize and not to_integer  # else wider vectors have less to put together
    functions = RowFunctions((loader(src_type),), _same, storer(dst_type), attribute_reader(0, np.float64), light=light)
    return row_kernel(f"cast.{src_type.name}.{dst_type.name}", functions, streaming)


@jit
def _same(x):
    return x
