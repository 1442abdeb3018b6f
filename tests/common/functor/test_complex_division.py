"""Quotients of complex numbers of any size, against mpmath."""

import mpmath
import numpy as np
import pytest

from ep import BinaryOp
from tests.common.functor.test_binary import evaluate

BOUND = 4  # in ulps of the larger part of the quotient
COUNT = 2_003


def numbers(rng, scalar_type):
    """Return normal and subnormal numbers; in half of them, both parts are about equally large."""
    info = np.finfo(scalar_type)
    low, high = info.minexp - info.nmant, info.maxexp - 2
    exponents = rng.integers(low, high, (2, COUNT))
    exponents[1, ::2] = np.clip(exponents[0, ::2] + rng.integers(-3, 4, exponents[0, ::2].size), low, high)
    parts = np.ldexp(rng.uniform(1, 2, (2, COUNT)) * rng.choice([-1, 1], (2, COUNT)), exponents)
    return (parts[0] + 1j * parts[1]).astype(scalar_type)


@pytest.mark.parametrize("scalar_type", [np.complex64, np.complex128])
def test_any_size(rng, scalar_type):
    a, b = numbers(rng, scalar_type), numbers(rng, scalar_type)
    got, info = evaluate(BinaryOp.kDiv, a, b), np.finfo(scalar_type)
    for x, y, z in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
        with mpmath.workdps(60):
            want = mpmath.mpc(x) / mpmath.mpc(y)
            longest = max(abs(want.real), abs(want.imag))
            if longest >= float(info.max):
                assert not np.isfinite(z), (x, y, z)
                continue
            spacing = mpmath.ldexp(float(info.eps), int(mpmath.floor(mpmath.log(max(longest, float(info.tiny)), 2))))
            error = max(abs(z.real - want.real), abs(z.imag - want.imag)) / spacing
        assert error <= BOUND, (x, y, z, float(error))


@pytest.mark.parametrize("scalar_type", [np.complex64, np.complex128])
def test_a_number_by_itself_is_1(rng, scalar_type):
    z = numbers(rng, scalar_type)
    assert (evaluate(BinaryOp.kDiv, z, z) == 1).all()
