"""Blocks of ordinary elements, for which some functions are shorter than for all.

Where every element of a block is ordinary, nothing has to be done for zeros, infinities, NaN and subnormal numbers,
nor for results that overflow. A block is looked at in a few instructions, on the bits of its elements as integers.
The functions give the same bits as those for all elements.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from ep.cpu.compile.jit import jit
from ep.cpu.kernels.math_library import Precision
from ep.cpu.vector_math.bits import from_bits, select, to_bits
from ep.cpu.vector_math.lookup import has_register_tables
from ep.cpu.vector_math.sets.names import FLOAT32, FLOAT64, Forms
from ep.cpu.vector_math.single import erfc_pieces, gate_pieces, odd_pieces
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


_LIMITS: Final = {
    **{"exp": 86.0, "exp2": 125.0},
    **{"gelu": gate_pieces.GELU_LIMIT, "fast_gelu": gate_pieces.GELU_LIMIT, "quick_gelu": gate_pieces.QUICK_GELU_LIMIT},
    **{"silu": gate_pieces.SIGMOID_LIMIT, "mish": gate_pieces.MISH_LIMIT, "erfc": erfc_pieces.ERFC_LIMIT},
    **{"asinh": odd_pieces.ASINH_LIMIT, "sigmoid": gate_pieces.SIGMOID_LIMIT, "logsigmoid": gate_pieces.SIGMOID_LIMIT},
}
"""The largest magnitudes of ordinary elements; of the other functions, these are the normal positive numbers."""

_OPS: Final[Mapping[UnaryOp | BinaryOp, str]] = {
    **{UnaryOp.kExp: "exp", UnaryOp.kExp2: "exp2", UnaryOp.kErfc: "erfc", UnaryOp.kAsinh: "asinh"},
    **{UnaryOp.kLog: "log", UnaryOp.kLog2: "log2", UnaryOp.kLog10: "log10", BinaryOp.kPow: "pow"},
    **{UnaryOp.kGelu: "gelu", UnaryOp.kFastGelu: "fast_gelu", UnaryOp.kQuickGelu: "quick_gelu"},
    **{UnaryOp.kSilu: "silu", UnaryOp.kMish: "mish", UnaryOp.kSigmoid: "sigmoid", UnaryOp.kLogSigmoid: "logsigmoid"},
    **{UnaryOp.kLgamma: "lgamma", UnaryOp.kDigamma: "digamma", UnaryOp.kTrigamma: "trigamma"},
}
"""The ops that are one function, which may have a form for ordinary elements."""


def _ordinary(names: Mapping[str, Forms], precision: Precision) -> dict[tuple[UnaryOp | BinaryOp, Precision], Ordinary]:
    """The ops that are faster for ordinary elements in one arithmetic, on this processor."""
    found = {}
    for op, name in _OPS.items():
        forms = names.get(name)
        if forms is None or forms.ordinary is None or (forms.tabled is not None and not has_register_tables()):
            continue
        check = _is_no_power if name == "pow" else _is_beyond(_LIMITS[name]) if name in _LIMITS else _is_no_normal
        found[op, precision] = Ordinary({name: forms.ordinary}, check)
    return found


ORDINARY: Mapping[tuple[UnaryOp | BinaryOp, Precision], Ordinary] = {
    **_ordinary(FLOAT64, Precision.FULL),
    **_ordinary(FLOAT32, Precision.SINGLE),
}
"""The ops that are faster for ordinary elements, in the set of functions that they are made of."""
