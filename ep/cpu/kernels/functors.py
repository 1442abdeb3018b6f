"""The functor of a key, compiled for the CPU, with the attributes that the op has."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ep.common.functor import functor_maker
from ep.common.functor.math_library import MathLibrary
from ep.common.functor.table import Kind
from ep.common.number_kind import number_kind
from ep.cpu.kernels.jit import interleaved, jit
from ep.cpu.kernels.math_library import Precision, cpu_math_library, elementary_functions_of
from ep.cpu.kernels.memory import arithmetic_type, load_float64, loader, storer
from ep.cpu.kernels.vector_math import narrow as narrow_power
from ep.cpu.kernels.vector_math import power
from ep.cpu.kernels.vector_math.bits import both
from ep.cpu.kernels.vector_math.inlined import has_fused_multiply_add
from ep.cpu.kernels.vector_math.tables_gamma import GAMMA_OF_POSITIVE, GAMMA_OF_POSITIVE_NARROW
from ep.cpu.kernels.vector_math.tables_trig_erf import ANY, LIMITS
from ep.include.data_type import DataType
from ep.include.primitive.attributes import ATTRIBUTES
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.unary_op import UnaryOp


def storage_type(data_type: DataType) -> DataType:
    """The data type whose kernels serve `data_type`: kChar is stored and computed as kInt8."""
    return DataType.kInt8 if data_type is DataType.kChar else data_type


BLOCK = 1024
"""Elements that are looked at together for one beyond the limit of a vectorised function."""


class RowFunctions(NamedTuple):
    """What a row kernel is made of: compiled functions, in the type of arithmetic of its key.

    apply_any: where `apply` is only good for |x| <= LIMIT, the functor that is good for every x, one at a time. For
        ops in ON_POSITIVE, where `apply` is only good for finite x > 0 (of kPow for such bases, and exponents that are
        not NaN), the one for all.
    compile_loop: what compiles the function with the loop over the elements.
    """

    load: Any
    apply: Any
    store: Any
    read_attributes: Any
    apply_any: Any
    compile_loop: Any


def row_functions(op: UnaryOp | BinaryOp, src_type: DataType, dst_type: DataType) -> RowFunctions:
    """The functions of the row kernel of `op` from `src_type` to `dst_type`.

    Not all elementary functions are vectorised in float32. What calls one that is not is computed in float64 on
    narrower floating types too, and rounded to float32 where it would have been computed there.
    """
    kind = number_kind(src_type)
    maker, scalar_type = functor_maker(op, kind), arithmetic_type(src_type)
    names = elementary_functions_of(maker) if kind is Kind.FLOAT else frozenset()
    # a loop inside the functor is not vectorised: there libm's functions are as good
    libm = not names or op in LOOPS or not has_fused_multiply_add()
    single = scalar_type is np.float32 and op in IN_SINGLE and not libm
    narrow = scalar_type is np.float32 and bool(names) and not single
    if single:
        library = cpu_math_library(np.float32, Precision.SINGLE)
    elif names:
        precision = Precision.LIBM if libm else Precision.NARROW if narrow else Precision.FULL
        library = cpu_math_library(np.float64, precision)
    else:
        library = cpu_math_library(scalar_type)
    ordinary = library
    if op in ON_POSITIVE and names and not libm:
        name = ON_POSITIVE[op]
        ordinary = library.replaced({name: (_OF_POSITIVE_NARROW if narrow else _OF_POSITIVE)[name]})
    attribute_type = library.T if kind is Kind.FLOAT else np.float64
    return RowFunctions(
        loader(src_type, narrow),
        ordinary.use(maker),
        storer(dst_type, narrow),
        _attribute_reader(len(ATTRIBUTES.get(op, ())), attribute_type),
        _apply_any(library, ordinary, names, maker) if not libm else None,
        interleaved if names and not libm else jit,
    )


def _apply_any(library: MathLibrary, ordinary: MathLibrary, names: frozenset[str], maker: Any) -> Any:
    if ordinary is not library:
        return library.use(maker)
    return _unlimited(library).use(maker) if names & LIMITS.keys() else None


_INF = float("inf")

IN_SINGLE = frozenset(
    (
        *(UnaryOp.kLog, UnaryOp.kLog2, UnaryOp.kLog10, UnaryOp.kLog1p),
        *(UnaryOp.kErf, UnaryOp.kGelu),
        *(UnaryOp.kExp, UnaryOp.kExp2, UnaryOp.kExpm1, UnaryOp.kTanh, UnaryOp.kSigmoid),
        UnaryOp.kLogSigmoid,
        *(UnaryOp.kSilu, UnaryOp.kQuickGelu, UnaryOp.kFastGelu, UnaryOp.kMish),
        *(UnaryOp.kElu, UnaryOp.kSelu, UnaryOp.kCelu),
    )
)
"""The ops of elementary functions that are right to a few ulps when all of it is done in float32 arithmetic."""

LOOPS = frozenset((BinaryOp.kZeta,))

ON_POSITIVE: dict[UnaryOp | BinaryOp, str] = {
    BinaryOp.kPow: "pow",
    UnaryOp.kLgamma: "lgamma",
    UnaryOp.kDigamma: "digamma",
    UnaryOp.kTrigamma: "trigamma",
}
"""The ops with a shorter form for finite x > 0, by their one function."""

_OF_POSITIVE = {"pow": power.pow_of_positive, **GAMMA_OF_POSITIVE}
_OF_POSITIVE_NARROW = {"pow": narrow_power.pow_of_positive, **GAMMA_OF_POSITIVE_NARROW}


@cache
def _unlimited(library: MathLibrary) -> MathLibrary:
    """The same library with functions that are good beyond their limits, and give the same bits within."""
    return library.replaced({name: _beyond(getattr(library, name), ANY[name], limit) for name, limit in LIMITS.items()})


def _beyond(function: Any, function_of_any: Any, limit: float) -> Any:
    @jit
    def either(x):  # type: ignore[no-untyped-def]
        return function(x) if abs(x) <= limit else function_of_any(x)

    return either


@cache
def _attribute_reader(count: int, scalar_type: Any) -> Any:
    def none(address):  # type: ignore[no-untyped-def]
        return ()

    def one(address):  # type: ignore[no-untyped-def]
        return (scalar_type(load_float64(address, 0)),)

    def two(address):  # type: ignore[no-untyped-def]
        return scalar_type(load_float64(address, 0)), scalar_type(load_float64(address, 1))

    return jit((none, one, two)[count])


def exceeds_limit(load: Any) -> Any:
    """A compiled function (address, begin, end): whether an element is beyond the limit of the vectorised functions."""
    limit = max(LIMITS.values())

    def exceeds(address, begin, end):  # type: ignore[no-untyped-def]
        found = False
        for i in range(begin, end):
            found |= abs(load(address, i)) > limit
        return found

    return jit(exceeds)


def is_not_positive(load: Any) -> Any:
    """A compiled function (address, begin, end): whether an element is not positive and finite."""

    def exceeds(address, begin, end):  # type: ignore[no-untyped-def]
        found = False
        for i in range(begin, end):
            x = load(address, i)
            found |= not both(x > 0.0, x < _INF)
        return found

    return jit(exceeds)


def is_nan(load: Any) -> Any:
    """A compiled function (address, begin, end): whether an element is NaN."""

    def exceeds(address, begin, end):  # type: ignore[no-untyped-def]
        found = False
        for i in range(begin, end):
            y = load(address, i)
            found |= y != y
        return found

    return jit(exceeds)
