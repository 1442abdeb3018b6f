"""Operators: functions on arrays that compute with primitives and nothing else.

`gather`, `expand`, `repeat`, and one function for each UnaryOp (but kCast) and BinaryOp, named in snake_case after the
enumerator. They take whatever NumPy makes an array of and what exports DLPack from host memory, and return ndarrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ep.ops import binary, unary
from ep.ops.arrays import Array
from ep.ops.expand import expand
from ep.ops.gather import gather
from ep.ops.repeat import repeat

globals().update(unary.FUNCTIONS)
globals().update(binary.FUNCTIONS)

__all__ = ["expand", "gather", "repeat"]
__all__ += [*unary.FUNCTIONS, *binary.FUNCTIONS]
__all__.sort()

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Array]:
        """The functions that come from the tables of ops."""
