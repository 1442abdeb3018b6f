"""The operations of one operand, with the facts about each."""

from typing import Final

from ep.include.number_kind import ALL, COMPLEXES, FLOATS, INTEGERS, REAL
from ep.include.primitive.op_definition import BITS, INEXACT, Attribute, Cost, Gives, Op, OpDefinition, Order

_, BOOLEAN, PART, WHOLE, ANY = Gives
FUNCTION, SERIES = Cost.FUNCTION, Cost.SERIES
RISES, FALLS, RISES_FROM, FALLS_FROM = ((order,) for order in Order)

_ALPHA: Final = (Attribute("alpha", 1.0),)
_SLOPE: Final = (Attribute("alpha", 0.01),)
_LAMBDA: Final = (Attribute("lambda", 0.5),)
_SOFT: Final = (Attribute("alpha", 0.5),)
_CLAMP: Final = (Attribute("min", -1.0), Attribute("max", 1.0))
_SOFT_PLUS: Final = (Attribute("beta", 1.0), Attribute("threshold", 20.0))
_REPLACE: Final = (Attribute("threshold", None), Attribute("value", None))


class UnaryOp(Op):
    """The operations of one operand: upstream's, with its names and order (`unary_op.h`), then others."""

    kIdentity = OpDefinition(ALL, order=RISES, alias="positive", onnx="Identity")

    # activations
    kElu = OpDefinition(FLOATS, cost=FUNCTION, attributes=_ALPHA, order=RISES, onnx="Elu")
    kCelu = OpDefinition(FLOATS, cost=FUNCTION, attributes=_ALPHA, order=RISES, onnx="Celu")
    kRelu = OpDefinition(REAL, order=RISES, onnx="Relu")
    kGelu = OpDefinition(FLOATS, cost=FUNCTION)
    kHardSwish = OpDefinition(FLOATS, onnx="HardSwish")
    kHardSigmoid = OpDefinition(FLOATS, order=RISES)
    kHardShrink = OpDefinition(FLOATS, attributes=_LAMBDA, order=RISES)
    kHardTanh = OpDefinition(FLOATS, attributes=_CLAMP, order=RISES)
    kLeakyRelu = OpDefinition(FLOATS, attributes=_SLOPE, order=RISES, onnx="LeakyRelu")
    kMish = OpDefinition(FLOATS, cost=FUNCTION, onnx="Mish")
    kSelu = OpDefinition(FLOATS, cost=FUNCTION, order=RISES)
    kSilu = OpDefinition(FLOATS, cost=FUNCTION)
    kSoftShrink = OpDefinition(FLOATS, attributes=_SOFT, order=RISES)
    kSoftSign = OpDefinition(FLOATS, order=RISES, onnx="Softsign")
    kSoftPlus = OpDefinition(FLOATS, cost=FUNCTION, attributes=_SOFT_PLUS, order=RISES, onnx="Softplus")
    kTanh = OpDefinition(FLOATS, cost=FUNCTION, order=RISES, onnx="Tanh")
    kThreshold = OpDefinition(FLOATS, attributes=_REPLACE)
    kFastGelu = OpDefinition(FLOATS, cost=FUNCTION)
    kQuickGelu = OpDefinition(FLOATS, cost=FUNCTION)
    kSquareReLU = OpDefinition(FLOATS, order=RISES)

    # mathematics
    kAbs = OpDefinition(INTEGERS + FLOATS, onnx="Abs")
    kAcos = OpDefinition(FLOATS, cost=FUNCTION, onnx="Acos")
    kAcosh = OpDefinition(FLOATS, cost=FUNCTION, order=RISES_FROM, onnx="Acosh")
    kAsin = OpDefinition(FLOATS, cost=FUNCTION, onnx="Asin")
    kAsinh = OpDefinition(FLOATS, cost=FUNCTION, order=RISES, onnx="Asinh")
    kAtan = OpDefinition(FLOATS, cost=FUNCTION, order=RISES, onnx="Atan")
    kAtanh = OpDefinition(FLOATS, cost=FUNCTION, onnx="Atanh")
    kCeil = OpDefinition(FLOATS, order=RISES, is_constant=True, onnx="Ceil")
    kCos = OpDefinition(FLOATS, cost=FUNCTION, onnx="Cos")
    kCosh = OpDefinition(FLOATS, cost=FUNCTION, onnx="Cosh")
    kDigamma = OpDefinition(FLOATS, cost=SERIES)
    kTrigamma = OpDefinition(FLOATS, cost=SERIES)
    kErf = OpDefinition(FLOATS, cost=FUNCTION, order=RISES)
    kErfc = OpDefinition(FLOATS, cost=FUNCTION, order=FALLS)
    kExp = OpDefinition(FLOATS, cost=FUNCTION, order=RISES, onnx="Exp")
    kExp2 = OpDefinition(FLOATS, cost=FUNCTION, order=RISES)
    kExpm1 = OpDefinition(FLOATS, cost=FUNCTION, order=RISES)
    kFloor = OpDefinition(FLOATS, order=RISES, is_constant=True, onnx="Floor")
    kLgamma = OpDefinition(FLOATS, cost=SERIES)
    kLog = OpDefinition(FLOATS, cost=FUNCTION, order=RISES_FROM, onnx="Log")
    kLog2 = OpDefinition(FLOATS, cost=FUNCTION, order=RISES_FROM)
    kLog10 = OpDefinition(FLOATS, cost=FUNCTION, order=RISES_FROM)
    kLog1p = OpDefinition(FLOATS, cost=FUNCTION, order=RISES_FROM)
    kLogSigmoid = OpDefinition(FLOATS, cost=FUNCTION, order=RISES)
    kNegative = OpDefinition(INEXACT, order=FALLS, transposed="kNegative")
    kReciprocal = OpDefinition(FLOATS, onnx="Reciprocal")
    kReciprocalNoNan = OpDefinition(FLOATS)
    kRint = OpDefinition(FLOATS, order=RISES, is_constant=True, onnx="Round")
    kRound = OpDefinition(FLOATS, order=RISES, is_constant=True)
    kRsqrt = OpDefinition(FLOATS, cost=FUNCTION, order=FALLS_FROM)
    kSigmoid = OpDefinition(FLOATS, cost=FUNCTION, order=RISES, onnx="Sigmoid")
    kSign = OpDefinition(FLOATS, order=RISES, is_constant=True, differs="0 for NaN")
    kSin = OpDefinition(FLOATS, cost=FUNCTION, onnx="Sin")
    kSinh = OpDefinition(FLOATS, cost=FUNCTION, order=RISES, onnx="Sinh")
    kSqrt = OpDefinition(INEXACT, order=RISES_FROM, onnx="Sqrt")
    kSquare = OpDefinition(FLOATS)
    kTan = OpDefinition(FLOATS, cost=FUNCTION, onnx="Tan")
    kTrunc = OpDefinition(FLOATS, order=RISES, is_constant=True)
    kNotEqualZero = OpDefinition(FLOATS, is_constant=True)

    # logic
    kLogicalNot = OpDefinition(REAL, BOOLEAN, onnx="Not")

    # casts
    kCast = OpDefinition(ALL, ANY)

    # tests and replacements
    kIsInf = OpDefinition(INTEGERS + FLOATS, BOOLEAN, alias="isinf")
    kIsNan = OpDefinition(INTEGERS + FLOATS, BOOLEAN, alias="isnan", onnx="IsNaN")
    kIsFinite = OpDefinition(INTEGERS + FLOATS, BOOLEAN, alias="isfinite")
    kNanAssign = OpDefinition(FLOATS)

    # bits
    kBitwiseNot = OpDefinition(BITS, order=FALLS, alias="bitwise_invert", onnx="BitwiseNot")

    # complex numbers
    kConj = OpDefinition(COMPLEXES, transposed="kConj")
    kReal = OpDefinition(COMPLEXES, PART, transposed="kRealGrad")
    kImag = OpDefinition(COMPLEXES, PART, transposed="kImagGrad")
    kRealGrad = OpDefinition(FLOATS, WHOLE, transposed="kReal")
    kImagGrad = OpDefinition(FLOATS, WHOLE, transposed="kImag")
