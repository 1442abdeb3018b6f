"""Blocks of ordinary elements, for which some functions are shorter than for all.

Where every element of a block is ordinary, nothing has to be done for zeros, infinities, NaN and subnormal numbers,
nor for results that overflow. A block is looked at in a few instructions, on the bits of its elements as integers.
The functions give the same bits as those for all elements.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ep.cpu.compile.jit import jit
from ep.cpu.kernels.math_library import Precision
from ep.cpu.vector_math import power
from ep.cpu.vector_math.bits import from_bits, select, to_bits
from ep.cpu.vector_math.lookup import has_register_tables
from ep.cpu.vector_math.single import erfc_pieces, exponential, gate_pieces, logarithm, odd_pieces
from ep.cpu.vector_math.single import power as single_power
from ep.cpu.vector_math.tables_gamma import GAMMA_OF_POSITIVE, GAMMA_OF_POSITIVE_NARROW
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.unary_op import UnaryOp


class Ordinary(NamedTuple):
    """What an op has for ordinary elements.

    functions: the elementary functions that take the place of those for all elements, by name.
    exceeds: (load, type of arithmetic) gives the compiled function (address, begin, end), or
        (src0, step0, src1, step1, begin, end) of a binary op: whether an element is not ordinary.
    """

    functions: Mapping[str, Any]
    exceeds: Callable[[Any, type[np.floating]], Any]


def _bits(x: float, real_type: type[np.floating]) -> Any:
    """The bits of `x` as a signed integer of the width of `real_type`."""
    return real_type(x).view(np.int32 if real_type is np.float32 else np.int64)


@jit
def _maximum(a, b):
    return select(a > b, a, b)


@jit
def _minimum(a, b):
    return select(a < b, a, b)


def _is_no_normal(load: Any, real_type: type[np.floating]) -> Any:
    """Whether an element is not normal and positive."""
    normal, infinity = (_bits(x, real_type) for x in (np.finfo(real_type).tiny, np.inf))

    def exceeds(address, begin, end):
        least, most = infinity, normal
        for i in range(begin, end):
            bits = to_bits(load(address, i))
            least, most = _minimum(least, bits), _maximum(most, bits)
        return least < normal or most >= infinity

    return jit(exceeds)


def _is_beyond(limit: float) -> Callable[[Any, type[np.floating]], Any]:
    """Whether the magnitude of an element is more than `limit`, or NaN."""

    def check(load: Any, real_type: type[np.floating]) -> Any:
        limit_bits = _bits(limit, real_type)
        integer = type(limit_bits)
        magnitude_bits = integer(np.iinfo(integer).max)

        def exceeds(address, begin, end):
            most = integer(0)
            for i in range(begin, end):
                most = _maximum(most, integer(to_bits(load(address, i)) & magnitude_bits))
            return most > limit_bits

        return jit(exceeds)

    return check


def _is_no_power(load: Any, real_type: type[np.floating]) -> Any:
    """Whether a base is not normal and positive, or a power might not be a normal number."""
    info = np.finfo(real_type)
    normal, one, infinity = (_bits(x, real_type) for x in (info.tiny, 1.0, np.inf))
    integer = type(one)
    least_integer, magnitude_bits = integer(np.iinfo(integer).min), integer(np.iinfo(integer).max)
    limit, scale, more = real_type(info.maxexp - 2), real_type(2.0**-info.nmant), real_type(0.0862)
    real_one = real_type(one)

    def exceeds(src0, step0, src1, step1, begin, end):
        same = step0 == step1  # also where both steps are 0, of one element
        least, most, magnitude = magnitude_bits, least_integer, integer(0)
        for i in range(begin if step0 | same else 0, end if step0 | same else 1):
            bits = to_bits(load(src0, i))
            least, most = _minimum(least, bits), _maximum(most, bits)
        for i in range(begin if step1 | same else 0, end if step1 | same else 1):
            magnitude = _maximum(magnitude, integer(to_bits(load(src1, i)) & magnitude_bits))
        if least < normal or most >= infinity:
            return True
        # log2 x is up to 0.0861 more than exponent and mantissa put together
        logarithm = _maximum(real_type(most) - real_one, real_one - real_type(least)) * scale + more
        return not logarithm * from_bits(magnitude) < limit

    return jit(exceeds)


def _gamma(op: UnaryOp, name: str) -> dict[tuple[UnaryOp | BinaryOp, Precision], Ordinary]:
    """What an op around the gamma function has: above 0 it needs no reflection."""
    tables = {Precision.NARROW: GAMMA_OF_POSITIVE_NARROW, Precision.FULL: GAMMA_OF_POSITIVE}
    return {(op, precision): Ordinary({name: table[name]}, _is_no_normal) for precision, table in tables.items()}


_PIECES = {
    UnaryOp.kGelu: ("gelu", gate_pieces.gelu_of_ordinary, gate_pieces.GELU_LIMIT),
    UnaryOp.kFastGelu: ("fast_gelu", gate_pieces.fast_gelu_of_ordinary, gate_pieces.GELU_LIMIT),
    UnaryOp.kQuickGelu: ("quick_gelu", gate_pieces.quick_gelu_of_ordinary, gate_pieces.QUICK_GELU_LIMIT),
    UnaryOp.kSilu: ("silu", gate_pieces.silu_of_ordinary, gate_pieces.SIGMOID_LIMIT),
    UnaryOp.kMish: ("mish", gate_pieces.mish_of_ordinary, gate_pieces.MISH_LIMIT),
    UnaryOp.kErfc: ("erfc", erfc_pieces.erfc_of_ordinary, erfc_pieces.ERFC_LIMIT),
    UnaryOp.kAsinh: ("asinh", odd_pieces.asinh_of_ordinary, odd_pieces.ASINH_LIMIT),
    UnaryOp.kSigmoid: ("sigmoid", gate_pieces.sigmoid_of_ordinary, gate_pieces.SIGMOID_LIMIT),
    UnaryOp.kLogSigmoid: ("logsigmoid", gate_pieces.logsigmoid_of_ordinary, gate_pieces.SIGMOID_LIMIT),
}


def _pieces() -> dict[tuple[UnaryOp | BinaryOp, Precision], Ordinary]:
    """What is computed by pieces up to a limit."""
    if not has_register_tables():
        return {}
    return {
        (op, Precision.SINGLE): Ordinary({name: function}, _is_beyond(limit))
        for op, (name, function, limit) in _PIECES.items()
    }


ORDINARY: Mapping[tuple[UnaryOp | BinaryOp, Precision], Ordinary] = {
    (UnaryOp.kExp, Precision.SINGLE): Ordinary({"exp": exponential.exp_of_ordinary}, _is_beyond(86.0)),
    (UnaryOp.kExp2, Precision.SINGLE): Ordinary({"exp2": exponential.exp2_of_ordinary}, _is_beyond(125.0)),
    (UnaryOp.kLog, Precision.SINGLE): Ordinary({"log": logarithm.log_of_normal}, _is_no_normal),
    (UnaryOp.kLog2, Precision.SINGLE): Ordinary({"log2": logarithm.log2_of_normal}, _is_no_normal),
    (UnaryOp.kLog10, Precision.SINGLE): Ordinary({"log10": logarithm.log10_of_normal}, _is_no_normal),
    **_pieces(),
    **_gamma(UnaryOp.kLgamma, "lgamma"),
    **_gamma(UnaryOp.kDigamma, "digamma"),
    **_gamma(UnaryOp.kTrigamma, "trigamma"),
    (BinaryOp.kPow, Precision.SINGLE): Ordinary({"pow": single_power.pow_of_ordinary}, _is_no_power),
    (BinaryOp.kPow, Precision.FULL): Ordinary({"pow": power.pow_of_positive}, _is_no_power),
}
"""The ops that are faster for ordinary elements, in the set of functions that they are made of."""
