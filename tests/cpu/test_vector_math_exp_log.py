"""The vector functions of exp and log against references of higher precision, over the whole domain."""

import ctypes
import ctypes.util
import math

import mpmath
import numba
import numpy as np
import pytest

from ep.cpu.vector_math.lookup import has_register_tables
from ep.cpu.vector_math.sets.names import FLOAT64
from ep.testing.ulps import errors_in_ulps
from tests.cpu.outer import OUTER

LONG = np.longdouble
COUNT = 50_000
SPECIAL = (
    *(0.0, 5e-324, 1e-310, 2.0**-1022, 1e-300, 1e-20, 2.0**-54, 2.0**-28, 0.5, 1 - 2**-53, 1.0, 1 + 2**-52, 2.0, 3.0),
    *(2.5, 7.0, 22.0, 37.0, 40.0, 2.0**28, 2.0**53, 2.0**53 + 2, 1e300, 1.7976931348623157e308, math.inf, math.nan),
    *(709.782712893384, 709.7827128933841, 745.1332191019411, 745.1332191019412, 708.3964185322641, 710.4758600739439),
    *(710.475860073944, 1024.0, 1023.9999999999999, 1022.0, 1074.0, 1075.0, 1074.9999999999998, 1075.0000000000002),
)

NAMES = [name for name, forms in FLOAT64.items() if forms.test == "test_vector_math_exp_log.py" and name != "pow"]
FUNCTIONS = [pytest.param(name, FLOAT64[name].computed, id=name) for name in NAMES]
if has_register_tables():
    TABLED = [name for name in NAMES if FLOAT64[name].tabled]
    FUNCTIONS += [pytest.param(name, FLOAT64[name].tabled, id=f"{name}-tables") for name in TABLED]
POW = FLOAT64["pow"].computed

pytestmark = pytest.mark.skipif(np.finfo(LONG).nmant < 63, reason="the references need a long double")


def _sigmoid(x):
    e = np.exp(-abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def _softplus(x):
    return np.where(x < 0, 0, x) + np.log1p(np.exp(-abs(x)))


REFERENCES = {
    **{name: getattr(np, name) for name in NAMES if hasattr(np, name)},
    **{"asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh},
    **{"sigmoid": _sigmoid, "softplus": _softplus, "logsigmoid": lambda x: -_softplus(-x)},
}


def compiled(function):
    """Return `function` compiled for arrays of float64."""
    if function is POW:

        @numba.njit(**OUTER)
        def binary(x, y, result):
            for i in range(result.size):
                result[i] = function(x[i], y[i])

        return lambda x, y: _filled(binary, x, y)

    @numba.njit(**OUTER)
    def unary(x, result):
        for i in range(result.size):
            result[i] = function(x[i])

    return lambda x: _filled(unary, x)


def _filled(loop, *operands):
    result = np.empty(operands[0].size)
    loop(*operands, result)
    return result


def samples(name):
    """Return arguments of any size, near 0, near 1 and where e^x is finite, and all special ones."""
    rng = np.random.default_rng(len(name))
    signs = rng.choice([-1.0, 1.0], COUNT)
    any_bits = rng.integers(0, 2**64, COUNT, dtype=np.uint64).view(np.float64)
    subnormal = rng.integers(0, 2**53, COUNT // 10, dtype=np.uint64).view(np.float64)
    parts = [
        *(SPECIAL, np.negative(SPECIAL), any_bits, abs(any_bits), subnormal),
        *(rng.uniform(-1, 1, COUNT), rng.uniform(-5, 5, COUNT), rng.uniform(0.5, 2, COUNT)),
        *(rng.uniform(-1080, 1026, COUNT), signs * np.exp(rng.uniform(-60, 3, COUNT))),
        *(1 + signs * np.exp(rng.uniform(-36, -1, COUNT)), np.arange(-1080.0, 1030.0)),
    ]
    return np.concatenate(parts)


@pytest.mark.parametrize(("name", "function"), FUNCTIONS)
def test_it_is_within_its_bound(name, function):
    x = samples(name)
    result = compiled(function)(x)
    with np.errstate(all="ignore"):
        errors = errors_in_ulps(result, REFERENCES[name](x.astype(LONG)), signed_zeros=True)
    worst = np.argmax(errors)
    assert errors[worst] <= FLOAT64[name].ulps, (x[worst], result[worst])


def _pow_samples():
    rng = np.random.default_rng(0)
    count = 2000
    any_size = abs(rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64))
    near_one = 1 + rng.normal(size=count) * np.exp(rng.uniform(-30, -2, count))
    x = np.concatenate([any_size, near_one, rng.uniform(0.7, 1.42, count), rng.uniform(0, 10, count)])
    x = x[np.isfinite(x) & (x > 0) & (x != 1)]
    y = rng.uniform(-1080, 1025, x.size) / np.log2(x)
    y[-count:] = rng.integers(-10, 20, count) / 2
    return x, y


def test_pow_is_within_its_bound():
    x, y = _pow_samples()
    result = compiled(POW)(x, y)
    worst = 0.0
    with mpmath.workprec(200):
        for a, b, got in zip(x.tolist(), y.tolist(), result.tolist(), strict=True):
            exact = mpmath.power(a, b)
            if math.isinf(got):
                assert exact >= mpmath.mpf(2) ** 1024 - mpmath.mpf(2) ** 970, (a, b)
                continue
            spacing = mpmath.ldexp(1, max(int(mpmath.frexp(exact)[1]) - 53, -1074))
            worst = max(worst, float(abs(got - exact) / spacing))
    assert worst <= FLOAT64["pow"].ulps


def test_pow_follows_the_rules_of_c():
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    libm.pow.restype, libm.pow.argtypes = ctypes.c_double, [ctypes.c_double] * 2
    with np.errstate(all="ignore"):
        values = np.concatenate([SPECIAL, np.negative(SPECIAL)])
        x, y = (v.ravel() for v in np.meshgrid(values, values))
        exact = np.array([libm.pow(float(a), float(b)) for a, b in zip(x, y, strict=True)])
        errors = errors_in_ulps(compiled(POW)(x, y), exact.astype(LONG), signed_zeros=True)
    worst = np.argmax(errors)
    assert errors[worst] <= 2, (x[worst], y[worst])


@pytest.mark.parametrize("name", [*NAMES, "pow"])
def test_a_loop_has_no_calls(name):
    function = FLOAT64[name].computed
    binary = name == "pow"

    @numba.njit(**OUTER)
    def loop(x, result):
        for i in range(result.size):
            result[i] = function(x[i], x[i]) if binary else function(x[i])

    loop(np.ones(1), np.ones(1))
    (text,) = loop.inspect_llvm().values()
    assert "<8 x double>" in text or "<4 x double>" in text or "<2 x double>" in text
