"""Functors: the meaning of every UnaryOp and BinaryOp on one element, written once for all devices."""

from ep.common.functor import binary, unary
from ep.common.functor.math_library import ELEMENTARY, MathLibrary
from ep.common.functor.table import first_op, functor_maker

__all__ = ["ELEMENTARY", "MathLibrary", "binary", "first_op", "functor_maker", "unary"]
