"""Random inputs, generated fast enough for large arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
Order: TypeAlias = Literal["uniform", "sorted", "skewed", "equal"]

BEHIND_A_LINE: Final = 16
"""The bytes from the start of a cache line to an array of NumPy's."""
_LINE: Final = 64
_BLOCK: Final = 2**20 + 7  # the period of the random numbers, which does not affect the time of arithmetic


def array(dims: tuple[int, ...], dtype: np.dtype[Any], behind: int = BEHIND_A_LINE) -> Array:
    """Return an uninitialised array that begins `behind` bytes, 0 to 63, after the start of a cache line."""
    size = math.prod(dims) * dtype.itemsize
    memory = np.empty(size + _LINE, np.uint8)
    begin = (behind - memory.ctypes.data) % _LINE
    return memory[begin : begin + size].view(dtype).reshape(dims)


class Input(NamedTuple):
    """An array of random elements: small integers and normally distributed numbers, unless `special` draws it."""

    dims: tuple[int, ...]
    dtype: np.dtype[Any]
    special: Callable[[np.random.Generator], Array] | None = None

    @property
    def num_bytes(self) -> int:
        """The bytes of all elements."""
        return math.prod(self.dims) * self.dtype.itemsize

    def draw(self, rng: np.random.Generator) -> Array:
        """Return a new array from a random generator."""
        return numbers(rng, self.dims, self.dtype) if self.special is None else self.special(rng)


def within(dims: tuple[int, ...], dtype: np.dtype[Any], domain: tuple[float, float] | None) -> Input:
    """Return an array of numbers in [low, high) of a domain; without one, and of an integer dtype, of any."""
    return Input(dims, dtype, None if domain is None else lambda rng: numbers(rng, dims, dtype, *domain))


def rows_of(rows: int, dims: tuple[int, ...], dtype: np.dtype[Any], order: Order) -> Input:
    """Return an array of row numbers, as `indices` draws them."""
    return Input(dims, dtype, lambda rng: indices(rng, rows, dims, dtype, order))


def numbers(
    rng: np.random.Generator, dims: tuple[int, ...], dtype: np.dtype[Any], low: float | None = None, high: float = 0.0
) -> Array:
    """Return numbers in [low, high), or normally distributed ones; small integers for an integer dtype."""
    count = math.prod(dims)
    size = min(count, _BLOCK)
    block: Array
    if dtype.kind in "biu":
        least = 0 if dtype.kind in "bu" else -100
        block = rng.integers(least, 2 if dtype.kind == "b" else 100, size)
    elif low is None:
        block = rng.standard_normal(size)
    else:
        block = rng.uniform(low, high, size)
    return np.resize(block.astype(dtype), dims)


def indices(rng: np.random.Generator, rows: int, dims: tuple[int, ...], dtype: np.dtype[Any], order: Order) -> Array:
    """Return row numbers: uniform, in ascending order, a few far more frequent than most (like words), or equal."""
    if order == "equal":
        return np.full(dims, rows // 2, dtype)
    if order == "skewed":
        frequent_first = rng.permutation(rows).astype(dtype)
        return frequent_first[(rng.zipf(1.1, dims) - 1) % rows]
    made = rng.integers(0, rows, dims, dtype)
    if order == "sorted":
        made.sort(axis=-1)
    return made
