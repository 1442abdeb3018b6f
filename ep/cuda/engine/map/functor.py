"""What a mapped kernel computes: a functor of any number of operands, compiled over packs of them."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ep.common.functor.lookup import first_op, functor_maker
from ep.common.functor.math_library import Maker
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
    """(packs, attributes) -> the pack of results; packs: one of `count` elements for each operand. The same of 1.

    Unrolled: a loop over a tuple would put it in local memory.
    """
    function = cuda_math_library(functor.scalar_type).use(functor.maker)
    converted = _converted(tuple(map(storage_arithmetic, functor.src_types)), functor.scalar_type)
    one = device_function(lambda packs, attributes: (function(*(converted(packs) + attributes)),))
    return _unrolled(one, len(functor.src_types), count), one


def _unrolled(one: Any, num_operands: int, count: int) -> Any:
    if count == 1:
        return one
    half, rest = count // 2, _unrolled(one, num_operands, count // 2)
    lower, upper = _halves(num_operands, half)
    return device_function(lambda packs, attributes: rest(lower(packs), attributes) + rest(upper(packs), attributes))


@cache
def _halves(num_operands: int, half: int) -> tuple[Any, Any]:
    """The lower and the upper halves of the operands' packs."""
    if num_operands == 1:
        return device_function(lambda packs: (packs[0][:half],)), device_function(lambda packs: (packs[0][half:],))
    if num_operands == 2:
        return (
            device_function(lambda packs: (packs[0][:half], packs[1][:half])),
            device_function(lambda packs: (packs[0][half:], packs[1][half:])),
        )
    (lower, upper), (lower_rest, upper_rest) = _halves(2, half), _halves(num_operands - 2, half)
    return (
        device_function(lambda packs: lower(packs) + lower_rest(packs[2:])),
        device_function(lambda packs: upper(packs) + upper_rest(packs[2:])),
    )


@cache
def _converted(loaded: tuple[type[np.generic], ...], scalar_type: type[np.generic]) -> Any:
    """The first elements of the operands' packs, as `scalar_type` where floating types differ from it."""
    is_it = [each is scalar_type or not issubclass(each, np.floating) for each in loaded]
    if is_it == [True]:
        return device_function(lambda packs: (packs[0][0],))
    if is_it == [False]:
        return device_function(lambda packs: (scalar_type(packs[0][0]),))
    if is_it == [True, True]:
        return device_function(lambda packs: (packs[0][0], packs[1][0]))
    if is_it == [False, False]:
        return device_function(lambda packs: (scalar_type(packs[0][0]), scalar_type(packs[1][0])))
    taken = min(len(loaded) - 1, 2)
    lower, upper = _converted(loaded[:taken], scalar_type), _converted(loaded[taken:], scalar_type)
    return device_function(lambda packs: lower(packs) + upper(packs[taken:]))


@cache
def attribute_reader(count: int, scalar_type: type[np.generic]) -> Any:
    """(word, word) -> the tuple of `count` attributes."""
    read = value_reader(scalar_type)

    def none(word0, word1):
        return ()

    def one(word0, word1):
        return (read(word0, 0),)

    def two(word0, word1):
        return read(word0, 0), read(word1, 0)

    return device_function((none, one, two)[count])
