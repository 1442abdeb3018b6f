"""Device memory in kernels: packs of elements, converted to and from the type of arithmetic.

An address is an int64. A *pack* is a tuple of elements that lie side by side and are moved at once; its address must be
a multiple of its bytes. On the device each function is an intrinsic, in the simulator its twin from `simulated_memory`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.common.stored_types import UNITS
from ep.cuda.compile.numba_cuda import SIMULATED
from ep.include.data_type import DataType


@cache
def loader(data_type: DataType, count: int, aligned: bool = True) -> Any:
    """Return `load(address, index)`: pack `index` of `count` elements of a buffer, in the type of arithmetic.

    aligned: whether addresses are multiples of the pack's bytes, and not only of a number's (of one part of a complex
    number).
    """
    return _implementation().loader(data_type, count, aligned)


@cache
def storer(data_type: DataType, count: int, aligned: bool = True) -> Any:
    """Return `store(address, index, pack)`: converts the pack's elements to `data_type` and writes pack `index`.

    Floating point converts to integers saturating, NaN to 0; to bool by `!= 0`; to a narrower floating type with one
    rounding to nearest even. Integers convert modulo 2^n. A real number becomes a complex one with imaginary part 0.
    """
    return _implementation().storer(data_type, count, aligned)


def unit_type(size: int) -> tuple[DataType, int]:
    """The data type and number of elements as which a unit of `size` (1, 2, 4, 8 or 16) bytes is moved."""
    return (DataType.kUInt64, 2) if size == 16 else (UNITS[size], 1)


@cache
def value_reader(scalar_type: type[np.generic]) -> Any:
    """Return `read(word0, word1)`: the number of a type of arithmetic whose bytes the two words begin with."""
    return _implementation().value_reader(scalar_type)


def _implementation() -> Any:
    if SIMULATED:
        from ep.cuda.compile import simulated_memory

        return simulated_memory
    from ep.cuda.compile import device_memory

    return device_memory
