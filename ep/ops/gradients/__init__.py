"""Gradients: `vjp`, and the rule of each operator, which computes with operators alone."""

from ep.ops.gradients import elementwise, functions, moves, reductions, scatters
from ep.ops.gradients.vjp import has_gradient, vjp

__all__ = ["elementwise", "functions", "has_gradient", "moves", "reductions", "scatters", "vjp"]
