"""The row kernels of Where, by the sizes of its elements: bytes are moved as they are."""

from __future__ import annotations

from functools import cache

import numpy as np

from ep.common.stored_types import UNITS
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import loader, storer
from ep.cpu.engine.map.rows import RowFunctions, row_kernel
from ep.cpu.kernels.functors import attribute_reader


@cache
def where_kernel(cond_size: int, size: int, streaming: bool = False) -> int:
    """The address of the row kernel that chooses elements of `size` bytes by integers of `cond_size` bytes.

    streaming: see `row_kernel`.
    """
    load = loader(UNITS[size])
    functions = RowFunctions(
        (loader(UNITS[cond_size]), load, load),
        _choose,
        storer(UNITS[size]),
        attribute_reader(0, np.float64),
        light=True,
    )
    return row_kernel(f"where.{cond_size}.{size}", functions, streaming)


@jit
def _choose(cond, x, y):
    return x if cond != 0 else y
