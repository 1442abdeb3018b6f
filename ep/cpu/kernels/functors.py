"""The row kernels of ops: the functor of a key, compiled for the CPU, with the op's attributes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ep.common.functor.lookup import first_op, functor_maker
from ep.common.functor.math_library import Maker, MathLibrary, Scalar
from ep.common.stored_types import stored_types, unit_of
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import arithmetic_type, loader
from ep.cpu.engine.map.inner_loop import RowFunctions, row_kernel
from ep.cpu.kernels.math_library import Precision, cpu_math_library, elementary_functions_of
from ep.cpu.kernels.ordinary import ElementCheck, of_second, ordinary_form
from ep.cpu.kernels.sign_bits import on_bits
from ep.cpu.vector_math.lookup import has_register_tables
from ep.cpu.vector_math.sets.beyond_buffer import WHICH
from ep.cpu.vector_math.sets.names import FLOAT32, LIMITED
from ep.include.data_type import DataType, as_data_type
from ep.include.number_kind import Kind, number_kind
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_definition import Cost
from ep.include.primitive.op_table import OPS, attributes_of
from ep.include.primitive.unary_op import UnaryOp


def op_kernel(
    op: UnaryOp | BinaryOp,
    src_type: DataType,
    dst_type: DataType,
    attributes: Sequence[float] = (),
    streaming: bool = False,
) -> int:
    """Return the address of the row kernel of `op`; see `row_kernel`, also for `streaming`.

    attributes: they only determine the arithmetic here; the kernel reads their values from the launch state.
    """
    wide = isinstance(op, UnaryOp) and len(attributes) > 0 and need_float64(op, attributes)
    first = first_op(op, number_kind(src_type))
    return _op_kernel(first, *stored_types(op, src_type, dst_type), wide, streaming)


@cache
def _op_kernel(op: UnaryOp | BinaryOp, src_type: DataType, dst_type: DataType, wide: bool, streaming: bool) -> int:
    primitive = "elementwise_unary" if isinstance(op, UnaryOp) else "broadcast_elementwise_binary"
    name = f"{primitive}.{op.name}.{src_type.name}.{dst_type.name}" + ".wide" * wide
    return row_kernel(name, row_functions(op, src_type, dst_type, wide), streaming)


def is_light(op: UnaryOp | BinaryOp, src_type: DataType) -> bool:
    """Return whether a launch of `op` on many elements is bound by memory alone."""
    cost, kind = OPS[op].cost, number_kind(src_type)
    return op not in LOOPS and (cost is Cost.LIGHT or (cost is Cost.DIVISION and kind is Kind.FLOAT))


def row_functions(op: UnaryOp | BinaryOp, src_type: DataType, dst_type: DataType, wide: bool = False) -> RowFunctions:
    """Return the functions of the row kernel of `op` from `src_type` to `dst_type`.

    Not all elementary functions are vectorised in float32. An op that calls a function without a vectorised float32
    form is computed in float64, on narrower floating types too; its result is rounded to float32 if it would have been
    computed in float32.
    wide: whether to avoid float32 arithmetic, for attributes that it is not suited to.
    """
    if function := on_bits(op, src_type, dst_type):
        bits = unit_of(src_type)
        return RowFunctions((bits,), bits, jit(function), light=True)
    maker, library, names, libm, precision, widened, attribute_type = _arithmetic(op, src_type, wide)
    ordinary = ordinary_form(op, precision)
    load, apply, apply_any, exceeds = loader(src_type, widened), library.use(maker), None, None
    unary = isinstance(op, UnaryOp)
    interleaved = bool(names) and not libm
    if ordinary is not None:
        apply, apply_any = library.replaced(ordinary.functions).use(maker), apply
        exceeds, interleaved = ordinary.exceeds(load, library.T), True
    elif names & LIMITED and not libm and op not in WITHIN_LIMIT:
        apply_any, exceeds = unlimited(library).use(maker), exceeds_limit(load, _limit(library))
        exceeds = exceeds if unary else of_second(exceeds)
    beyond = None
    if unary and op in WITHIN_LIMIT and src_type is not DataType.kFloat16:
        from ep.cpu.vector_math.sets.beyond_limit import beyond_limit  # few kernels need it

        beyond = WHICH[WITHIN_LIMIT[op]], *beyond_limit(src_type)
    return RowFunctions(
        (src_type,) * len(OPS[op].operands),
        dst_type,
        apply,
        widened,
        (as_data_type(attribute_type),) * len(attributes_of(op)),
        apply_any,
        exceeds,
        interleaved,
        beyond,
        is_light(op, src_type),
    )


class _Arithmetic(NamedTuple):
    """The arithmetic of an op on a type.

    names: the elementary functions that are not single instructions. libm: whether they are libm's. widened: whether
    float32 and narrower numbers are computed in float64.
    """

    maker: Maker
    library: MathLibrary
    names: frozenset[str]
    libm: bool
    precision: Precision
    widened: bool
    attribute_type: Any


def _arithmetic(op: UnaryOp | BinaryOp, src_type: DataType, wide: bool) -> _Arithmetic:
    kind = number_kind(src_type)
    maker, scalar_type = functor_maker(op, kind), arithmetic_type(src_type)
    names = elementary_functions_of(maker) if kind is Kind.FLOAT else frozenset()
    # a loop inside the functor is not vectorised: libm's functions are as good there
    libm = not names or op in LOOPS
    single = kind is Kind.FLOAT and is_single(op, src_type) and not wide
    widened = scalar_type is np.float32 and bool(names) and not single
    precision = Precision.LIBM if libm else Precision.SINGLE if single else Precision.FULL
    if names:
        library = cpu_math_library(np.float32 if single else np.float64, precision)
    else:
        library = cpu_math_library(scalar_type)
    attribute_type = library.T if kind is Kind.FLOAT else np.float64
    return _Arithmetic(maker, library, names, libm, precision, widened, attribute_type)


class ElementFunction(NamedTuple):
    """An op as a compiled function, valid for all elements, with the same bits as its row kernel.

    widened: whether it takes and returns float64 numbers in place of float32.
    attributes: the arguments after the elements, in their type.
    vectorised: whether it is a long dependency chain, as elementary functions are.
    ordinary: a faster function with the same bits, valid for elements that pass `check`; None if there is none.
    """

    apply: Any
    widened: bool
    attributes: tuple[Any, ...]
    vectorised: bool
    ordinary: Any = None
    check: ElementCheck | None = None


@cache
def element_function(op: UnaryOp | BinaryOp, src_type: DataType, attributes: tuple[float, ...]) -> ElementFunction:
    """Return the function of `op` on elements of `src_type`, for calls from a loop over several ops."""
    wide = isinstance(op, UnaryOp) and len(attributes) > 0 and need_float64(op, attributes)
    how = _arithmetic(op, src_type, wide)
    limited = how.names & LIMITED and not how.libm
    library = unlimited(how.library, op in WITHIN_LIMIT) if limited else how.library
    values = tuple(how.attribute_type(value) for value in attributes)
    found = ElementFunction(library.use(how.maker), how.widened, values, bool(how.names) and not how.libm)
    ordinary = ordinary_form(op, how.precision)
    if ordinary is None or ordinary.check is None:
        return found
    functor = library.replaced(ordinary.functions).use(how.maker)
    return found._replace(ordinary=functor, check=ordinary.check(library.T))


IN_DOUBLE = frozenset(
    (
        *(BinaryOp.kGeluBackwardWithDyX, BinaryOp.kFastGeluBackwardWithDyX, BinaryOp.kQuickGeluBackwardWithDyX),
        *(BinaryOp.kSiluBackwardWithDyX, BinaryOp.kMishBackwardWithDyX),
    )
)
"""Ops with a difference of terms that float32 arithmetic would cancel completely near its zero.

