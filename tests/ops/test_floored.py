"""`//` and `%` of floating-point numbers, as docs/semantics.md describes them beside Python's."""

import math

import numpy as np
import pytest

import ep
from ep.common.arrays.operators import Operators
from ep.include.number_kind import FLOATS
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed

INF, NAN = math.inf, math.nan
DOCUMENTED = [(1, 0.1, 10), (-1, INF, -0.0), (INF, 1, INF), (1, 0, INF), (-1, 0, -INF), (0, 0, NAN), (7.5, -2, -4)]
"""Dividends, divisors and quotients in float64."""
REMAINDERS = [(1, 0.1, 1 % 0.1), (-4, 2, -0.0), (4, -2, 0.0), (-1, INF, INF), (1, 0, NAN), (7.5, -2, -0.5)]


def same(got, wanted):
    """Compare numbers and the signs of zeros; all NaN are alike."""
    got, wanted = (np.asarray(one).astype(np.float64) for one in (got, wanted))
    np.testing.assert_array_equal(got, wanted)
    known = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got)[known], np.signbit(wanted)[known])


@pytest.fixture
def results(device):
    """A function that yields the results of an operator by its function, by its symbol, and fused with numbers."""

    def results(name, symbol, a, b):
        x, y = placed(device, a), placed(device, b)
        yield host(getattr(ep.ops, name)(x, y))
        yield host(ep.fuse(symbol)(x, y))
        numbers = b.tolist()
        pairs = host(ep.fuse(lambda x: ep.ops.stack([symbol(x, one) for one in numbers]))(x))
        yield pairs[range(len(numbers)), range(len(numbers))]

    return results


@pytest.mark.parametrize(
    ("name", "symbol", "cases"),
    [("floor_div", lambda x, y: x // y, DOCUMENTED), ("floor_mod", lambda x, y: x % y, REMAINDERS)],
    ids=["floor_div", "floor_mod"],
)
def test_what_is_documented(name, symbol, cases, results):
    a, b, wanted = (np.array(one, np.float64) for one in zip(*cases, strict=True))
    for got in results(name, symbol, a, b):
        same(got, wanted)


@pytest.mark.parametrize("data_type", FLOATS, ids=lambda one: one.name)
def test_every_floating_type(data_type, device, rng):
    """The rounded quotient, rounded down, and the exact remainder, rounded once."""
    dtype = data_type.dtype
    a = np.concatenate([rng.normal(0, 9, 67), rng.integers(-9, 9, 67)]).astype(dtype)
    b = np.concatenate([rng.normal(0, 1, 67), rng.choice([-3, -2, -1, 1, 2, 3], 67)]).astype(dtype)
    wide = np.float64 if dtype == np.float64 else np.float32
    quotients = np.floor(a.astype(wide) / b.astype(wide)).astype(dtype)
    remainders = []
    for x, y in zip(a.astype(wide), b.astype(wide), strict=True):
        remainder = wide(math.fmod(x, y))
        remainders.append(remainder + y if remainder and (remainder < 0) != (y < 0) else remainder)
    x, y = placed(device, a), placed(device, b)
    same(host(ep.ops.floor_div(x, y)), quotients)
    same(host(ep.ops.remainder(x, y)), np.array(remainders, wide).astype(dtype))


def test_docstrings_refer_to_the_page_that_has_the_rules():
    for name in ("floor_div", "floor_divide", "floor_mod", "remainder"):
        assert "docs/semantics.md" in getattr(ep.ops, name).__doc__
    for symbol, name in ((Operators.__floordiv__, "floor_div"), (Operators.__mod__, "floor_mod")):
        assert f"ep.ops.{name}" in symbol.__doc__
        assert "docs/semantics.md" in symbol.__doc__
