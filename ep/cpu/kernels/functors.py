"""The functor of a key, compiled for the CPU, with the attributes that the op has."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.common.functor import functor_maker
from ep.common.functor.table import Kind
from ep.common.number_kind import number_kind
from ep.cpu.kernels.jit import jit
from ep.cpu.kernels.math_library import cpu_math_library
from ep.cpu.kernels.memory import arithmetic_type, load_float64
from ep.include.data_type import DataType
from ep.include.primitive.attributes import ATTRIBUTES
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.unary_op import UnaryOp


def storage_type(data_type: DataType) -> DataType:
    """The data type whose kernels serve `data_type`: kChar is stored and computed as kInt8."""
    return DataType.kInt8 if data_type is DataType.kChar else data_type


def functor(op: UnaryOp | BinaryOp, src_type: DataType) -> Any:
    """The compiled functor of `op` on elements of `src_type`."""
    kind = number_kind(src_type)
    return cpu_math_library(arithmetic_type(src_type)).use(functor_maker(op, kind))


def attribute_reader(op: UnaryOp | BinaryOp, src_type: DataType) -> Any:
    """A compiled function from the address of the attributes to the tuple of those that `op` takes."""
    in_source_type = number_kind(src_type) is Kind.FLOAT
    return _attribute_reader(len(ATTRIBUTES.get(op, ())), arithmetic_type(src_type) if in_source_type else np.float64)


@cache
def _attribute_reader(count: int, scalar_type: Any) -> Any:
    def none(address):  # type: ignore[no-untyped-def]
        return ()

    def one(address):  # type: ignore[no-untyped-def]
        return (scalar_type(load_float64(address, 0)),)

    def two(address):  # type: ignore[no-untyped-def]
        return scalar_type(load_float64(address, 0)), scalar_type(load_float64(address, 1))

    return jit((none, one, two)[count])
