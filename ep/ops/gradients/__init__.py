"""Gradients: `vjp`, and the rule of each operator, which computes with operators alone."""

from ep.ops.gradients import elementwise, functions, moves, reductions
from ep.ops.gradients.vjp import as_result, has_gradient, ones_like, vjp, zeros_like

__all__ = [
    "as_result",
    "elementwise",
    "functions",
    "has_gradient",
    "moves",
    "ones_like",
    "reductions",
    "vjp",
    "zeros_like",
]
