"""The vector functions of trigonometry and the error function: accuracy, special values, and that loops vectorise."""

from functools import cache
from typing import Any

import numba
import numpy as np
import pytest

from ep.cpu.compile.memory import loader, storer
from ep.cpu.vector_math.lookup import has_register_tables
from ep.cpu.vector_math.sets.beyond_limit import functions_of_any
from ep.cpu.vector_math.sets.names import FLOAT64, LIMITED
from ep.cpu.vector_math.trigonometric import LIMIT
from ep.include.data_type import DataType
from ep.include.primitive import UnaryOp
from ep.testing.references.unary import exact
from ep.testing.ulps import errors_in_ulps
from tests.cpu.outer import OUTER

_NAMES = [name for name, forms in FLOAT64.items() if forms.test == "test_vector_math_trig_erf.py"]
_SLOW = ("erf", "erfc", "gelu")  # their references are mpmath's
# the forms of any processor, and those with register tables
_FORMS = [(name, "computed") for name in _NAMES]
_FORMS += [(name, "tabled") for name in _NAMES if FLOAT64[name].tabled and has_register_tables()]


@cache
def _row(name: str, form: str) -> Any:
    function = getattr(FLOAT64[name], form)
    load, store = loader(DataType.kDouble), storer(DataType.kDouble)

    def row(src, dst, begin, end):
        for i in range(begin, end):
            store(dst, i, function(load(src, i)))

    return numba.njit(numba.void(*[numba.int64] * 4), **OUTER)(row)


def _apply(name: str, form: str, x: np.ndarray) -> np.ndarray:
    y = np.empty_like(x)
    _row(name, form)(x.ctypes.data, y.ctypes.data, 0, x.size)
    return y


def _any_exponent(rng: np.random.Generator, count: int, low: int, high: int) -> np.ndarray:
    return np.ldexp(rng.uniform(1, 2, count), rng.integers(low, high, count)) * rng.choice([-1, 1], count)


def _samples(name: str, count: int) -> np.ndarray:
    rng = np.random.default_rng(20)
    if name in LIMITED:
        multiples = (rng.integers(1, 2**39, count).astype(np.longdouble) * (np.longdouble(np.pi) / 2)).astype(float)
        small = (np.arange(1, count) * (np.longdouble(np.pi) / 2)).astype(float)
        parts = [rng.uniform(-10, 10, 4 * count), _any_exponent(rng, count, -1074, 40), multiples, small, -small]
        parts += [_any_exponent(rng, count, -5, 5), [LIMIT, -LIMIT]]
    elif name == "atan":
        parts = [rng.uniform(-3, 3, 4 * count), _any_exponent(rng, count, -1074, 1023)]
    elif name in ("asin", "acos"):
        near_one = 1 - np.ldexp(rng.uniform(0.5, 1, count), rng.integers(-53, 0, count))
        parts = [rng.uniform(-1, 1, 4 * count), near_one, -near_one, _any_exponent(rng, count, -1074, 0)]
    else:
        low, high = {"erf": (-6.5, 6.5), "erfc": (-6.5, 27.4), "gelu": (-38.8, 9.0)}[name]
        parts = [rng.uniform(low, high, 2 * count), rng.uniform(-1.5, 1.5, count), _any_exponent(rng, count, -1074, 3)]
        parts += [np.linspace({"erf": 5.8, "erfc": 26.4, "gelu": -38.8}[name], {"gelu": -37.5}.get(name, high), count)]
    return np.concatenate(parts)


def _exact(name: str, x: np.ndarray) -> np.ndarray:
    """Return the values in long double."""
    return exact(UnaryOp[f"k{name.capitalize()}"], x)


@pytest.mark.parametrize(("name", "form"), _FORMS)
def test_float64_is_accurate(name: str, form: str) -> None:
    x = _samples(name, 1500 if name in _SLOW else 100_000)
    errors = errors_in_ulps(_apply(name, form, x), _exact(name, x))
    worst = int(np.argmax(errors))
    assert errors[worst] <= FLOAT64[name].ulps, x[worst]


@pytest.mark.parametrize(
    ("name", "minus_infinity", "minus_zero", "infinity"),
    [
        ("sin", np.nan, -0.0, np.nan),
        ("cos", np.nan, 1.0, np.nan),
        ("tan", np.nan, -0.0, np.nan),
        ("asin", np.nan, -0.0, np.nan),
        ("acos", np.nan, np.pi / 2, np.nan),
        ("atan", -np.pi / 2, -0.0, np.pi / 2),
        ("erf", -1.0, -0.0, 1.0),
        ("erfc", 2.0, 1.0, 0.0),
        ("gelu", -0.0, -0.0, np.inf),
    ],
)
def test_special_values(name: str, minus_infinity: float, minus_zero: float, infinity: float) -> None:
    x = np.array([-np.inf, -0.0, 0.0, np.inf, np.nan])
    want = np.array([minus_infinity, minus_zero, abs(minus_zero), infinity, np.nan])
    for form in [form for one, form in _FORMS if one == name]:
        got, numbers = _apply(name, form, x), ~np.isnan(want)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(want[numbers]))


@pytest.mark.parametrize(("name", "form"), [one for one in _FORMS if one[0] in ("asin", "acos")])
def test_no_value_outside_the_domain(name: str, form: str) -> None:
    assert np.isnan(_apply(name, form, np.array([1.0000000000000002, -1.0000000000000002, 2.0, -1e300]))).all()


@pytest.mark.parametrize(("name", "form"), [(name, form) for name, form in _FORMS if form != "tabled"])
def test_loops_vectorise(name: str, form: str) -> None:
    """For forms with register tables, test_code.py tests the loops in kernels."""
    row = _row(name, form)
    (code,) = row.inspect_llvm().values()
    assert "@llvm.fma.v" in code


@pytest.mark.parametrize("name", sorted(LIMITED))
def test_every_argument(name: str) -> None:
    function = functions_of_any()[name]

    def apply(values):
        for i in range(values.size):
            values[i] = function(values[i])

    apply_to = numba.njit(**OUTER)(apply)
    # the last two are the double that is nearest to a multiple of pi/2, and the largest
    x = np.array([1e6, -1e22, 1e300, 6381956970095103 * 2.0**797, np.finfo(np.float64).max])
    x = np.concatenate([x, _any_exponent(np.random.default_rng(3), 100_000, 30, 1024)])
    y = x.copy()
    apply_to(y)
    assert errors_in_ulps(y, _exact(name, x)).max() <= FLOAT64[name].ulps
    y = np.array([np.inf, -np.inf, np.nan])
    apply_to(y)
    assert np.isnan(y).all()
