"""The operations of two operands, with the facts about each."""

from functools import partial
from typing import Any, Final

from ep.include.number_kind import ALL, FLOATS, REAL
from ep.include.primitive.op_definition import BITS, INEXACT, Attribute, Cost, Gives, Op, OpDefinition, Order
from ep.include.primitive.unary_op import UnaryOp

BOOLEAN = Gives.BOOLEAN
_, DIVISION, REMAINDER, FUNCTION, POWER, SERIES = Cost
RISES, FALLS = (Order.RISES,), (Order.FALLS,)

_CLOSE: Final = (Attribute("atol", 1e-8), Attribute("rtol", 1e-5))
_EXPONENT: Final = (Attribute("exponent", None),)
_BASE: Final = (Attribute("base", None),)
_THRESHOLD: Final = (Attribute("threshold", None),)
_STORED_CLAMP: Final = (Attribute("min", -1.0, stored=True), Attribute("max", 1.0, stored=True))
_DIFFERS: Final = "0 for an integer divided by zero; floating-point numbers as in [semantics.md](semantics.md)"


def _gradient(by: str, op: UnaryOp, **given: Any) -> OpDefinition:
    """Return the facts about the product of dy and the slope of a unary op. by: the operand that gives the slope."""
    whole = op.definition
    given = {"attributes": whole.attributes, **given}
    takes = INEXACT if whole.takes == INEXACT else FLOATS
    return OpDefinition(takes, operands=("dy", by), backward_of=op, **given)


_facts, _by_x, _by_y = partial(OpDefinition, operands=("x", "y")), partial(_gradient, "x"), partial(_gradient, "y")


