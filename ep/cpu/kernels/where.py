"""The row kernels of Where, by the sizes of its elements: bytes are copied unchanged."""

from __future__ import annotations

from functools import cache

from ep.common.functor.math_library import Scalar
from ep.common.stored_types import UNITS
from ep.cpu.compile.jit import jit
from ep.cpu.engine.map.inner_loop import RowFunctions, row_kernel


@cache
def where_kernel(cond_size: int, size: int, streaming: bool = False) -> int:
    """Return the address of the row kernel that selects elements of `size` bytes by integers of `cond_size` bytes.

    streaming: see `row_kernel`.
    """
    unit = UNITS[size]
    functions = RowFunctions((UNITS[cond_size], unit, unit), unit, _choose, light=True)
    return row_kernel(f"where.{cond_size}.{size}", functions, streaming)


@jit
def _choose(cond: Scalar, x: Scalar, y: Scalar) -> Scalar:
    return x if cond != 0 else y
