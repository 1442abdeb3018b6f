"""The operations of two operands."""

from enum import Enum, auto


class BinaryOp(Enum):
    """The operations of two operands: upstream's, with its names and order (`binary_op.h`), then others."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[int]) -> int:
        return count  # upstream counts from 0

    # mathematics
    kAdd = auto()
    kSub = auto()
    kMul = auto()
    kDiv = auto()
    kMax = auto()
    kMin = auto()
    kPow = auto()
    kFmod = auto()
    kFloorDiv = auto()
    kTruncDiv = auto()
    kFloorMod = auto()
    kScalarBasePowerGrad = auto()
    kScalarExpPowerGrad = auto()
    kZeta = auto()

    # comparisons
    kEqual = auto()
    kNotEqual = auto()
    kLessThan = auto()
    kLessEqual = auto()
    kGreaterThan = auto()
    kGreaterEqual = auto()
    kIsClose = auto()
    kIsCloseEqualNan = auto()

    # logic
    kLogicalAnd = auto()
    kLogicalOr = auto()
    kLogicalXor = auto()

    # bits
    kBitwiseAnd = auto()
    kBitwiseOr = auto()
    kBitwiseXor = auto()

    # backward ops of the unary ops: src0 is dy, src1 is x or y
    kIdentityBackwardWithDyX = auto()
    kEluBackwardWithDyX = auto()
    kCeluBackwardWithDyY = auto()
    kGeluBackwardWithDyX = auto()
    kHardswishBackwardWithDyX = auto()
    kHardsigmoidBackwardWithDyX = auto()
    kHardshrinkBackwardWithDyY = auto()
    kHardtanhBackwardWithDyY = auto()
    kLeakyReluBackwardWithDyX = auto()
    kMishBackwardWithDyX = auto()
    kReluBackwardWithDyY = auto()
    kReluBackwardWithDyX = auto()
    kSeluBackwardWithDyX = auto()
    kSiluBackwardWithDyX = auto()
    kSoftsignBackwardWithDyX = auto()
    kSoftplusBackwardWithDyX = auto()
    kSoftshrinkBackwardWithDyY = auto()
    kTanhBackwardWithDyY = auto()
    kThresholdBackwardWithDyX = auto()
    kSigmoidBackwardWithDyY = auto()
    kSigmoidBackwardWithDyX = auto()
    kAbsBackwardWithDyX = auto()
    kAcosBackwardWithDyX = auto()
    kAcoshBackwardWithDyX = auto()
    kAsinBackwardWithDyX = auto()
    kAsinhBackwardWithDyX = auto()
    kAtanBackwardWithDyX = auto()
    kAtanhBackwardWithDyX = auto()
    kCosBackwardWithDyX = auto()
    kCoshBackwardWithDyX = auto()
    kErfBackwardWithDyX = auto()
    kErfcBackwardWithDyX = auto()
    kExpBackwardWithDyX = auto()
    kExp2BackwardWithDyX = auto()
    kExpm1BackwardWithDyX = auto()
    kLgammaBackwardWithDyX = auto()
    kDigammaBackwardWithDyX = auto()
    kLogBackwardWithDyX = auto()
    kLog2BackwardWithDyX = auto()
    kLog10BackwardWithDyX = auto()
    kLog1pBackwardWithDyX = auto()
    kLogSigmoidBackwardWithDyX = auto()
    kReciprocalBackwardWithDyX = auto()
    kReciprocalNoNanBackwardWithDyX = auto()
    kRsqrtBackwardWithDyX = auto()
    kSinBackwardWithDyX = auto()
    kSinhBackwardWithDyX = auto()
    kSqrtBackwardWithDyX = auto()
    kSquareBackwardWithDyX = auto()
    kTanBackwardWithDyX = auto()
    kFastGeluBackwardWithDyX = auto()
    kQuickGeluBackwardWithDyX = auto()
    kSquareReLUBackwardWithDyX = auto()
