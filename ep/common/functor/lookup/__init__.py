"""The lookup of functors by op. Importing this declares all functors, so the table is complete before it is used."""

from ep.common.functor import binary, unary
from ep.common.functor.table import first_op, functor_maker

__all__ = ["binary", "first_op", "functor_maker", "unary"]
