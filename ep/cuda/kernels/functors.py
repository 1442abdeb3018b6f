"""The functor of a key, compiled for CUDA, over packs and with the attributes that the op has."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ep.common.functor import functor_maker
from ep.cuda.arithmetic import arithmetic_type, attribute_type, storage_arithmetic
from ep.cuda.kernels.math_library import cuda_math_library
from ep.cuda.kernels.memory import loader, storer, value_reader
from ep.cuda.kernels.numba_cuda import device_function
from ep.include.data_type import DataType
from ep.include.number_kind import number_kind
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_table import attributes_of
from ep.include.primitive.unary_op import UnaryOp


def storage_type(op: UnaryOp | BinaryOp, data_type: DataType) -> DataType:
    """The data type whose kernels serve `op` on `data_type`.

    kChar is stored and computed as kInt8; a 16-bit number that is only moved is not converted.
    """
    if op is UnaryOp.kIdentity and data_type in (DataType.kFloat16, DataType.kBFloat16):
        return DataType.kUInt16
    return DataType.kInt8 if data_type is DataType.kChar else data_type


class PackFunctions(NamedTuple):
    """What an elementwise kernel is made of: device functions, in the type of arithmetic of its key.

    load, store: of packs, as in `memory`; load_one, store_one: of one element at an address of any alignment.
    apply, apply_one: the functor on the packs of its operands, followed by the tuple of attributes.
    read_attributes: the tuple of attributes, from two words.
    """

    load: Any
    store: Any
    load_one: Any
    store_one: Any
    apply: Any
    apply_one: Any
    read_attributes: Any


def pack_functions(op: UnaryOp | BinaryOp, src_type: DataType, dst_type: DataType, count: int) -> PackFunctions:
    """The functions of the kernel of `op` from `src_type` to `dst_type`, on packs of `count` elements."""
    kind = number_kind(src_type)
    scalar_type = arithmetic_type(op, src_type)
    functor = cuda_math_library(scalar_type).use(functor_maker(op, kind))
    if scalar_type is not storage_arithmetic(src_type):
        functor = _widened(functor)
    over_packs = _unary if isinstance(op, UnaryOp) else _binary
    return PackFunctions(
        loader(src_type, count),
        storer(dst_type, count),
        loader(src_type, 1, aligned=False),
        storer(dst_type, 1, aligned=False),
        over_packs(functor, count),
        over_packs(functor, 1),
        _attribute_reader(len(attributes_of(op)), attribute_type(op, src_type)),
    )


def _widened(functor: Any) -> Any:
    """A binary functor of float64, for operands that come as float32."""

    def f(a, b, *attributes):  # type: ignore[no-untyped-def]
        return functor(np.float64(a), np.float64(b), *attributes)

    return device_function(f)


def _unary(functor: Any, count: int) -> Any:
    """The functor on a pack, unrolled: a loop over a tuple would put it in local memory."""
    if count == 1:

        def one(pack, attributes):  # type: ignore[no-untyped-def]
            return (functor(pack[0], *attributes),)

        return device_function(one)
    half, rest = count // 2, _unary(functor, count // 2)

    def both(pack, attributes):  # type: ignore[no-untyped-def]
        return rest(pack[:half], attributes) + rest(pack[half:], attributes)

    return device_function(both)


def _binary(functor: Any, count: int) -> Any:
    if count == 1:

        def one(a, b, attributes):  # type: ignore[no-untyped-def]
            return (functor(a[0], b[0], *attributes),)

        return device_function(one)
    half, rest = count // 2, _binary(functor, count // 2)

    def both(a, b, attributes):  # type: ignore[no-untyped-def]
        return rest(a[:half], b[:half], attributes) + rest(a[half:], b[half:], attributes)

    return device_function(both)


@cache
def _attribute_reader(count: int, scalar_type: type[np.generic]) -> Any:
    read = value_reader(scalar_type)

    def none(word0, word1):  # type: ignore[no-untyped-def]
        return ()

    def one(word0, word1):  # type: ignore[no-untyped-def]
        return (read(word0, 0),)

    def two(word0, word1):  # type: ignore[no-untyped-def]
        return read(word0, 0), read(word1, 0)

    return device_function((none, one, two)[count])
