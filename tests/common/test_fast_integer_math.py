"""FastIntegerMath against Python's division, over the whole range of dividends and divisors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.common.fast_integer_math import FastIntegerMath, quotient

LAST_32 = np.arange(2**31 - 64, 2**31, dtype=np.uint64)


def around_powers_of_two(bits, distance):
    """Return every number from 1 to 2^(bits-1) - 1 within `distance` of a power of two."""
    powers = (1 << exponent for exponent in range(bits))
    near = {power + step for power in powers for step in range(-distance, distance + 1)}
    return sorted(number for number in near if 1 <= number < 1 << (bits - 1))


def in_32_bit_words(n, math):
    """Return quotients of an array of uint64 as a kernel computes them, which keeps the low 32 bits of each step."""
    product = n * np.uint64(math.multiplier)
    upper = (product >> np.uint64(32)).astype(np.uint32)
    return (upper + n.astype(np.uint32)) >> np.uint32(math.shift)


def test_words_fit():
    for bits in (32, 64):
        for divisor in around_powers_of_two(bits, 40):
            math = FastIntegerMath(divisor, bits)
            assert 1 <= math.multiplier < 1 << bits
            assert 0 <= math.shift < bits


def test_boundaries_of_32_bits():
    """Divide numbers next to powers of two and to multiples of the divisor by divisors next to powers of two."""
    fixed = np.array([0, *around_powers_of_two(32, 33)], np.uint64)
    for divisor in around_powers_of_two(32, 33):
        math = FastIntegerMath(divisor)
        last = (2**31 - 1) // divisor
        quotients = np.unique(np.array([*range(0, 40), *range(max(last - 40, 0), last + 1)], np.uint64).clip(0, last))
        multiples = quotients * np.uint64(divisor)
        n = np.concatenate([fixed, multiples, multiples + np.uint64(divisor - 1), LAST_32])
        n = n[n < 2**31]
        np.testing.assert_array_equal(in_32_bit_words(n, math), n // np.uint64(divisor))


@pytest.mark.parametrize("first", [1, 2**15 - 2000, 2**16 - 2000, 2**24 - 2000, 2**30 - 2000, 2**31 - 4000])
def test_dense_divisors(first, rng):
    """Test all divisors of a range with multiples at which a wrong multiplier fails first, and random dividends."""
    random = rng.integers(0, 2**31, 64, dtype=np.uint64)
    for divisor in range(first, first + 4000):
        math = FastIntegerMath(divisor)
        last = np.uint64((2**31 - 1) // divisor * divisor)
        n = np.concatenate(
            [random, LAST_32[-2:], np.array([0, divisor - 1, divisor, last - np.uint64(1), last], np.uint64)]
        )
        np.testing.assert_array_equal(in_32_bit_words(n, math), n // np.uint64(divisor))


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 641, 65535, 65537, 6700417, 2**30 + 1, 2**31 - 1])
def test_dense_dividends(divisor):
    math = FastIntegerMath(divisor)
    for first in (0, 2**16 - 50_000, 2**30 - 50_000, 2**31 - 100_000):
        n = np.arange(max(first, 0), max(first, 0) + 100_000, dtype=np.uint64)
        np.testing.assert_array_equal(in_32_bit_words(n, math), n // np.uint64(divisor))


def test_boundaries_of_64_bits():
    numbers = [0, *around_powers_of_two(64, 3)]
    for divisor in numbers[1:]:
        math = FastIntegerMath(divisor, 64)
        last = (2**63 - 1) // divisor * divisor
        for n in (*numbers, divisor - 1, last, last - 1, max(last - divisor, 0)):
            assert math.divmod(n) == divmod(n, divisor)
            assert (n * math.multiplier >> 64) + n < 2**64


def test_in_code_compiled_for_the_cpu(rng):
    """Test it on int64, as kernels use it."""
    import numba

    from ep.cpu.compile.jit import jit
    from tests.cpu.outer import OUTER

    divide = jit(quotient)

    @numba.njit(**OUTER)
    def divided(numbers, multiplier, shift, result):
        for i in range(numbers.size):
            result[i] = divide(numbers[i], multiplier, shift, 32)

    for divisor in (1, 2, 3, 641, 65537, 2**30 + 1, 2**31 - 1):
        numbers = np.concatenate([[0, divisor - 1, divisor, 2**31 - 1], rng.integers(0, 2**31, 100)])
        numbers = numbers[numbers < 2**31]
        math, result = FastIntegerMath(divisor), np.zeros_like(numbers)
        divided(numbers, math.multiplier, math.shift, result)
        np.testing.assert_array_equal(result, numbers // divisor)


@given(bits=st.sampled_from([32, 64]), data=st.data())
def test_any_numbers(bits, data):
    top = 2 ** (bits - 1) - 1
    divisor, n = data.draw(st.integers(1, top)), data.draw(st.integers(0, top))
    math = FastIntegerMath(divisor, bits)
    assert math.divide(n) == n // divisor
    assert math.remainder(n) == n % divisor


@pytest.mark.parametrize(("divisor", "bits"), [(0, 32), (-1, 32), (2**31, 32), (2**63, 64), (3, 16)])
def test_refusals(divisor, bits):
    with pytest.raises(ValueError, match="must be"):
        FastIntegerMath(divisor, bits)
    with pytest.raises(TypeError):
        FastIntegerMath(3.0)
