"""The errors that results may have: an `ulp` is the spacing of the result's type at the exact value."""

from enum import Enum
from typing import Any

import ml_dtypes
import numpy as np

from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.unary_op import UnaryOp


class Library(Enum):
    """The library of elementary functions that an op uses, on which its documented bounds depend."""

    VECTOR_MATH = "those of ep.cpu.vector_math, on the CPU"
    LIBDEVICE = "CUDA's, where what a GPU approximates is exact"
    APPROXIMATED = "CUDA's, as a GPU has them"
    HOST = "libm's and NumPy's, or those of devices of other packages"


OF_CUDA = (Library.LIBDEVICE, Library.APPROXIMATED)

_EXACT = 0
_ROUNDED_ONCE = 0.51  # half a unit, and the rounding of the reference itself
_DEFAULT = 4  # a few roundings, or a function of libm and a rounding or two

Ulps = float | tuple[float, float]
"""A bound in ulps; a pair is for float32 and for float64."""

_UNARY_ULPS: dict[UnaryOp, Ulps] = {
    **dict.fromkeys((UnaryOp.kIdentity, UnaryOp.kCast, UnaryOp.kNegative, UnaryOp.kAbs, UnaryOp.kSign), _EXACT),
    **dict.fromkeys((UnaryOp.kRelu, UnaryOp.kHardShrink, UnaryOp.kHardTanh, UnaryOp.kThreshold), _EXACT),
    **dict.fromkeys((UnaryOp.kCeil, UnaryOp.kFloor, UnaryOp.kTrunc, UnaryOp.kRint, UnaryOp.kRound), _EXACT),
    **dict.fromkeys((UnaryOp.kNotEqualZero, UnaryOp.kNanAssign), _EXACT),
    **dict.fromkeys((UnaryOp.kLeakyRelu, UnaryOp.kSoftShrink, UnaryOp.kSquareReLU), _ROUNDED_ONCE),
    **dict.fromkeys((UnaryOp.kReciprocal, UnaryOp.kReciprocalNoNan), _ROUNDED_ONCE),
    **dict.fromkeys((UnaryOp.kSqrt, UnaryOp.kSquare), _ROUNDED_ONCE),
}
"""The bounds that are the same for all libraries."""

VECTOR_MATH_ULPS: dict[UnaryOp, Ulps] = {
    **dict.fromkeys((UnaryOp.kExp, UnaryOp.kExp2, UnaryOp.kExpm1, UnaryOp.kTanh, UnaryOp.kSigmoid, UnaryOp.kErf), 1),
    **dict.fromkeys((UnaryOp.kLog, UnaryOp.kLog2, UnaryOp.kLog10, UnaryOp.kLog1p, UnaryOp.kRsqrt), 1),
    **dict.fromkeys((UnaryOp.kSin, UnaryOp.kCos, UnaryOp.kTan), 1),
    **dict.fromkeys((UnaryOp.kGelu, UnaryOp.kFastGelu, UnaryOp.kQuickGelu, UnaryOp.kSilu, UnaryOp.kMish), 2),
    **dict.fromkeys((UnaryOp.kSoftPlus, UnaryOp.kLogSigmoid, UnaryOp.kErfc, UnaryOp.kSinh, UnaryOp.kCosh), 2),
    **dict.fromkeys((UnaryOp.kAsin, UnaryOp.kAcos, UnaryOp.kAtan), 2),
    **dict.fromkeys((UnaryOp.kAsinh, UnaryOp.kAcosh, UnaryOp.kAtanh), 2),
    **dict.fromkeys((UnaryOp.kLgamma, UnaryOp.kDigamma), (1, 5)),
    UnaryOp.kTrigamma: (1, 8),
}
"""The bounds that are documented for the CPU (docs/accuracy.md)."""

