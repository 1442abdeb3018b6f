"""The keys of elements in the order of an ArgSort, in compiled code: the least comes first."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.common.functor.math_library import Scalar
from ep.cpu.compile.jit import jit, separate
from ep.cpu.compile.memory import loader
from ep.cpu.engine.reduce.sort_plan import SortLoops
from ep.include.data_type import DataType


@cache
def key_reader(bits: DataType, is_float: bool) -> Any:
    """Return key(x, index, turn, infinity, nan): the key of an element, by the numbers of `KeyWords` in its type."""
    T, load, magnitude_bits = bits.dtype.type, loader(bits), bits.dtype.type(np.iinfo(bits.dtype).max)

    @jit
    def key_of_integer(x: int, index: int, turn: Scalar, infinity: Scalar, nan: Scalar) -> Scalar:
        return T(load(x, index) ^ turn)

    @jit
    def key_of_float(x: int, index: int, turn: Scalar, infinity: Scalar, nan: Scalar) -> Scalar:
        number = load(x, index)
        magnitude = T(number & magnitude_bits)
        key = T((T(-magnitude) if number < 0 else magnitude) ^ turn)
        return nan if magnitude > infinity else key

    return key_of_float if is_float else key_of_integer


@cache
def key_numbers(bits: DataType) -> Any:
    """Return numbers(plan): the turn, the infinity and the NaN of a plan, in the type of the keys."""
    T = bits.dtype.type

    @jit
    def numbers(plan: SortLoops) -> tuple[Scalar, Scalar, Scalar]:
        turn, infinity = plan.turn, plan.infinity
        return T(turn), T(infinity), T(plan.nan)

    return numbers


@cache
def least_key(bits: DataType, is_float: bool) -> Any:
    """Return least(x, at, step, count, turn, infinity, nan): the least key of elements in equal distances."""
    key_of = key_reader(bits, is_float)

    @separate
    def least_of_adjacent(x: int, at: int, count: int, turn: Scalar, infinity: Scalar, nan: Scalar) -> Scalar:
        least = key_of(x, at, turn, infinity, nan)
        for n in range(1, count):
            key = key_of(x, at + n, turn, infinity, nan)
            least = key if key < least else least
        return least

    @separate
    def least_of(x: int, at: int, step: int, count: int, turn: Scalar, infinity: Scalar, nan: Scalar) -> Scalar:
        if step == 1:
            return least_of_adjacent(x, at, count, turn, infinity, nan)
        least = key_of(x, at, turn, infinity, nan)
        for n in range(1, count):
            key = key_of(x, at + n * step, turn, infinity, nan)
            least = key if key < least else least
        return least

    return least_of
