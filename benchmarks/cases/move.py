"""Cases of permutations, pads, slices, joins, copies and memsets, all bound by memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from benchmarks.cases.common import shape
from ep.bench.builders_move import copy_bytes, cut, join, pad, permute, set_bytes
from ep.bench.case import Case

_SMALLEST: Final = 64
"""The size below which there is one case: the result has too few elements for the axes of the others."""


def permute_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield transposes of a matrix with odd sides, of attention heads, of channels, and of all axes."""
    about: dict[str, Any] = {"dtype": dtype, "group": "permute"}
    side = math.isqrt(size)
    yield permute("matrix", (side + 1, max(side - 1, 1)), (1, 0), **about)
    if size < _SMALLEST:
        return
    a, b, c, d = shape(size, 4)
    yield permute("heads", (a, c, b, d), (0, 2, 1, 3), **about)
    images, height, width = shape(size // 3, 3)
    yield permute("channels first", (images, height, width, 3), (0, 3, 1, 2), **about)
    yield permute("channels last", (images, 3, height, width), (0, 2, 3, 1), **about)
    yield permute("three axes reversed", shape(size, 3), (2, 1, 0), **about, core=False)


def pad_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield borders around a vector, a matrix and images, and one that is cut off."""
    about: dict[str, Any] = {"dtype": dtype, "group": "pad"}
    yield pad("pad a vector", (size,), (1,), (0,), **about)
    if size < _SMALLEST:
        return
    rows, columns = shape(size, 2)
    yield pad("pad a matrix", (rows - 3, columns - 3), (1, 2), (2, 1), **about)
    images, channels, height, width = shape(size, 4)
    yield pad("pad images", (images, channels, height - 2, width - 2), (0, 0, 1, 1), (0, 0, 1, 1), **about)
    yield pad("crop a matrix", (rows + 2, columns + 2), (-1, -1), (-1, -1), **about, core=False)


def copy_nd_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield copies of boxes out of larger arrays, and into them."""
    about: dict[str, Any] = {"dtype": dtype, "group": "copy-nd"}
    rows, columns = shape(size, 2)
    yield cut("rows", (rows + 2, columns), (1, 0), (rows, columns), **about)
    yield cut("columns", (rows, columns + 3), (0, 1), (rows, columns), **about)
    if size < _SMALLEST:
        return
    a, b, c = shape(size, 3)
    yield cut("box", (a + 1, b + 1, c + 1), (1, 0, 1), (a, b, c), **about, core=False)
    yield join("join along the first axis", (rows // 2, columns), 0, **about, core=False)
    yield join("join along the last axis", (rows, columns // 2), 1, **about, core=False)


def memcpy_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield a plain copy."""
    yield copy_bytes("copy bytes", (size,), dtype, group="memcpy")


def memset_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield a memset of every byte."""
    yield set_bytes("set bytes", (size,), dtype, group="memset")
