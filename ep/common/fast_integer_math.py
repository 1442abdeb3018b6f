"""Division by an invariant divisor, as a multiplication and a shift.

The method is Granlund and Montgomery's (Division by Invariant Integers using Multiplication, PLDI 1994, figure 4.1).
"""

from __future__ import annotations

import operator
from typing import Final

from ep.include.errors import ArgumentValueError

BITS: Final = (32, 64)


def quotient(n: int, multiplier: int, shift: int, bits: int = 32) -> int:
    """Return n divided by the divisor of `multiplier` and `shift`, rounded down.

    Kernels compute the same in `bits` bits.
    The sum stays below 2^bits: n is below 2^(bits-1), and so is the upper half of its product.
    """
    return ((n * multiplier >> bits) + n) >> shift


class FastIntegerMath:
    """Quotients and remainders by one divisor, of numbers from 0 to 2^31 - 1 (with 64 bits, to 2^63 - 1).

    multiplier, shift: the numbers that a kernel needs besides the divisor; both fit in `bits` unsigned bits.
    """

    __slots__ = ("bits", "divisor", "multiplier", "shift")

    def __init__(self, divisor: int, bits: int = 32) -> None:
        """divisor: from 1 to 2^(bits-1) - 1; bits: 32 or 64. Raises ValueError for any other."""
        if bits not in BITS:
            raise ArgumentValueError("bits", f"is {bits}; it must be 32 or 64")
        self.bits, self.divisor = bits, operator.index(divisor)
        if not 1 <= self.divisor < 1 << (bits - 1):
            raise ArgumentValueError("divisor", f"is {self.divisor}; it must be from 1 to 2**{bits - 1} - 1")
        self.shift = (self.divisor - 1).bit_length()
        self.multiplier = ((1 << bits) * ((1 << self.shift) - self.divisor)) // self.divisor + 1

    def words(self) -> tuple[int, int, int]:
        """Return divisor, multiplier and shift as signed 64-bit words."""
        return self.divisor, self.multiplier - (self.multiplier >> 63 << 64), self.shift

    def divide(self, n: int) -> int:
        """Return the quotient n // divisor."""
        return quotient(n, self.multiplier, self.shift, self.bits)

    def remainder(self, n: int) -> int:
        """Return the remainder n % divisor."""
        return n - self.divide(n) * self.divisor

    def divmod(self, n: int) -> tuple[int, int]:
        """Return the quotient and the remainder."""
        q = self.divide(n)
        return q, n - q * self.divisor

    def __repr__(self) -> str:
        return f"FastIntegerMath({self.divisor}, bits={self.bits})"
