"""The functor of a key, compiled for the CPU, with the attributes that the op has."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ep.common.functor import functor_maker
from ep.common.functor.table import Kind
from ep.common.number_kind import number_kind
from ep.cpu.kernels.jit import jit
from ep.cpu.kernels.math_library import calls_elementary_functions, cpu_math_library
from ep.cpu.kernels.memory import arithmetic_type, load_float64, loader, storer
from ep.include.data_type import DataType
from ep.include.primitive.attributes import ATTRIBUTES
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.unary_op import UnaryOp


def storage_type(data_type: DataType) -> DataType:
    """The data type whose kernels serve `data_type`: kChar is stored and computed as kInt8."""
    return DataType.kInt8 if data_type is DataType.kChar else data_type


class RowFunctions(NamedTuple):
    """What a row kernel is made of: compiled functions, in the type of arithmetic of its key."""

    load: Any
    apply: Any
    store: Any
    read_attributes: Any


def row_functions(op: UnaryOp | BinaryOp, src_type: DataType, dst_type: DataType) -> RowFunctions:
    """The functions of the row kernel of `op` from `src_type` to `dst_type`.

    Elementary functions are vectorised in float64 alone. So what calls them is computed in float64 on narrower
    floating types too, and rounded to float32 where it would have been computed there.
    """
    kind = number_kind(src_type)
    maker = functor_maker(op, kind)
    scalar_type = arithmetic_type(src_type)
    wide = scalar_type is np.float32 and calls_elementary_functions(maker)
    if wide:
        scalar_type = np.float64
    attribute_type = scalar_type if kind is Kind.FLOAT else np.float64
    return RowFunctions(
        loader(src_type, wide),
        cpu_math_library(scalar_type).use(maker),
        storer(dst_type, wide),
        _attribute_reader(len(ATTRIBUTES.get(op, ())), attribute_type),
    )


@cache
def _attribute_reader(count: int, scalar_type: Any) -> Any:
    def none(address):  # type: ignore[no-untyped-def]
        return ()

    def one(address):  # type: ignore[no-untyped-def]
        return (scalar_type(load_float64(address, 0)),)

    def two(address):  # type: ignore[no-untyped-def]
        return scalar_type(load_float64(address, 0)), scalar_type(load_float64(address, 1))

    return jit((none, one, two)[count])