_HOST_ULPS: dict[UnaryOp, Ulps] = {
    # The exponent is rounded before the exponential: its relative error times its size, which is at most 87 in
    # float32 and 708 in float64, twice that after the square inside erfc.
    UnaryOp.kGelu: (220, 2000),
    UnaryOp.kFastGelu: (220, 1800),
    # Five roundings after an exponential that counts twice.
    UnaryOp.kMish: 6,
    # Sums of many terms; errors up to 1e-6 and 1e-13 are acceptable there.
    UnaryOp.kLgamma: 6,
    UnaryOp.kDigamma: 6,
    UnaryOp.kTrigamma: 8,
}

_UNARY_ULPS_OF: dict[Library, dict[UnaryOp, Ulps]] = {
    Library.VECTOR_MATH: _UNARY_ULPS | VECTOR_MATH_ULPS,
    # The same formulas; bounds above the default are documented.
    Library.LIBDEVICE: _UNARY_ULPS | _HOST_ULPS | {UnaryOp.kErfc: (4, 5)},
    Library.HOST: _UNARY_ULPS | _HOST_ULPS,
}

# A GPU approximates exponentials and reciprocals: the PTX ISA allows an error of 2^-22.5 of the result for ex2.approx,
# and of 2^-23 for rcp.approx and div. An ulp is 2^-24 of a result or more, so these are the bounds in ulps for each
# use. They are added to the bounds of the roundings around it, which LIBDEVICE has.
_EXPONENTIAL, _RECIPROCAL = 2.0**1.5, 2.0

_APPROXIMATED_ULPS: dict[UnaryOp, float] = {
    # The exponential counts once at most: the derivative of the result's logarithm by that of e^x is between 0 and 1.
    **dict.fromkeys((UnaryOp.kExp, UnaryOp.kExp2, UnaryOp.kSigmoid, UnaryOp.kSilu, UnaryOp.kMish), _EXPONENTIAL),
    **dict.fromkeys((UnaryOp.kQuickGelu, UnaryOp.kFastGelu), _EXPONENTIAL),
    **dict.fromkeys((UnaryOp.kSoftPlus, UnaryOp.kLogSigmoid), _EXPONENTIAL),
    # libdevice's own bound, and a quotient.
    **dict.fromkeys((UnaryOp.kErfc, UnaryOp.kSinh, UnaryOp.kCosh, UnaryOp.kGelu), _EXPONENTIAL + _RECIPROCAL),
    **dict.fromkeys((UnaryOp.kTan, UnaryOp.kAtan, UnaryOp.kAtanh, UnaryOp.kLgamma), _RECIPROCAL),
}
"""The additional error of float32 results on a GPU, compared with exact instructions."""


SLOW_REFERENCE = (UnaryOp.kErf, UnaryOp.kErfc, UnaryOp.kGelu, UnaryOp.kLgamma, UnaryOp.kDigamma, UnaryOp.kTrigamma)
"""The ops whose float64 reference is computed number by number, with smaller samples."""

TERM_BELOW_ZERO = {UnaryOp.kDigamma: 16.0, UnaryOp.kLgamma: 0.5}
"""Ops that are a difference of two terms for x < 0: their error there is in ulps of at least this size."""

COMPLEX_ULPS = {UnaryOp.kSqrt: 4}
"""The bounds for either part."""


def unary_ulps(op: UnaryOp, scalar_type: Any, library: Library) -> float:
    """Return the bound for `op` in float32 or float64, with the functions of `library`."""
    if library is Library.APPROXIMATED:
        more = 0.0 if scalar_type is np.float64 else _APPROXIMATED_ULPS.get(op, 0.0)
        return unary_ulps(op, scalar_type, Library.LIBDEVICE) + more
    return _of_type(_UNARY_ULPS_OF[library].get(op, _DEFAULT), scalar_type)


def _of_type(bound: Ulps, scalar_type: Any) -> float:
    return bound if isinstance(bound, int | float) else bound[scalar_type is np.float64]


# Binary ops

_GRADIENT = 8  # of the largest term of the formula

