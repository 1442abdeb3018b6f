"""One of two polynomials, without a branch."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from numba.core import types

from ep.common.native.emitted import emitted
from ep.cpu.compile.vectors import FLOAT
from ep.cpu.vector_math.polynomial import Steps


def piecewise(first: Sequence[float], second: Sequence[float]) -> Any:
    """Return the compiled function (condition, x) of float32: the polynomial `first` if `condition`, else `second`.

    The coefficients, the constant one first, are selected, which a core does in parallel with the multiplications.
    The rest is as in `polynomial`. `second` is at least as long as `first`.
    """

    @emitted(types.float32, condition=types.boolean, x=types.float32)
    def evaluate(builder: Any, condition: Any, x: Any) -> Any:
        steps = Steps(builder, FLOAT)

        def select(one: Any, other: Any) -> Any:
            return other if one is None else builder.select(condition, one, other)

        def chain(variable: Any, pairs: Any) -> Any:
            *lower, (one, value) = pairs
            value = select(one, value)
            for above, (one, other) in zip(pairs[:0:-1], lower[::-1], strict=True):
                # `first` begins here: the value computed for `second` so far is dropped
                begins = one is not None and above[0] is None
                added = other if begins else select(one, other)
                value = steps.fma(value, variable, added)
                value = select(one, value) if begins else value
            return value

        constants = [
            (None if a is None else steps.constant(a), steps.constant(b)) for a, b in zip_longest(first, second)
        ]
        square = steps.square(x)
        even, odd = chain(square, constants[2::2]), chain(square, constants[3::2])
        high = steps.fma(odd, x, even)
        for one, other in constants[1::-1]:
            high = steps.fma(high, x, select(one, other))
        return high

    return evaluate
