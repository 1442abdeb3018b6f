"""Expressions: operators that are noted first, and then computed in few kernels."""

from ep.expressions.block import lazy
from ep.expressions.fused import fuse

__all__ = ["fuse", "lazy"]
