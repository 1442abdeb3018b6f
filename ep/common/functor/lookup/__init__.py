"""The functor of every op: importing this declares them all, so that the table is full when it is asked."""

from ep.common.functor import binary, unary
from ep.common.functor.table import first_op, functor_maker

__all__ = ["binary", "first_op", "functor_maker", "unary"]
