"""The computation of a mapped kernel: a functor of any number of operands, compiled over packs of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import groupby
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.functor.lookup import first_op, functor_maker
from ep.common.functor.math_library import Maker, ScalarType
from ep.common.loops import unrolled, written_out
from ep.common.source import digest_of
from ep.common.stored_types import stored_types
from ep.cuda.compile.arithmetic import (
    COMPUTE_BOUND,
    NARROW,
    arithmetic_type,
    attribute_type,
    storage_arithmetic,
)
from ep.cuda.compile.math_library import cuda_math_library
from ep.cuda.compile.memory import value_reader
from ep.cuda.compile.numba_cuda import device_function
from ep.cuda.engine.map.access import Variant
from ep.include.data_type import DataType
from ep.include.number_kind import number_kind
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_table import OPS, attributes_of
from ep.include.primitive.unary_op import UnaryOp

_PAIRED: Final = 4
"""The number of operands and results of which a thread can have two packs each in flight with its registers."""


class Functor(NamedTuple):
    """A function of one element of each operand, and the types around it.

    name: describes the computation; unique among functors of the same types, and valid in a file name.
    function: compiled: (the loaded elements, then the attributes) -> a tuple with an element of each result.
    takes_packs: whether a thread computes a pack at a time; if computing takes long, it computes one element.
    is_short: whether it is one op or little more: a kernel may have two packs in flight, with a second copy of the
    code.
    """

    name: str
    function: Any
    src_types: tuple[DataType, ...]
    dst_types: tuple[DataType, ...]
    num_attributes: int = 0
    attribute_type: ScalarType = np.float64
    takes_packs: bool = True
    is_short: bool = True

    @property
    def takes_pairs(self) -> bool:
        """Whether a thread may have two packs of each operand and result in flight."""
        return self.is_short and len(self.src_types) + len(self.dst_types) <= _PAIRED


def kernel_name(functor: Functor, variant: Variant) -> str:
    """Return a unique name of a functor in a variant, valid in a file name."""
    elements, accesses, num_axes, bits, written, places, chosen = variant
    types = _in_short(data_type.name for data_type in (*functor.src_types, *functor.dst_types))
    ways, ends = _in_short(access.name for access in accesses), _in_short(access.name for access in written)
    shared = f".{_in_short(map(str, places))}" if places else ""
    shared += f".of.{_in_short(map(str, chosen))}" if chosen else ""
    return f"{functor.name}.{types}.{elements}.{ways}.{num_axes}.{bits}.{ends}{shared}"


_LONGEST: Final = 50  # of a part of a name: a file's has 255 letters at most


def _in_short(names: Iterable[str]) -> str:
    """Return the names joined by dots, with a count for repeated ones; a digest if there are many."""
    runs = ((name, len(tuple(run))) for name, run in groupby(names))
    text = ".".join(name if length == 1 else f"{name}-{length}" for name, length in runs)
    return text if len(text) <= _LONGEST else digest_of(text)


def functor_of(op: UnaryOp | BinaryOp, src_type: DataType, dst_type: DataType) -> Functor:
    """Return the functor of an op on operands of `src_type`."""
    op, (src_type, dst_type) = first_op(op, number_kind(src_type)), stored_types(op, src_type, dst_type)
    src_types, num_attributes = (src_type,) * len(OPS[op].operands), len(attributes_of(op))
    return Functor(
        op.name,
        _with_one_result(op_function(op, src_type), len(src_types) + num_attributes),
        src_types,
        (dst_type,),
        num_attributes,
        attribute_type(op, src_type),
        op not in COMPUTE_BOUND,
    )


def made_functor(
    name: str, maker: Maker, src_types: tuple[DataType, ...], dst_type: DataType, scalar_type: ScalarType
) -> Functor:
    """Return the functor of `maker`, in the arithmetic of `scalar_type`; name: that of the Functor."""
    function = _with_one_result(_on_loaded(maker, src_types, scalar_type, 0), len(src_types))
    return Functor(name, function, src_types, (dst_type,))


@cache
def op_function(op: UnaryOp | BinaryOp, src_type: DataType) -> Any:
    """(elements as they are loaded, attributes) -> the result, in the type of arithmetic of an op on `src_type`."""
    maker, src_types = functor_maker(op, number_kind(src_type)), (src_type,) * len(OPS[op].operands)
    return _on_loaded(maker, src_types, arithmetic_type(op, src_type), len(attributes_of(op)))


@cache
def _on_loaded(maker: Maker, src_types: tuple[DataType, ...], scalar_type: ScalarType, num_attributes: int) -> Any:
    """Return the function of `maker` in the arithmetic of `scalar_type`, applied to loaded elements."""
    is_narrow = scalar_type is np.float32 and all(src_type in NARROW for src_type in src_types)
    function = cuda_math_library(scalar_type, is_narrow).use(maker)
    loaded, num_elements = tuple(map(storage_arithmetic, src_types)), len(src_types)
    # whether floating types differ from the functor's
    differs = tuple(each is not scalar_type and issubclass(each, np.floating) for each in loaded)
    if True not in differs:
        return function

    @written_out(device_function)
    def on_loaded(*given: Any) -> Any:
        return function(
            *(scalar_type(given[j]) if convert else given[j] for j, convert in unrolled(enumerate(differs))),
            *(given[num_elements + j] for j in unrolled(range(num_attributes))),
        )

    return on_loaded


@cache
def _with_one_result(function: Any, num_arguments: int) -> Any:
    @written_out(device_function)
    def with_one_result(*given: Any) -> Any:
        return (function(*(given[j] for j in unrolled(range(num_arguments)))),)

    return with_one_result


def over_packs(functor: Functor, count: int) -> tuple[Any, Any]:
    """(packs, attributes) -> a pack of each result; packs: one of `count` elements for each operand. The same of 1."""
    return _over_packs(functor, count), _over_packs(functor, 1)


@cache
def _over_packs(functor: Functor, count: int) -> Any:
    function, num_attributes = functor.function, functor.num_attributes
    num_operands, num_results = len(functor.src_types), len(functor.dst_types)

    @written_out(device_function)
    def apply(packs: Any, attributes: Any) -> Any:
        elements = tuple(
            function(
                *(packs[j][k] for j in unrolled(range(num_operands))),
                *(attributes[j] for j in unrolled(range(num_attributes))),
            )
            for k in unrolled(range(count))
        )
        return tuple(tuple(elements[k][j] for k in unrolled(range(count))) for j in unrolled(range(num_results)))

    return apply


@cache
def attribute_reader(count: int, scalar_type: ScalarType) -> Any:
    """(word, word) -> the tuple of `count` attributes."""
    read = value_reader(scalar_type)

    @written_out(device_function)
    def attributes(*words: Any) -> Any:
        return tuple(read(words[k], 0) for k in unrolled(range(count)))

    return attributes
