"""The functors of the binary ops."""

from ep.common.functor.binary import (
    activation_backward,
    arithmetic,
    comparison,
    integer,
    logic,
    math_backward,
    piecewise_backward,
    power_backward,
    power_grad,
    special,
)

__all__ = [
    "activation_backward",
    "arithmetic",
    "comparison",
    "integer",
    "logic",
    "math_backward",
    "piecewise_backward",
    "power_backward",
    "power_grad",
    "special",
]