class BinaryOp(Op):
    """The operations of two operands: upstream's, with its names and order (`binary_op.h`), then others."""

    # mathematics
    kAdd = _facts(ALL, order=RISES + RISES, on_bool="x or y", onnx="Add")
    kSub = _facts(ALL, order=RISES + FALLS, alias="subtract", onnx="Sub")
    kMul = _facts(ALL, on_bool="x and y", alias="multiply", onnx="Mul")
    kDiv = _facts(ALL, cost=DIVISION, on_bool="x and y")
    kMax = _facts(REAL, on_bool="x or y")
    kMin = _facts(REAL, on_bool="x and y")
    kPow = _facts(
        REAL, cost=POWER, on_bool="x or not y", differs="integers to negative powers give the truncated value"
    )
    kFmod = _facts(REAL, cost=REMAINDER)
    kFloorDiv = _facts(REAL, cost=DIVISION, on_bool="x and y", is_constant=True, alias="floor_divide", differs=_DIFFERS)
    kTruncDiv = _facts(REAL, cost=DIVISION, on_bool="x and y", is_constant=True)
    kFloorMod = _facts(REAL, cost=REMAINDER, alias="remainder", differs=_DIFFERS)
    kScalarBasePowerGrad = _facts(REAL, cost=POWER, operands=("x", "dy"), attributes=_EXPONENT)
    kScalarExpPowerGrad = _facts(REAL, cost=POWER, operands=("x", "dy"), attributes=_BASE)
    kZeta = _facts(FLOATS, cost=SERIES)

    # comparisons
    kEqual = _facts(ALL, BOOLEAN, onnx="Equal")
    kNotEqual = _facts(ALL, BOOLEAN)
    kLessThan = _facts(REAL, BOOLEAN, order=FALLS + RISES, on_bool="not x and y", alias="less", onnx="Less")
    kLessEqual = _facts(REAL, BOOLEAN, order=FALLS + RISES, on_bool="not x or y", onnx="LessOrEqual")
    kGreaterThan = _facts(REAL, BOOLEAN, order=RISES + FALLS, on_bool="x and not y", alias="greater", onnx="Greater")
    kGreaterEqual = _facts(REAL, BOOLEAN, order=RISES + FALLS, on_bool="x or not y", onnx="GreaterOrEqual")
    kIsClose = _facts(REAL, BOOLEAN, attributes=_CLOSE, by_name=True)
    kIsCloseEqualNan = _facts(REAL, BOOLEAN, attributes=_CLOSE, by_name=True)

    # logic
    kLogicalAnd = _facts(REAL, BOOLEAN, on_bool="x and y", onnx="And")
    kLogicalOr = _facts(REAL, BOOLEAN, on_bool="x or y", onnx="Or")
    kLogicalXor = _facts(REAL, BOOLEAN, onnx="Xor")

    # bits
    kBitwiseAnd = _facts(BITS, on_bool="x and y", onnx="BitwiseAnd")
    kBitwiseOr = _facts(BITS, on_bool="x or y", onnx="BitwiseOr")
    kBitwiseXor = _facts(BITS, onnx="BitwiseXor")

    # backward ops of the unary ops: src0 is dy, src1 is x or y
    kIdentityBackwardWithDyX = _by_x(UnaryOp.kIdentity, order=RISES)
    kEluBackwardWithDyX = _by_x(UnaryOp.kElu, cost=FUNCTION, order=RISES)
    kCeluBackwardWithDyY = _by_y(UnaryOp.kCelu)
    kGeluBackwardWithDyX = _by_x(UnaryOp.kGelu, cost=FUNCTION)
    kHardswishBackwardWithDyX = _by_x(UnaryOp.kHardSwish)
    kHardsigmoidBackwardWithDyX = _by_x(UnaryOp.kHardSigmoid, order=RISES)
    kHardshrinkBackwardWithDyY = _by_y(UnaryOp.kHardShrink, order=RISES)
    kHardtanhBackwardWithDyY = _by_y(UnaryOp.kHardTanh, attributes=_STORED_CLAMP, order=RISES)
    kLeakyReluBackwardWithDyX = _by_x(UnaryOp.kLeakyRelu, order=RISES)
    kMishBackwardWithDyX = _by_x(UnaryOp.kMish, cost=FUNCTION)
    kReluBackwardWithDyY = _by_y(UnaryOp.kRelu, order=RISES)
    kReluBackwardWithDyX = _by_x(UnaryOp.kRelu, order=RISES)
    kSeluBackwardWithDyX = _by_x(UnaryOp.kSelu, cost=FUNCTION, order=RISES)
    kSiluBackwardWithDyX = _by_x(UnaryOp.kSilu, cost=FUNCTION)
    kSoftsignBackwardWithDyX = _by_x(UnaryOp.kSoftSign, order=RISES)
    kSoftplusBackwardWithDyX = _by_x(UnaryOp.kSoftPlus, cost=FUNCTION, order=RISES)
    kSoftshrinkBackwardWithDyY = _by_y(UnaryOp.kSoftShrink, order=RISES)
    kTanhBackwardWithDyY = _by_y(UnaryOp.kTanh)
    kThresholdBackwardWithDyX = _by_x(UnaryOp.kThreshold, attributes=_THRESHOLD, order=RISES)
    kSigmoidBackwardWithDyY = _by_y(UnaryOp.kSigmoid)
    kSigmoidBackwardWithDyX = _by_x(UnaryOp.kSigmoid, cost=FUNCTION, order=RISES)
    kAbsBackwardWithDyX = _by_x(UnaryOp.kAbs)
    kAcosBackwardWithDyX = _by_x(UnaryOp.kAcos, order=FALLS)
    kAcoshBackwardWithDyX = _by_x(UnaryOp.kAcosh, order=RISES)
    kAsinBackwardWithDyX = _by_x(UnaryOp.kAsin, order=RISES)
    kAsinhBackwardWithDyX = _by_x(UnaryOp.kAsinh, order=RISES)
    kAtanBackwardWithDyX = _by_x(UnaryOp.kAtan, order=RISES)
    kAtanhBackwardWithDyX = _by_x(UnaryOp.kAtanh)
    kCosBackwardWithDyX = _by_x(UnaryOp.kCos, cost=FUNCTION)
    kCoshBackwardWithDyX = _by_x(UnaryOp.kCosh, cost=FUNCTION)
    kErfBackwardWithDyX = _by_x(UnaryOp.kErf, cost=FUNCTION, order=RISES)
    kErfcBackwardWithDyX = _by_x(UnaryOp.kErfc, cost=FUNCTION, order=FALLS)
    kExpBackwardWithDyX = _by_x(UnaryOp.kExp, cost=FUNCTION, order=RISES)
    kExp2BackwardWithDyX = _by_x(UnaryOp.kExp2, cost=FUNCTION, order=RISES)
    kExpm1BackwardWithDyX = _by_x(UnaryOp.kExpm1, cost=FUNCTION, order=RISES)
    kLgammaBackwardWithDyX = _by_x(UnaryOp.kLgamma, cost=SERIES)
    kDigammaBackwardWithDyX = _by_x(UnaryOp.kDigamma, cost=SERIES, order=RISES)
    kLogBackwardWithDyX = _by_x(UnaryOp.kLog)
    kLog2BackwardWithDyX = _by_x(UnaryOp.kLog2)
    kLog10BackwardWithDyX = _by_x(UnaryOp.kLog10)
    kLog1pBackwardWithDyX = _by_x(UnaryOp.kLog1p)
    kLogSigmoidBackwardWithDyX = _by_x(UnaryOp.kLogSigmoid, cost=FUNCTION, order=RISES)
    kReciprocalBackwardWithDyX = _by_x(UnaryOp.kReciprocal, order=FALLS)
    kReciprocalNoNanBackwardWithDyX = _by_x(UnaryOp.kReciprocalNoNan, order=FALLS)
    kRsqrtBackwardWithDyX = _by_x(UnaryOp.kRsqrt, order=FALLS)
    kSinBackwardWithDyX = _by_x(UnaryOp.kSin, cost=FUNCTION)
    kSinhBackwardWithDyX = _by_x(UnaryOp.kSinh, cost=FUNCTION, order=RISES)
    kSqrtBackwardWithDyX = _by_x(UnaryOp.kSqrt, order=RISES)
    kSquareBackwardWithDyX = _by_x(UnaryOp.kSquare)
    kTanBackwardWithDyX = _by_x(UnaryOp.kTan, cost=FUNCTION, order=RISES)
    kFastGeluBackwardWithDyX = _by_x(UnaryOp.kFastGelu, cost=FUNCTION)
    kQuickGeluBackwardWithDyX = _by_x(UnaryOp.kQuickGelu, cost=FUNCTION)
    kSquareReLUBackwardWithDyX = _by_x(UnaryOp.kSquareReLU, order=RISES)
