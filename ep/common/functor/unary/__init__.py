"""The functors of the unary ops."""

from ep.common.functor.unary import activation, complex, logic, math, piecewise, special

__all__ = ["activation", "complex", "logic", "math", "piecewise", "special"]
