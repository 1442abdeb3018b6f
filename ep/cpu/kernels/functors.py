"""The functor of a key, compiled for the CPU, with the attributes that the op has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ep.common.functor import functor_maker
from ep.common.functor.math_library import MathLibrary
from ep.cpu.kernels.contraction import has_fused_multiply_add
from ep.cpu.kernels.jit import interleaved, jit
from ep.cpu.kernels.math_library import Precision, cpu_math_library, elementary_functions_of
from ep.cpu.kernels.memory import arithmetic_type, load_float64, loader, storer
from ep.cpu.kernels.ordinary import ORDINARY
from ep.cpu.kernels.sign_bits import on_bits
from ep.cpu.kernels.vector_math.beyond_limit import functions_of_any
from ep.cpu.kernels.vector_math.tables_trig_erf import LIMITS
from ep.include.data_type import DataType
from ep.include.number_kind import Kind, number_kind
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_table import attributes_of
from ep.include.primitive.unary_op import UnaryOp


def storage_type(data_type: DataType) -> DataType:
    """The data type whose kernels serve `data_type`: kChar is stored and computed as kInt8."""
    return DataType.kInt8 if data_type is DataType.kChar else data_type


class RowFunctions(NamedTuple):
    """What a row kernel is made of: compiled functions, in the type of arithmetic of its key.

    apply_any: where `apply` is not good for every element, the functor that is. Where `apply` is only good for
        |x| <= LIMIT, that functor is called for one element at a time.
    exceeds: the compiled function that says of a block whether `apply` is not good for it: (address, begin, end), and
        (src0, step0, src1, step1, begin, end) for a binary op; None where there is no `apply_any`.
    compile_loop: what compiles the function with the loop of `apply` over the elements.
    """

    load: Any
    apply: Any
    store: Any
    read_attributes: Any
    apply_any: Any
    exceeds: Any
    compile_loop: Any


def row_functions(op: UnaryOp | BinaryOp, src_type: DataType, dst_type: DataType, wide: bool = False) -> RowFunctions:
    """The functions of the row kernel of `op` from `src_type` to `dst_type`.

    Not all elementary functions are vectorised in float32. What calls one that is not is computed in float64 on
    narrower floating types too, and rounded to float32 where it would have been computed there.

    wide: without float32 arithmetic, for attributes that it is not fit for.
    """
    if function := on_bits(op, src_type, dst_type):
        bits, read_attributes = DataType.kUInt16, _attribute_reader(0, np.float64)
        return RowFunctions(loader(bits), jit(function), storer(bits), read_attributes, None, None, jit)
    kind = number_kind(src_type)
    maker, scalar_type = functor_maker(op, kind), arithmetic_type(src_type)
    names = elementary_functions_of(maker) if kind is Kind.FLOAT else frozenset()
    # a loop inside the functor is not vectorised: there libm's functions are as good
    libm = not names or op in LOOPS or not has_fused_multiply_add()
    single = scalar_type is np.float32 and op in IN_SINGLE and not (wide or libm)
    narrow = scalar_type is np.float32 and bool(names) and not single
    precision = Precision.LIBM if libm else Precision.NARROW if narrow else Precision.FULL
    if single:
        precision = Precision.SINGLE
    if names:
        library = cpu_math_library(np.float32 if single else np.float64, precision)
    else:
        library = cpu_math_library(scalar_type)
    attribute_type = library.T if kind is Kind.FLOAT else np.float64
    ordinary = ORDINARY.get((op, precision))
    load, apply, apply_any, exceeds = loader(src_type, narrow), library.use(maker), None, None
    if ordinary is not None:
        apply, apply_any = library.replaced(ordinary.functions).use(maker), apply
        exceeds = ordinary.exceeds(load, library.T)
    elif names & LIMITS.keys() and not libm and op not in WITHIN_LIMIT:
        apply_any, exceeds = _unlimited(library).use(maker), exceeds_limit(load)
    return RowFunctions(
        load,
        apply,
        storer(dst_type, narrow),
        _attribute_reader(len(attributes_of(op)), attribute_type),
        apply_any,
        exceeds,
        interleaved if names and not libm else jit,
    )


IN_SINGLE = frozenset(
    (
        *(UnaryOp.kLog, UnaryOp.kLog2, UnaryOp.kLog10, UnaryOp.kLog1p),
        *(UnaryOp.kErf, UnaryOp.kErfc, UnaryOp.kGelu),
        UnaryOp.kRsqrt,
        *(UnaryOp.kAsin, UnaryOp.kAcos, UnaryOp.kAtan, UnaryOp.kAsinh, UnaryOp.kAcosh, UnaryOp.kAtanh),
        *(UnaryOp.kExp, UnaryOp.kExp2, UnaryOp.kExpm1, UnaryOp.kTanh, UnaryOp.kSigmoid),
        *(UnaryOp.kLogSigmoid, UnaryOp.kSoftPlus),
        *(UnaryOp.kSin, UnaryOp.kCos, UnaryOp.kTan),
        *(UnaryOp.kSinh, UnaryOp.kCosh),
        *(UnaryOp.kSilu, UnaryOp.kQuickGelu, UnaryOp.kFastGelu, UnaryOp.kMish),
        *(UnaryOp.kElu, UnaryOp.kSelu, UnaryOp.kCelu),
        BinaryOp.kPow,
    )
)
"""The ops of elementary functions that are right to a few ulps when all of it is done in float32 arithmetic."""

_BETAS = 1e-20, 1e20
_THRESHOLDS = 1e-20, 1e38  # so that beta x does not vanish, nor the threshold become infinite


def need_float64(op: UnaryOp, attributes: Sequence[float]) -> bool:
    """Whether float32 arithmetic is not fit for these attributes of an op in IN_SINGLE: those of another magnitude."""
    if op is not UnaryOp.kSoftPlus:
        return False
    beta, threshold = attributes
    fits = _THRESHOLDS[0] <= abs(threshold) <= _THRESHOLDS[1] or threshold == inf
    return not (_BETAS[0] <= abs(beta) <= _BETAS[1] and fits)


WITHIN_LIMIT = {UnaryOp.kSin: "sin", UnaryOp.kCos: "cos", UnaryOp.kTan: "tan"}
"""The unary ops whose vectorised functions have a limit: `beyond_limit` has them for the arguments beyond it."""

LOOPS = frozenset((BinaryOp.kZeta,))
"""The ops whose functors have a loop of their own."""


@cache
def _unlimited(library: MathLibrary) -> MathLibrary:
    """The same library with functions that are good beyond their limits, and give the same bits within."""
    of_any = functions_of_any()
    return library.replaced(
        {name: _beyond(getattr(library, name), of_any[name], limit) for name, limit in LIMITS.items()}
    )


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
