"""What a mapped kernel computes: a functor of any number of operands, compiled over packs of them."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ep.common.functor.lookup import first_op, functor_maker
from ep.common.functor.math_library import Maker
from ep.common.loops import unrolled, written_out
from ep.common.stored_types import stored_types
from ep.cuda.compile.arithmetic import COMPUTE_BOUND, arithmetic_type, attribute_type, storage_arithmetic
from ep.cuda.compile.math_library import cuda_math_library
from ep.cuda.compile.memory import value_reader
from ep.cuda.compile.numba_cuda import device_function
from ep.include.data_type import DataType
from ep.include.number_kind import number_kind
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_table import attributes_of
from ep.include.primitive.unary_op import UnaryOp


class Functor(NamedTuple):
    """A function of one element of each operand, and the types around it.

    name: what it computes, unique among functors of the same types and fit for a file name.
    maker: (MathLibrary) -> f(a, b, ..., *attributes), in the arithmetic of `scalar_type`.
    takes_packs: whether a thread computes a pack at a time; else, with much to compute, one element.
    """

    name: str
    maker: Maker
    src_types: tuple[DataType, ...]
    dst_type: DataType
    scalar_type: type[np.generic]
    num_attributes: int = 0
    attribute_type: type[np.generic] = np.float64
    takes_packs: bool = True


def functor_of(op: UnaryOp | BinaryOp, src_type: DataType, dst_type: DataType) -> Functor:
    """The functor of an op on operands of `src_type`."""
    op, (src_type, dst_type) = first_op(op, number_kind(src_type)), stored_types(op, src_type, dst_type)
    return Functor(
        op.name,
        functor_maker(op, number_kind(src_type)),
        (src_type,) * (1 if isinstance(op, UnaryOp) else 2),
        dst_type,
        arithmetic_type(op, src_type),
        len(attributes_of(op)),
        attribute_type(op, src_type),
        op not in COMPUTE_BOUND,
    )


def over_packs(functor: Functor, count: int) -> tuple[Any, Any]:
    """(packs, attributes) -> the pack of results; packs: one of `count` elements for each operand. The same of 1."""
    return _over_packs(functor, count), _over_packs(functor, 1)


@cache
def _over_packs(functor: Functor, count: int) -> Any:
    function, scalar_type = cuda_math_library(functor.scalar_type).use(functor.maker), functor.scalar_type
    loaded, num_attributes = tuple(map(storage_arithmetic, functor.src_types)), functor.num_attributes
    # whether floating types differ from the functor's
    differs = tuple(each is not scalar_type and issubclass(each, np.floating) for each in loaded)

    @written_out(device_function)
    def apply(packs, attributes):
        return tuple(
            function(
                *(scalar_type(packs[j][k]) if convert else packs[j][k] for j, convert in unrolled(enumerate(differs))),
                *(attributes[j] for j in unrolled(range(num_attributes))),
            )
            for k in unrolled(range(count))
        )

    return apply


@cache
def attribute_reader(count: int, scalar_type: type[np.generic]) -> Any:
    """(word, word) -> the tuple of `count` attributes."""
    read = value_reader(scalar_type)

    @written_out(device_function)
    def attributes(*words):
        return tuple(read(words[k], 0) for k in unrolled(range(count)))

    return attributes
