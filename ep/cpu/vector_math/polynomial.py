"""Polynomials by fused multiply-adds, in several orders that differ in latency and in overlap of instructions."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ep.common.native.emitted import intrinsic
from ep.common.native.on_demand import types
from ep.cpu.compile.vectors import constant, fma
from ep.cpu.vector_math.bits import Real


class Steps(NamedTuple):
    """A writer of the steps of one evaluation."""

    builder: Any
    real: Any

    def constant(self, number: float) -> Any:
        return constant(self.real, number)

    def fma(self, x: Any, y: Any, z: Any) -> Any:
        """Return x y + z, rounded once."""
        return fma(self.builder, x, y, z)

    def square(self, x: Any) -> Any:
        return self.builder.fmul(x, x)

    def chain(self, x: Any, terms: Sequence[Any]) -> Any:
        """Return the polynomial by Horner's scheme."""
        *lower, value = terms
        for term in reversed(lower):
            value = self.fma(value, x, term)
        return value

    def joined(self, x: Any, terms: Sequence[Any]) -> list[Any]:
        """Return neighbouring terms joined in pairs."""
        return [self.chain(x, terms[i : i + 2]) for i in range(0, len(terms), 2)]


def _polynomial(order: Callable[[Steps, Any, list[Any]], Any], coefficients: Sequence[float]) -> Callable[[Real], Real]:
    """Return the compiled function of x, also of vectors, in the type of x, that sums the terms in `order`."""

    @intrinsic
    def evaluate(typing_context: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            steps = Steps(builder, args[0].type)
            return order(steps, args[0], [steps.constant(c) for c in coefficients])

        result = types.float64 if isinstance(x, types.Number) and x != types.float32 else x
        return result(result), generate

    return evaluate


def polynomial(*coefficients: float) -> Callable[[Real], Real]:
    """Return the compiled function of x: the polynomial with `coefficients`, the constant one first, in the type of x.

    The last two steps, whose rounding errors matter, are Horner's. Before them the even and the odd part are two chains
    in x^2: a core overlaps them with each other, and more of the next iterations with both.
    """

    def order(steps: Steps, x: Any, terms: list[Any]) -> Any:
        low, high = terms[:2], terms[2:]
        if len(high) > 3:
            square = steps.square(x)
            high = [steps.chain(x, [steps.chain(square, high[0::2]), steps.chain(square, high[1::2])])]
        return steps.chain(x, [*low, *high])

    return _polynomial(order, coefficients)


def polynomial_chain(*coefficients: float) -> Callable[[Real], Real]:
    """Return the same as `polynomial`, by Horner's scheme alone: the fewest instructions, for short polynomials."""
    return _polynomial(Steps.chain, coefficients)


def polynomial_pairs(*coefficients: float) -> Callable[[Real], Real]:
    """Return the same as `polynomial`, with neighbours joined in pairs, and these by Horner in x^2: for small terms."""

    def order(steps: Steps, x: Any, terms: list[Any]) -> Any:
        return steps.chain(steps.square(x), steps.joined(x, terms))

    return _polynomial(order, coefficients)


def polynomial_quads(*coefficients: float) -> Callable[[Real], Real]:
    """Return the same as `polynomial_pairs`, but pairs are joined once more, and these by Horner in x^4."""

    def order(steps: Steps, x: Any, terms: list[Any]) -> Any:
        square = steps.square(x)
        return steps.chain(steps.square(square), steps.joined(square, steps.joined(x, terms)))

    return _polynomial(order, coefficients)


def polynomial_tree(*coefficients: float) -> Callable[[Real], Real]:
    """Return the same as `polynomial`, but before its last two steps terms are joined in pairs repeatedly (Estrin).

    `polynomial` has fewer instructions, but longer chains: if the polynomial fills half of a core's instruction window,
    it would not overlap with the next iteration.
    """

    def order(steps: Steps, x: Any, terms: list[Any]) -> Any:
        low, high, power = terms[:2], terms[2:], x
        while len(high) > 1:
            high, power = steps.joined(power, high), steps.square(power)
        return steps.chain(x, [*low, *high])

    return _polynomial(order, coefficients)
