"""The table of ops: the facts about each UnaryOp, BinaryOp and ReduceOp that hold on all devices.

Keys, result types, the functions of `ep.ops` and their documentation are made from it. The meaning of an op is its
functor in `ep.common.functor`. A device adds only its own choices, such as the type that it computes in.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from ep.include.number_kind import ALL, BOOL, COMPLEXES, FLOATS, INTEGERS, REAL
from ep.include.primitive.binary_op import BinaryOp as B
from ep.include.primitive.op_definition import Attribute, Cost, Gives, OpDefinition
from ep.include.primitive.reduce_op import ReduceOp as R
from ep.include.primitive.unary_op import UnaryOp as U

NUMBERS: Final = INTEGERS + FLOATS
BITS: Final = BOOL + INTEGERS
INEXACT: Final = FLOATS + COMPLEXES
COMPLEX: Final = COMPLEXES

SAME, BOOLEAN, PART, WHOLE, ANY = Gives
LIGHT, DIVISION, REMAINDER, FUNCTION, POWER, SERIES = Cost

X: Final = ("x",)
X_Y: Final = ("x", "y")
X_DY: Final = ("x", "dy")
DY_X: Final = ("dy", "x")
DY_Y: Final = ("dy", "y")

_ALPHA: Final = (Attribute("alpha", 1.0),)
_SLOPE: Final = (Attribute("alpha", 0.01),)
_LAMBDA: Final = (Attribute("lambda", 0.5),)
_SOFT: Final = (Attribute("alpha", 0.5),)
_CLAMP: Final = (Attribute("min", -1.0), Attribute("max", 1.0))
_STORED_CLAMP: Final = (Attribute("min", -1.0, stored=True), Attribute("max", 1.0, stored=True))
_SOFT_PLUS: Final = (Attribute("beta", 1.0), Attribute("threshold", 20.0))
_THRESHOLD: Final = (Attribute("threshold", None),)
_REPLACE: Final = (Attribute("threshold", None), Attribute("value", None))
_EXPONENT: Final = (Attribute("exponent", None),)
_BASE: Final = (Attribute("base", None),)
_CLOSE: Final = (Attribute("atol", 1e-8), Attribute("rtol", 1e-5))

# fmt: off
_UNARY: Final = (
    # op                    takes    gives    cost      attributes  gradient
    (U.kIdentity,           ALL,     SAME,    LIGHT,    (),         (B.kIdentityBackwardWithDyX,)),
    (U.kElu,                FLOATS,  SAME,    FUNCTION, _ALPHA,     (B.kEluBackwardWithDyX,)),
    (U.kCelu,               FLOATS,  SAME,    FUNCTION, _ALPHA,     (B.kCeluBackwardWithDyY,)),
    (U.kRelu,               REAL,    SAME,    LIGHT,    (),         (B.kReluBackwardWithDyY, B.kReluBackwardWithDyX)),
    (U.kGelu,               FLOATS,  SAME,    FUNCTION, (),         (B.kGeluBackwardWithDyX,)),
    (U.kHardSwish,          FLOATS,  SAME,    LIGHT,    (),         (B.kHardswishBackwardWithDyX,)),
    (U.kHardSigmoid,        FLOATS,  SAME,    LIGHT,    (),         (B.kHardsigmoidBackwardWithDyX,)),
    (U.kHardShrink,         FLOATS,  SAME,    LIGHT,    _LAMBDA,    (B.kHardshrinkBackwardWithDyY,)),
    (U.kHardTanh,           FLOATS,  SAME,    LIGHT,    _CLAMP,     (B.kHardtanhBackwardWithDyY,)),
    (U.kLeakyRelu,          FLOATS,  SAME,    LIGHT,    _SLOPE,     (B.kLeakyReluBackwardWithDyX,)),
    (U.kMish,               FLOATS,  SAME,    FUNCTION, (),         (B.kMishBackwardWithDyX,)),
    (U.kSelu,               FLOATS,  SAME,    FUNCTION, (),         (B.kSeluBackwardWithDyX,)),
    (U.kSilu,               FLOATS,  SAME,    FUNCTION, (),         (B.kSiluBackwardWithDyX,)),
    (U.kSoftShrink,         FLOATS,  SAME,    LIGHT,    _SOFT,      (B.kSoftshrinkBackwardWithDyY,)),
    (U.kSoftSign,           FLOATS,  SAME,    LIGHT,    (),         (B.kSoftsignBackwardWithDyX,)),
    (U.kSoftPlus,           FLOATS,  SAME,    FUNCTION, _SOFT_PLUS, (B.kSoftplusBackwardWithDyX,)),
    (U.kTanh,               FLOATS,  SAME,    FUNCTION, (),         (B.kTanhBackwardWithDyY,)),
    (U.kThreshold,          FLOATS,  SAME,    LIGHT,    _REPLACE,   (B.kThresholdBackwardWithDyX,)),
    (U.kFastGelu,           FLOATS,  SAME,    FUNCTION, (),         (B.kFastGeluBackwardWithDyX,)),
    (U.kQuickGelu,          FLOATS,  SAME,    FUNCTION, (),         (B.kQuickGeluBackwardWithDyX,)),
    (U.kSquareReLU,         FLOATS,  SAME,    LIGHT,    (),         (B.kSquareReLUBackwardWithDyX,)),
    (U.kAbs,                NUMBERS, SAME,    LIGHT,    (),         (B.kAbsBackwardWithDyX,)),
    (U.kAcos,               FLOATS,  SAME,    FUNCTION, (),         (B.kAcosBackwardWithDyX,)),
    (U.kAcosh,              FLOATS,  SAME,    FUNCTION, (),         (B.kAcoshBackwardWithDyX,)),
    (U.kAsin,               FLOATS,  SAME,    FUNCTION, (),         (B.kAsinBackwardWithDyX,)),
    (U.kAsinh,              FLOATS,  SAME,    FUNCTION, (),         (B.kAsinhBackwardWithDyX,)),
    (U.kAtan,               FLOATS,  SAME,    FUNCTION, (),         (B.kAtanBackwardWithDyX,)),
    (U.kAtanh,              FLOATS,  SAME,    FUNCTION, (),         (B.kAtanhBackwardWithDyX,)),
    (U.kCeil,               FLOATS,  SAME,    LIGHT,    (),         ()),
    (U.kCos,                FLOATS,  SAME,    FUNCTION, (),         (B.kCosBackwardWithDyX,)),
    (U.kCosh,               FLOATS,  SAME,    FUNCTION, (),         (B.kCoshBackwardWithDyX,)),
    (U.kDigamma,            FLOATS,  SAME,    SERIES,   (),         (B.kDigammaBackwardWithDyX,)),
    (U.kTrigamma,           FLOATS,  SAME,    SERIES,   (),         ()),
    (U.kErf,                FLOATS,  SAME,    FUNCTION, (),         (B.kErfBackwardWithDyX,)),
    (U.kErfc,               FLOATS,  SAME,    FUNCTION, (),         (B.kErfcBackwardWithDyX,)),
    (U.kExp,                FLOATS,  SAME,    FUNCTION, (),         (B.kExpBackwardWithDyX,)),
    (U.kExp2,               FLOATS,  SAME,    FUNCTION, (),         (B.kExp2BackwardWithDyX,)),
    (U.kExpm1,              FLOATS,  SAME,    FUNCTION, (),         (B.kExpm1BackwardWithDyX,)),
    (U.kFloor,              FLOATS,  SAME,    LIGHT,    (),         ()),
    (U.kLgamma,             FLOATS,  SAME,    SERIES,   (),         (B.kLgammaBackwardWithDyX,)),
    (U.kLog,                FLOATS,  SAME,    FUNCTION, (),         (B.kLogBackwardWithDyX,)),
    (U.kLog2,               FLOATS,  SAME,    FUNCTION, (),         (B.kLog2BackwardWithDyX,)),
    (U.kLog10,              FLOATS,  SAME,    FUNCTION, (),         (B.kLog10BackwardWithDyX,)),
    (U.kLog1p,              FLOATS,  SAME,    FUNCTION, (),         (B.kLog1pBackwardWithDyX,)),
    (U.kLogSigmoid,         FLOATS,  SAME,    FUNCTION, (),         (B.kLogSigmoidBackwardWithDyX,)),
    (U.kNegative,           INEXACT, SAME,    LIGHT,    (),         (U.kNegative,)),
    (U.kReciprocal,         FLOATS,  SAME,    LIGHT,    (),         (B.kReciprocalBackwardWithDyX,)),
    (U.kReciprocalNoNan,    FLOATS,  SAME,    LIGHT,    (),         (B.kReciprocalNoNanBackwardWithDyX,)),
    (U.kRint,               FLOATS,  SAME,    LIGHT,    (),         ()),
    (U.kRound,              FLOATS,  SAME,    LIGHT,    (),         ()),
    (U.kRsqrt,              FLOATS,  SAME,    FUNCTION, (),         (B.kRsqrtBackwardWithDyX,)),
    (U.kSigmoid,            FLOATS,  SAME,    FUNCTION, (),
                            (B.kSigmoidBackwardWithDyY, B.kSigmoidBackwardWithDyX)),
    (U.kSign,               FLOATS,  SAME,    LIGHT,    (),         ()),
    (U.kSin,                FLOATS,  SAME,    FUNCTION, (),         (B.kSinBackwardWithDyX,)),
    (U.kSinh,               FLOATS,  SAME,    FUNCTION, (),         (B.kSinhBackwardWithDyX,)),
    (U.kSqrt,               INEXACT, SAME,    LIGHT,    (),         (B.kSqrtBackwardWithDyX,)),
    (U.kSquare,             FLOATS,  SAME,    LIGHT,    (),         (B.kSquareBackwardWithDyX,)),
    (U.kTan,                FLOATS,  SAME,    FUNCTION, (),         (B.kTanBackwardWithDyX,)),
    (U.kTrunc,              FLOATS,  SAME,    LIGHT,    (),         ()),
    (U.kNotEqualZero,       FLOATS,  SAME,    LIGHT,    (),         ()),
    (U.kLogicalNot,         REAL,    BOOLEAN, LIGHT,    (),         ()),
    (U.kCast,               ALL,     ANY,     LIGHT,    (),         ()),
    (U.kIsInf,              NUMBERS, BOOLEAN, LIGHT,    (),         ()),
    (U.kIsNan,              NUMBERS, BOOLEAN, LIGHT,    (),         ()),
    (U.kIsFinite,           NUMBERS, BOOLEAN, LIGHT,    (),         ()),
    (U.kNanAssign,          FLOATS,  SAME,    LIGHT,    (),         ()),
    (U.kBitwiseNot,         BITS,    SAME,    LIGHT,    (),         ()),
    (U.kConj,               COMPLEX, SAME,    LIGHT,    (),         (U.kConj,)),
    (U.kReal,               COMPLEX, PART,    LIGHT,    (),         (U.kRealGrad,)),
    (U.kImag,               COMPLEX, PART,    LIGHT,    (),         (U.kImagGrad,)),
    (U.kRealGrad,           FLOATS,  WHOLE,   LIGHT,    (),         (U.kReal,)),
    (U.kImagGrad,           FLOATS,  WHOLE,   LIGHT,    (),         (U.kImag,)),
)

# The gradients of the two shrinks follow from y alone, but upstream's callers pass the attribute.
_BINARY: Final = (
    # op                                  takes    gives    cost       operands attributes
    (B.kAdd,                              ALL,     SAME,    LIGHT,     X_Y,     ()),
    (B.kSub,                              ALL,     SAME,    LIGHT,     X_Y,     ()),
    (B.kMul,                              ALL,     SAME,    LIGHT,     X_Y,     ()),
    (B.kDiv,                              ALL,     SAME,    DIVISION,  X_Y,     ()),
    (B.kMax,                              REAL,    SAME,    LIGHT,     X_Y,     ()),
    (B.kMin,                              REAL,    SAME,    LIGHT,     X_Y,     ()),
    (B.kPow,                              REAL,    SAME,    POWER,     X_Y,     ()),
    (B.kFmod,                             REAL,    SAME,    REMAINDER, X_Y,     ()),
    (B.kFloorDiv,                         REAL,    SAME,    DIVISION,  X_Y,     ()),
    (B.kTruncDiv,                         REAL,    SAME,    DIVISION,  X_Y,     ()),
    (B.kFloorMod,                         REAL,    SAME,    REMAINDER, X_Y,     ()),
    (B.kScalarBasePowerGrad,              REAL,    SAME,    POWER,     X_DY,    _EXPONENT),
    (B.kScalarExpPowerGrad,               REAL,    SAME,    POWER,     X_DY,    _BASE),
    (B.kZeta,                             FLOATS,  SAME,    SERIES,    X_Y,     ()),
    (B.kEqual,                            ALL,     BOOLEAN, LIGHT,     X_Y,     ()),
    (B.kNotEqual,                         ALL,     BOOLEAN, LIGHT,     X_Y,     ()),
    (B.kLessThan,                         REAL,    BOOLEAN, LIGHT,     X_Y,     ()),
    (B.kLessEqual,                        REAL,    BOOLEAN, LIGHT,     X_Y,     ()),
    (B.kGreaterThan,                      REAL,    BOOLEAN, LIGHT,     X_Y,     ()),
    (B.kGreaterEqual,                     REAL,    BOOLEAN, LIGHT,     X_Y,     ()),
    (B.kIsClose,                          REAL,    BOOLEAN, LIGHT,     X_Y,     _CLOSE),
    (B.kIsCloseEqualNan,                  REAL,    BOOLEAN, LIGHT,     X_Y,     _CLOSE),
    (B.kLogicalAnd,                       REAL,    BOOLEAN, LIGHT,     X_Y,     ()),
    (B.kLogicalOr,                        REAL,    BOOLEAN, LIGHT,     X_Y,     ()),
    (B.kLogicalXor,                       REAL,    BOOLEAN, LIGHT,     X_Y,     ()),
    (B.kBitwiseAnd,                       BITS,    SAME,    LIGHT,     X_Y,     ()),
    (B.kBitwiseOr,                        BITS,    SAME,    LIGHT,     X_Y,     ()),
    (B.kBitwiseXor,                       BITS,    SAME,    LIGHT,     X_Y,     ()),
    (B.kIdentityBackwardWithDyX,          FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kEluBackwardWithDyX,               FLOATS,  SAME,    FUNCTION,  DY_X,    _ALPHA),
    (B.kCeluBackwardWithDyY,              FLOATS,  SAME,    LIGHT,     DY_Y,    _ALPHA),
    (B.kGeluBackwardWithDyX,              FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kHardswishBackwardWithDyX,         FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kHardsigmoidBackwardWithDyX,       FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kHardshrinkBackwardWithDyY,        FLOATS,  SAME,    LIGHT,     DY_Y,    _LAMBDA),
    (B.kHardtanhBackwardWithDyY,          FLOATS,  SAME,    LIGHT,     DY_Y,    _STORED_CLAMP),
    (B.kLeakyReluBackwardWithDyX,         FLOATS,  SAME,    LIGHT,     DY_X,    _SLOPE),
    (B.kMishBackwardWithDyX,              FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kReluBackwardWithDyY,              FLOATS,  SAME,    LIGHT,     DY_Y,    ()),
    (B.kReluBackwardWithDyX,              FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kSeluBackwardWithDyX,              FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kSiluBackwardWithDyX,              FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kSoftsignBackwardWithDyX,          FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kSoftplusBackwardWithDyX,          FLOATS,  SAME,    FUNCTION,  DY_X,    _SOFT_PLUS),
    (B.kSoftshrinkBackwardWithDyY,        FLOATS,  SAME,    LIGHT,     DY_Y,    _SOFT),
    (B.kTanhBackwardWithDyY,              FLOATS,  SAME,    LIGHT,     DY_Y,    ()),
    (B.kThresholdBackwardWithDyX,         FLOATS,  SAME,    LIGHT,     DY_X,    _THRESHOLD),
    (B.kSigmoidBackwardWithDyY,           FLOATS,  SAME,    LIGHT,     DY_Y,    ()),
    (B.kSigmoidBackwardWithDyX,           FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kAbsBackwardWithDyX,               FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kAcosBackwardWithDyX,              FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kAcoshBackwardWithDyX,             FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kAsinBackwardWithDyX,              FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kAsinhBackwardWithDyX,             FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kAtanBackwardWithDyX,              FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kAtanhBackwardWithDyX,             FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kCosBackwardWithDyX,               FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kCoshBackwardWithDyX,              FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kErfBackwardWithDyX,               FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kErfcBackwardWithDyX,              FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kExpBackwardWithDyX,               FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kExp2BackwardWithDyX,              FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kExpm1BackwardWithDyX,             FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kLgammaBackwardWithDyX,            FLOATS,  SAME,    SERIES,    DY_X,    ()),
    (B.kDigammaBackwardWithDyX,           FLOATS,  SAME,    SERIES,    DY_X,    ()),
    (B.kLogBackwardWithDyX,               FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kLog2BackwardWithDyX,              FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kLog10BackwardWithDyX,             FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kLog1pBackwardWithDyX,             FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kLogSigmoidBackwardWithDyX,        FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kReciprocalBackwardWithDyX,        FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kReciprocalNoNanBackwardWithDyX,   FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kRsqrtBackwardWithDyX,             FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kSinBackwardWithDyX,               FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kSinhBackwardWithDyX,              FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kSqrtBackwardWithDyX,              INEXACT, SAME,    LIGHT,     DY_X,    ()),
    (B.kSquareBackwardWithDyX,            FLOATS,  SAME,    LIGHT,     DY_X,    ()),
    (B.kTanBackwardWithDyX,               FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kFastGeluBackwardWithDyX,          FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kQuickGeluBackwardWithDyX,         FLOATS,  SAME,    FUNCTION,  DY_X,    ()),
    (B.kSquareReLUBackwardWithDyX,        FLOATS,  SAME,    LIGHT,     DY_X,    ()),
)

_REDUCE: Final = (
    # op      takes    gives
    (R.kSum,  ALL,     SAME),
    (R.kProd, ALL,     SAME),
    (R.kMin,  REAL,    SAME),
    (R.kMax,  REAL,    SAME),
    (R.kMean, INEXACT, SAME),
    (R.kAny,  ALL,     BOOLEAN),
    (R.kAll,  ALL,     BOOLEAN),
)
# fmt: on

OPS: Final[Mapping[U | B, OpDefinition]] = {
    **{
        op: OpDefinition(op, takes, gives, cost, X, attributes, gradient)
        for op, takes, gives, cost, attributes, gradient in _UNARY
    },
    **{
        op: OpDefinition(op, takes, gives, cost, operands, attributes)
        for op, takes, gives, cost, operands, attributes in _BINARY
    },
}
"""The row of each elementwise op."""

REDUCTIONS: Final[Mapping[R, OpDefinition]] = {
    op: OpDefinition(op, takes, gives, LIGHT, X) for op, takes, gives in _REDUCE
}
"""The row of each reduction."""

if _missing := [op.name for op in (*U, *B, *R) if op not in OPS and op not in REDUCTIONS]:
    raise NotImplementedError(f"ep/include/primitive/op_table.py has no row for {', '.join(_missing)}")


def attributes_of(op: Enum | None) -> tuple[Attribute, ...]:
    """Return the attributes of `op`; none for anything but a UnaryOp or BinaryOp."""
    return OPS[op].attributes if isinstance(op, U | B) else ()
