"""The operations of one operand."""

from enum import Enum, auto


class UnaryOp(Enum):
    """The operations of one operand: upstream's, with its names and order (`unary_op.h`), then others."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[int]) -> int:
        return count  # upstream counts from 0

    kIdentity = auto()

    # activations
    kElu = auto()
    kCelu = auto()
    kRelu = auto()
    kGelu = auto()
    kHardSwish = auto()
    kHardSigmoid = auto()
    kHardShrink = auto()
    kHardTanh = auto()
    kLeakyRelu = auto()
    kMish = auto()
    kSelu = auto()
    kSilu = auto()
    kSoftShrink = auto()
    kSoftSign = auto()
    kSoftPlus = auto()
    kTanh = auto()
    kThreshold = auto()
    kFastGelu = auto()
    kQuickGelu = auto()
    kSquareReLU = auto()

    # mathematics
    kAbs = auto()
    kAcos = auto()
    kAcosh = auto()
    kAsin = auto()
    kAsinh = auto()
    kAtan = auto()
    kAtanh = auto()
    kCeil = auto()
    kCos = auto()
    kCosh = auto()
    kDigamma = auto()
    kTrigamma = auto()
    kErf = auto()
    kErfc = auto()
    kExp = auto()
    kExp2 = auto()
    kExpm1 = auto()
    kFloor = auto()
    kLgamma = auto()
    kLog = auto()
    kLog2 = auto()
    kLog10 = auto()
    kLog1p = auto()
    kLogSigmoid = auto()
    kNegative = auto()
    kReciprocal = auto()
    kReciprocalNoNan = auto()
    kRint = auto()
    kRound = auto()
    kRsqrt = auto()
    kSigmoid = auto()
    kSign = auto()
    kSin = auto()
    kSinh = auto()
    kSqrt = auto()
    kSquare = auto()
    kTan = auto()
    kTrunc = auto()
    kNotEqualZero = auto()

    # logic
    kLogicalNot = auto()

    # casts
    kCast = auto()

    # tests and replacements
    kIsInf = auto()
    kIsNan = auto()
    kIsFinite = auto()
    kNanAssign = auto()

    # bits
    kBitwiseNot = auto()

    # complex numbers
    kConj = auto()
    kReal = auto()
    kImag = auto()
    kRealGrad = auto()
    kImagGrad = auto()
