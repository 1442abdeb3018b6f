"""Expressions: operators that are recorded first, and then computed in few kernels."""

from ep.expressions.block import lazy
from ep.expressions.fused import fuse
from ep.expressions.gradient import grad, value_and_grad

__all__ = ["fuse", "grad", "lazy", "value_and_grad"]
