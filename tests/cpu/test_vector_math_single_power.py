"""pow in float32 arithmetic, for all operands and for ordinary ones, against long double."""

import ctypes
import ctypes.util

import numba
import numpy as np
import pytest

from ep.cpu.compile.jit import interleaved
from ep.cpu.vector_math.sets.names import FLOAT32
from ep.cpu.vector_math.single import power
from ep.testing.ulps import errors_in_ulps
from tests.cpu.outer import OUTER

SPECIAL = (
    *(0.0, 1e-45, 1e-40, 2.0**-126, 1e-30, 2.0**-24, 0.5, 0.9, 1 - 2**-24, 1.0, 1 + 2**-23, 1.1, 1.5, 2.0, 2.5, 3.0),
    *(7.0, 22.0, 100.0, 104.0, 128.0, 149.0, 150.0, 2.0**23 - 1, 2.0**23, 2.0**24, 2.0**24 + 2, 1e30, 3.4028235e38),
    *(np.inf, np.nan),
)


def _compiled(function):
    @interleaved
    def apply_to(x, y, z):
        for i in range(x.size):
            z[i] = function(x[i], y[i])

    @numba.njit(numba.void(*[numba.float32[::1]] * 3), **OUTER)
    def callable_from_python(x, y, z):
        apply_to(x, y, z)

    def apply(x, y):
        z = np.empty_like(x)
        callable_from_python(x, y, z)
        return z

    return apply


@pytest.fixture(scope="module")
def pow_of_any():
    return _compiled(power.pow)


def _samples():
    """Return bases of any exponent, near 1 and near the cuts; exponents for results of any size, and out of range."""
    rng = np.random.default_rng(11)
    count = 200_000
    near_one = 1 + rng.choice([-1.0, 1.0], count) * np.exp2(rng.uniform(-24, -1.5, count))
    cuts = rng.choice([8 / 9, 1.1, 18 / 13, 16 / 9], count) * (1 + rng.uniform(-0.02, 0.02, count))
    with np.errstate(all="ignore"):
        x = np.concatenate([np.exp2(rng.uniform(-149, 128, count)), near_one, cuts, rng.uniform(0, 10, count)])
        x = x.astype(np.float32)
        x = x[(x > 0) & (x != 1)]
        result = np.where(rng.random(x.size) < 0.5, rng.uniform(-152, 129, x.size), rng.uniform(110, 129, x.size))
        y = (rng.choice([-1, 1], x.size) * result / np.log2(x.astype(np.float64))).astype(np.float32)
    return x, y


def test_it_is_within_its_bound(pow_of_any):
    x, y = _samples()
    with np.errstate(all="ignore"):
        errors = errors_in_ulps(pow_of_any(x, y), x.astype(np.longdouble) ** y.astype(np.longdouble))
    worst = int(np.argmax(errors))
    assert errors[worst] <= FLOAT32["pow"].ulps, (x[worst], y[worst])


def test_it_follows_the_rules_of_c(pow_of_any):
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    libm.pow.restype, libm.pow.argtypes = ctypes.c_double, [ctypes.c_double] * 2
    values = np.array([*SPECIAL, *np.negative(SPECIAL)], np.float32)
    x, y = (v.ravel() for v in np.meshgrid(values, values))
    got = pow_of_any(x, y)
    want = np.array([libm.pow(float(a), float(b)) for a, b in zip(x, y, strict=True)])
    assert errors_in_ulps(got, want.astype(np.longdouble)).max() <= FLOAT32["pow"].ulps
    kept = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[kept]), np.signbit(want[kept]))


def test_nan_whatever_its_payload(pow_of_any):
    bits = np.random.default_rng(8).integers(1, 2**23, 5000) | 0x7F800000
    nan = np.concatenate([bits, bits | 0x80000000]).astype(np.uint32).view(np.float32)
    other = np.full_like(nan, 0.7)
    assert np.isnan(pow_of_any(nan, other)).all()
    assert np.isnan(pow_of_any(other, nan)).all()


def test_ordinary_powers_have_the_same_bits(pow_of_any):
    x, y = _samples()
    ordinary = (x >= 2.0**-126) & (abs(y.astype(np.float64) * np.log2(x.astype(np.float64))) < 126)
    x, y = x[ordinary], y[ordinary]
    assert pow_of_any(x, y).tobytes() == _compiled(power.pow_of_ordinary)(x, y).tobytes()
