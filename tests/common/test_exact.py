"""Keys that distinguish values that compare equal."""

import copy
import enum
import math

import numpy as np
import pytest

from ep.common.exact import Inexact, exact
from ep.common.numbers import Numbers
from ep.common.scalar import number_key
from ep.include.data_type import DataType


class Colour(enum.IntEnum):
    RED = 1


APART = [
    *(1, True, 1.0, 1 + 0j, Colour.RED, np.int64(1), np.int32(1), np.float64(1), np.bool_(True), "1"),
    *(0, False, 0.0, -0.0, 0j, complex(0.0, -0.0), complex(-0.0, 0.0), None, ..., ""),
    *(math.nan, math.inf, -math.inf, float, int, np.float64, np.dtype("f8"), np.dtype(">f8"), DataType.kDouble),
    *((), [], (1,), [1], (True,), (1.0,), ((1,),), (0.0,), (-0.0,), (1, (2,)), ((1, 2),)),
    *(slice(1), slice(True), slice(1.0), slice(1, None, 1), slice(0, 1), slice(-0.0, 1), slice(None)),
]


def test_exact_keys_are_different():
    assert len({exact(value) for value in APART}) == len(APART)


def test_exact_keys_know_a_value_again():
    for value in APART:
        assert exact(value) == exact(copy.deepcopy(value))
    assert exact(float("nan")) == exact(float("nan"))
    assert exact([1, (2.0, slice(3))]) == exact([1, (2.0, slice(3))])


class Index:
    def __index__(self):
        return 1


class Odd(int):
    pass


@pytest.mark.parametrize(
    "value", [Index(), Odd(1), np.zeros(2), {1: 2}, {1}, [Index()], [0] * 65, slice(Index()), Index]
)
def test_values_without_an_exact_key(value):
    with pytest.raises(Inexact):
        exact(value)


class Alike(float):
    def __repr__(self):
        return "a number"


def test_numbers_that_are_shown_alike():
    assert number_key(Alike(1)) != number_key(Alike(2))
    numbers = Numbers(DataType.kFloat)
    assert [numbers.array(Alike(value), "x")[()] for value in (1, 2)] == [1, 2]
    assert [math.copysign(1, numbers.array(value, "x")[()]) for value in (0.0, -0.0, 0.0)] == [1, -1, 1]
    assert numbers.array(2.5, "x") is numbers.array(5 / 2, "x")
    with pytest.raises(ValueError, match="read-only"):
        numbers.array(2.5, "x")[...] = 3
