"""Add: the sum of a chunk of operands."""

from __future__ import annotations

from ep.common.functor.sums import sum_of
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.compiler import KernelSource
from ep.cuda.engine.map import kernel as map_engine
from ep.cuda.engine.map.access import Access, Variant
from ep.cuda.engine.map.chunks import ChunkVariant
from ep.cuda.engine.map.functor import made_functor
from ep.include.data_type import DataType
from ep.include.number_kind import number_kind


def kernel(data_type: DataType, variant: ChunkVariant) -> KernelSource:
    """Return the kernel that adds a chunk of operands from the left, rounded once.

    All operands except the first have `data_type`.
    """
    number, first_type, dst_type, elements = variant
    maker, types = sum_of(number, number_kind(data_type)), (first_type, *(data_type,) * (number - 1))
    functor = made_functor(f"sum{number}", maker, types, dst_type, storage_arithmetic(data_type))
    return map_engine.kernel(functor, Variant(elements, (Access.SAME,) * number))
