"""Blocks of ordinary elements, for which some functions have a shorter form.

If every element of a block is ordinary, zeros, infinities, NaN, subnormal numbers and results that overflow need no
special treatment. A block is checked in a few instructions, on the bits of its elements as integers. The shorter
functions give the same bits as those for all elements.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.functor.math_library import Scalar
from ep.cpu.compile.jit import jit
from ep.cpu.kernels.math_library import Precision
from ep.cpu.vector_math.bits import from_bits, select, to_bits
from ep.cpu.vector_math.sets.names import FLOAT32, FLOAT64, Forms, named
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.unary_op import UnaryOp


class ElementCheck(NamedTuple):
    """A check for elements that are not ordinary.

    key: the compiled function of an element that returns a signed integer of the same width.
    limit: the least key of an element that is not ordinary.
    """

    key: Any
    limit: Any

    @property
    def least(self) -> Any:
        """The least possible key."""
        return type(self.limit)(np.iinfo(type(self.limit)).min)


class Ordinary(NamedTuple):
    """The functions of an op for ordinary elements.

    functions: the elementary functions that replace those for all elements, by name.
    exceeds: (load, arithmetic type) returns the compiled function (address, begin, end), or (src0, step0, src1, step1,
        begin, end) for a binary op, that returns whether an element is not ordinary.
    check: the same for one element, that of the last operand, by the arithmetic type; None if a single element does not
        determine this.
    """

    functions: Mapping[str, Any]
    exceeds: Callable[[Any, type[np.floating]], Any]
    check: Callable[[type[np.floating]], ElementCheck] | None = None


def _bits(x: float | np.floating, real_type: type[np.floating]) -> Any:
    """Return the bits of `x` as a signed integer of the width of `real_type`."""
    return real_type(x).view(np.int32 if real_type is np.float32 else np.int64)


@jit
def maximum(a: Scalar, b: Scalar) -> Scalar:
    return select(a > b, a, b)


@jit
def _minimum(a: Scalar, b: Scalar) -> Scalar:
    return select(a < b, a, b)


def _normal(real_type: type[np.floating]) -> ElementCheck:
    """Return the check that elements are normal and positive."""
    least, infinity = (_bits(x, real_type) for x in (np.finfo(real_type).tiny, np.inf))
    integer = type(least)
    unsigned = np.uint32 if integer is np.int32 else np.uint64  # a sum of signed integers must not overflow
    offset = unsigned(int(np.iinfo(integer).max) + 1 - int(least))  # so that the least normal number has the least key

    @jit
    def key(x: Scalar) -> Scalar:
        return integer(unsigned(unsigned(to_bits(x)) + offset))

    return ElementCheck(key, integer(infinity + np.iinfo(integer).min - int(least)))


def _within(limit: float) -> Callable[[type[np.floating]], ElementCheck]:
    """Return the check that the magnitude of elements is at most `limit`."""

    def check(real_type: type[np.floating]) -> ElementCheck:
        limit_bits = _bits(limit, real_type)
        integer = type(limit_bits)
        magnitude_bits = integer(np.iinfo(integer).max)

        @jit
        def key(x: Scalar) -> Scalar:
            return integer(to_bits(x) & magnitude_bits)

        return ElementCheck(key, integer(limit_bits + 1))

    return check


def _of_block(check: Callable[[type[np.floating]], ElementCheck]) -> Callable[[Any, type[np.floating]], Any]:
    """Return the function `Ordinary.exceeds` for a check of one element."""

    def exceeds_of(load: Any, real_type: type[np.floating]) -> Any:
        one = check(real_type)
        key, limit, least = one.key, one.limit, one.least

        def exceeds(address: int, begin: int, end: int) -> bool:
            most = least
            for i in range(begin, end):
                most = maximum(most, key(load(address, i)))
            return bool(most >= limit)

        return jit(exceeds)

    return exceeds_of


def of_second(exceeds: Callable[[int, int, int], bool]) -> Any:
    """Return a check of two operands that tests only the second one, for an op that calls its functions on that one."""

    @jit
    def exceeds_in_second(src0: int, step0: int, src1: int, step1: int, begin: int, end: int) -> bool:
        everywhere = step1 | (step0 == step1)  # also if both steps are 0, for one element
        return exceeds(src1, begin, end) if everywhere else exceeds(src1, 0, 1)

    return exceeds_in_second


def _is_no_power(load: Any, real_type: type[np.floating]) -> Any:
    """Return the check whether a base is not normal and positive, or a power might not be a normal number."""
    info = np.finfo(real_type)
    normal, one, infinity = (_bits(x, real_type) for x in (info.tiny, 1.0, np.inf))
    integer = type(one)
    least_integer, magnitude_bits = integer(np.iinfo(integer).min), integer(np.iinfo(integer).max)
    limit, scale, more = real_type(info.maxexp - 2), real_type(2.0**-info.nmant), real_type(0.0862)
    real_one = real_type(one)

    def exceeds(src0: int, step0: int, src1: int, step1: int, begin: int, end: int) -> bool:
        same = step0 == step1  # also if both steps are 0, for one element
        least, most, magnitude = magnitude_bits, least_integer, integer(0)
        for i in range(begin if step0 | same else 0, end if step0 | same else 1):
            bits = to_bits(load(src0, i))
            least, most = _minimum(least, bits), maximum(most, bits)
        for i in range(begin if step1 | same else 0, end if step1 | same else 1):
            magnitude = maximum(magnitude, integer(to_bits(load(src1, i)) & magnitude_bits))
        if least < normal or most >= infinity:
            return True
        # log2 x exceeds the sum of exponent and mantissa by up to 0.0861
        logarithm = maximum(real_type(most) - real_one, real_one - real_type(least)) * scale + more
        return not logarithm * from_bits(magnitude) < limit

    return jit(exceeds)


_LIMITS: Final = {
    "exp2": "single.exponential.EXP2_LIMIT",
    "erfc": "single.erfc_pieces.ERFC_LIMIT",
    "asinh": "single.odd_pieces.ASINH_LIMIT",
    "gelu": "single.gate_pieces.GELU_LIMIT",
    "fast_gelu": "single.gate_pieces.GELU_LIMIT",
    "mish": "single.gate_pieces.MISH_LIMIT",
    "logsigmoid": "single.gate_pieces.LOG_SIGMOID_LIMIT",
    "gelu_backward": "single.gate_pieces.GELU_LIMIT",
    "fast_gelu_backward": "single.gate_pieces.GELU_LIMIT",
    "quick_gelu_backward": "single.gate_slopes.QUICK_GELU_LIMIT",
    "silu_backward": "single.gate_slopes.SILU_LIMIT",
    "mish_backward": "single.gate_pieces.MISH_LIMIT",
}
"""The names of the largest magnitudes of ordinary elements. For the others, normal positive numbers are ordinary."""

_FUNCTIONS: Final[Mapping[Precision, Mapping[str, Forms]]] = {Precision.FULL: FLOAT64, Precision.SINGLE: FLOAT32}

OPS_OF_ONE_FUNCTION: Final[Mapping[UnaryOp | BinaryOp, str]] = {
    **{UnaryOp.kExp2: "exp2", UnaryOp.kErfc: "erfc", UnaryOp.kAsinh: "asinh"},
    **{UnaryOp.kLog: "log", UnaryOp.kLog2: "log2", UnaryOp.kLog10: "log10", BinaryOp.kPow: "pow"},
    **{UnaryOp.kRsqrt: "rsqrt"},
    **{UnaryOp.kGelu: "gelu", UnaryOp.kFastGelu: "fast_gelu", UnaryOp.kMish: "mish"},
    **{UnaryOp.kLogSigmoid: "logsigmoid"},
    **{UnaryOp.kLgamma: "lgamma", UnaryOp.kDigamma: "digamma", UnaryOp.kTrigamma: "trigamma"},
    **{BinaryOp.kGeluBackwardWithDyX: "gelu_backward", BinaryOp.kFastGeluBackwardWithDyX: "fast_gelu_backward"},
    **{BinaryOp.kQuickGeluBackwardWithDyX: "quick_gelu_backward", BinaryOp.kSiluBackwardWithDyX: "silu_backward"},
    **{BinaryOp.kMishBackwardWithDyX: "mish_backward"},
}
"""The ops that are one function, which may have a form for ordinary elements."""


@cache
def ordinary_form(op: UnaryOp | BinaryOp, precision: Precision) -> Ordinary | None:
    """Return the functions for ordinary elements of an op in one arithmetic, if this processor has any."""
    name, functions = OPS_OF_ONE_FUNCTION.get(op, ""), _FUNCTIONS.get(precision, {})
    function = functions[name].of_this_processor()[1] if name in functions else None
    if function is None:
        return None
    if name == "pow":
        return Ordinary({name: function}, _is_no_power)
    check = _within(named(_LIMITS[name])) if name in _LIMITS else _normal
    exceeds = _of_block(check)
    if isinstance(op, UnaryOp):
        return Ordinary({name: function}, exceeds, check)
    return Ordinary({name: function}, lambda load, real_type: of_second(exceeds(load, real_type)), check)
