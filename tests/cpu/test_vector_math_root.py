"""rsqrt in float64, without the instructions for roots and quotients."""

import numba
import numpy as np
import pytest

from ep.cpu.compile.jit import interleaved
from ep.cpu.vector_math.root import rsqrt
from ep.cpu.vector_math.sets.names import FLOAT64
from ep.testing.ulps import errors_in_ulps
from tests.cpu.outer import OUTER

LARGEST_BITS = 0x7FEFFFFFFFFFFFFF


@pytest.fixture(scope="module")
def loop():
    @interleaved
    def apply_to(x, y):
        for i in range(x.size):
            y[i] = rsqrt(x[i])

    def callable_from_python(x, y):
        apply_to(x, y)

    arrays = numba.float64[::1], numba.float64[::1]
    return numba.njit(numba.void(*arrays), **OUTER)(callable_from_python)


@pytest.fixture(scope="module")
def apply(loop):
    def function(x):
        y = np.empty_like(x)
        loop(x, y)
        return y

    return function


def test_it_is_within_its_bound(apply):
    rng = np.random.default_rng(12)
    any_exponent = rng.integers(1, LARGEST_BITS, 300_000).view(np.float64)
    subnormal = np.concatenate([np.arange(1, 1000), rng.integers(1, 2**52, 20_000)]).view(np.float64)
    largest = (LARGEST_BITS - np.arange(1000)).view(np.float64)
    near_one = 1 + np.exp2(rng.uniform(-53, 0, 50_000)) * rng.choice([-1.0, 1.0], 50_000)
    x = np.concatenate(
        [any_exponent, subnormal, largest, near_one, 4 * near_one[near_one > 0], rng.uniform(1, 4, 300_000)]
    )
    errors = errors_in_ulps(apply(x), 1 / np.sqrt(x.astype(np.longdouble)))
    worst = int(np.argmax(errors))
    assert errors[worst] <= FLOAT64["rsqrt"].ulps, x[worst]


def test_special_values(apply):
    x = np.array([0.0, -0.0, np.inf, -np.inf, -1.0, -5e-324, np.nan, 1.0, 4.0, 0.25, 2.0**-1074])
    want = [np.inf, -np.inf, 0.0, np.nan, np.nan, np.nan, np.nan, 1.0, 0.5, 2.0, 2.0**537]
    np.testing.assert_array_equal(apply(x), want)


def test_loops_are_packed_and_without_slow_instructions(loop):
    (code,) = loop.inspect_llvm().values()
    assert "x double> @llvm.fma.v" in code
    body = code.partition("define")[2].partition("\n}\n")[0]
    assert "fdiv" not in body
    assert "llvm.sqrt" not in body
