"""The attributes of ops: what `attr0` and `attr1` of `New` mean, and what they are when left out."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.unary_op import UnaryOp


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of an op.

    default: upstream's user-level one; None where a value must be given.
    stored: whether the value is looked for among elements that another op has stored, rounded to their data type.
    """

    name: str
    default: float | None
    stored: bool = False


_ALPHA_1 = (Attribute("alpha", 1.0),)
_LEAKY = (Attribute("alpha", 0.01),)
_SHRINK = (Attribute("lambda", 0.5),)
_SOFT_SHRINK = (Attribute("alpha", 0.5),)
_CLAMP = (Attribute("min", -1.0), Attribute("max", 1.0))
_CLAMPED = (Attribute("min", -1.0, stored=True), Attribute("max", 1.0, stored=True))
_SOFT_PLUS = (Attribute("beta", 1.0), Attribute("threshold", 20.0))
_CLOSE = (Attribute("atol", 1e-8), Attribute("rtol", 1e-5))

ATTRIBUTES: Mapping[Enum | None, tuple[Attribute, ...]] = {
    UnaryOp.kElu: _ALPHA_1,
    UnaryOp.kCelu: _ALPHA_1,
    UnaryOp.kHardShrink: _SHRINK,
    UnaryOp.kHardTanh: _CLAMP,
    UnaryOp.kLeakyRelu: _LEAKY,
    UnaryOp.kSoftShrink: _SOFT_SHRINK,
    UnaryOp.kSoftPlus: _SOFT_PLUS,
    UnaryOp.kThreshold: (Attribute("threshold", None), Attribute("value", None)),
    BinaryOp.kScalarBasePowerGrad: (Attribute("exponent", None),),
    BinaryOp.kScalarExpPowerGrad: (Attribute("base", None),),
    BinaryOp.kIsClose: _CLOSE,
    BinaryOp.kIsCloseEqualNan: _CLOSE,
    BinaryOp.kEluBackwardWithDyX: _ALPHA_1,
    BinaryOp.kCeluBackwardWithDyY: _ALPHA_1,
    # The two shrinks' gradients follow from y alone; upstream's callers pass the attribute all the same.
    BinaryOp.kHardshrinkBackwardWithDyY: _SHRINK,
    BinaryOp.kSoftshrinkBackwardWithDyY: _SOFT_SHRINK,
    BinaryOp.kHardtanhBackwardWithDyY: _CLAMPED,
    BinaryOp.kLeakyReluBackwardWithDyX: _LEAKY,
    BinaryOp.kSoftplusBackwardWithDyX: _SOFT_PLUS,
    BinaryOp.kThresholdBackwardWithDyX: (Attribute("threshold", None),),
}
"""The ops that have attributes, in the order (attr0, attr1); an op that is not here has none."""
