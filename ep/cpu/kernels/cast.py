"""The row kernels of conversions: one for each way to convert bits, of which there are fewer than pairs of types."""

from __future__ import annotations

from functools import cache

from ep.common.functor.math_library import Scalar
from ep.common.stored_types import stored_types
from ep.cpu.compile.jit import jit
from ep.cpu.engine.map.inner_loop import RowFunctions, row_kernel
from ep.include.data_type import DataType
from ep.include.number_kind import Kind, number_kind
from ep.include.primitive.unary_op import UnaryOp


def cast_kernel(src_type: DataType, dst_type: DataType, streaming: bool = False) -> int:
    """Return the address of the row kernel from `src_type` to `dst_type`; streaming: see `row_kernel`."""
    return _cast_kernel(*stored_types(UnaryOp.kCast, src_type, dst_type), streaming)


@cache
def _cast_kernel(src_type: DataType, dst_type: DataType, streaming: bool) -> int:
    to_integer = number_kind(src_type) is Kind.FLOAT and number_kind(dst_type) in (Kind.INTEGER, Kind.BOOL)
    light = dst_type.itemsize >= src_type.itemsize and not to_integer  # else wide vectors are faster: fewer parts
    functions = RowFunctions((src_type,), dst_type, _same, light=light)
    return row_kernel(f"cast.{src_type.name}.{dst_type.name}", functions, streaming)


@jit
def _same(x: Scalar) -> Scalar:
    return x