Pieces in register tables do not cancel; processors without such tables compute these ops in float64.
"""


def is_single(op: UnaryOp | BinaryOp, src_type: DataType) -> bool:
    """Return whether the elementary functions of `op` are computed in float32: all of them exist in that type."""
    if arithmetic_type(src_type) is not np.float32 or op in LOOPS or (op in IN_DOUBLE and not has_register_tables()):
        return False
    names = elementary_functions_of(functor_maker(op, Kind.FLOAT))
    return bool(names) and names <= FLOAT32.keys()


_BETAS = 1e-20, 1e20
_THRESHOLDS = 1e-20, 1e38  # limits at which beta x does not vanish and the threshold stays finite


def need_float64(op: UnaryOp, attributes: Sequence[float]) -> bool:
    """Return whether float32 arithmetic is unsuited to these attributes of a float32 op, because of their magnitude.

    A kernel for all attributes would need float64, which takes 4 times as long: 2.8 ns per element, compared with 0.67
    ns in float32 (Zen 4).
    """
    if op is not UnaryOp.kSoftPlus:
        return False
    beta, threshold = attributes
    fits = _THRESHOLDS[0] <= abs(threshold) <= _THRESHOLDS[1] or threshold == inf
    return not (_BETAS[0] <= abs(beta) <= _BETAS[1] and fits)


WITHIN_LIMIT = {UnaryOp.kSin: "sin", UnaryOp.kCos: "cos", UnaryOp.kTan: "tan"}
"""The unary ops whose vectorised functions have a limit: `beyond_limit` serves the arguments beyond it."""

LOOPS = frozenset((BinaryOp.kZeta,))
"""The ops whose functors have a loop of their own."""


@cache
def unlimited(library: MathLibrary, alone: bool = False) -> MathLibrary:
    """Return the same library with functions that are valid beyond their limits, and have the same bits within them.

    alone: for a function of WITHIN_LIMIT, with the results of `beyond_limit`.
    """
    from ep.cpu.vector_math.sets.beyond_limit import functions_of_any, single_functions_of_any  # few kernels need them

    in_single = alone and library.T is np.float32
    of_any = single_functions_of_any() if in_single else functions_of_any()
    limit, scalar_type = _limit(library), library.T

    def beyond(function: Any, function_of_any: Any) -> Any:
        @jit
        def either(x: Scalar) -> Scalar:
            return function(x) if abs(x) <= limit else scalar_type(function_of_any(np.float64(x)))

        return either

    return library.replaced({name: beyond(getattr(library, name), of_any[name]) for name in LIMITED})


def _limit(library: MathLibrary) -> Any:
    """Return the largest magnitude for which the functions of LIMITED are valid in the library's arithmetic."""
    from ep.cpu.vector_math.single.trigonometric import LIMIT as SINGLE_LIMIT  # few kernels need them
    from ep.cpu.vector_math.trigonometric import LIMIT

    return library.T(SINGLE_LIMIT if library.T is np.float32 else LIMIT)


def exceeds_limit(load: Any, limit: Any) -> Any:
    """Return a compiled function (address, begin, end): whether the magnitude of an element exceeds `limit`."""

    def exceeds(address: int, begin: int, end: int) -> int:
        found = False
        for i in range(begin, end):
            found |= abs(load(address, i)) > limit
        return found

    return jit(exceeds)