_BINARY_ULPS: dict[BinaryOp, Ulps] = {
    BinaryOp.kPow: 2,
    # A sum of powers with rounded bases, whose error grows with the exponent; errors up to 1e-6 in float32 and 1e-13 in
    # float64 are acceptable there.
    BinaryOp.kZeta: 16,
    BinaryOp.kIdentityBackwardWithDyX: _EXACT,
    **dict.fromkeys((BinaryOp.kReluBackwardWithDyX, BinaryOp.kReluBackwardWithDyY), _EXACT),
    **dict.fromkeys((BinaryOp.kHardshrinkBackwardWithDyY, BinaryOp.kSoftshrinkBackwardWithDyY), _EXACT),
    **dict.fromkeys((BinaryOp.kHardtanhBackwardWithDyY, BinaryOp.kThresholdBackwardWithDyX), _EXACT),
    BinaryOp.kAbsBackwardWithDyX: _EXACT,
}
"""The bounds of binary ops. Plain arithmetic is not here: it must agree bit by bit."""

_BINARY_ULPS_OF: dict[Library, dict[BinaryOp, Ulps]] = {
    Library.VECTOR_MATH: _BINARY_ULPS,
    Library.LIBDEVICE: _BINARY_ULPS | {BinaryOp.kPow: (4, 2)},  # as documented
    Library.HOST: _BINARY_ULPS,
}

_APPROXIMATED_GRADIENT = 2 * _EXPONENTIAL
"""The additional error of a float32 gradient on a GPU: its exponential counts twice where it is squared."""

TRUNCATED_ULPS = dict.fromkeys((BinaryOp.kScalarBasePowerGrad, BinaryOp.kScalarExpPowerGrad), _GRADIENT)
"""Ops whose integer results are truncated from float64: the error allowed before that, in ulps. The CPU's are exact."""

SLOW_BINARY_REFERENCE = (
    BinaryOp.kGeluBackwardWithDyX,
    BinaryOp.kLgammaBackwardWithDyX,
    BinaryOp.kDigammaBackwardWithDyX,
    BinaryOp.kZeta,
)
"""The ops whose reference is computed number by number, with smaller samples."""

COMPLEX_BINARY_EPSILONS = 8
"""The bound for either part, relative to the larger one."""


def binary_ulps(op: BinaryOp, scalar_type: Any, library: Library) -> float:
    """Return the bound for `op` in float32 or float64, with the functions of `library`."""
    if library is Library.APPROXIMATED:
        more = _APPROXIMATED_GRADIENT if op not in _BINARY_ULPS and scalar_type is not np.float64 else 0.0
        return binary_ulps(op, scalar_type, Library.LIBDEVICE) + more
    return _of_type(_BINARY_ULPS_OF[library].get(op, _GRADIENT), scalar_type)


def launch_ulps(arithmetic_ulps: float, src_type: DataType, dst_dtype: Any) -> float:
    """Return the bound for a launch whose arithmetic, in float32 or float64, has the bound `arithmetic_ulps`.

    A 16-bit result is rounded once more: half a unit, and the error of the arithmetic in its much larger units.
    """
    dst_bits = ml_dtypes.finfo(dst_dtype).nmant + 1
    arithmetic_bits = 53 if src_type in (DataType.kDouble, DataType.kComplex128) else 24
    if dst_bits >= arithmetic_bits:
        return arithmetic_ulps
    return 0.5001 + arithmetic_ulps * 2.0 ** (dst_bits - arithmetic_bits)


EXACT_BINARY = frozenset(
    (
        *(BinaryOp.kAdd, BinaryOp.kSub, BinaryOp.kMul, BinaryOp.kDiv, BinaryOp.kMax, BinaryOp.kMin, BinaryOp.kFmod),
        *(BinaryOp.kFloorDiv, BinaryOp.kTruncDiv, BinaryOp.kFloorMod),
    )
)
"""Plain arithmetic, which agrees bit by bit; a NaN equals any NaN, and signs of zeros are ignored."""


def softmax_ulps(promised: float, library: Library) -> float:
    """Return the bound for a softmax in float32 or float64, if that of VECTOR_MATH is `promised`."""
    return promised if library is Library.VECTOR_MATH else 4 * promised


def sum_ulps(library: Library) -> float:
    """Return the bound for sums and means in float32 or float64, in ulps of the sum of the magnitudes."""
    return 4 if library is Library.VECTOR_MATH else 8
