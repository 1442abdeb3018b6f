"""Steps of recurrent layers, each with a product of its own. The products with all of x have been computed before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ep import ops
from ep.expressions.recurrence import Recurrence

Step = Callable[..., list[Any]]
"""A step: its arguments are the gates of the product with x, the states, and weights. It returns the next states."""

Activation = Callable[[Any], Any]


def gates(x: Any, count: int) -> list[Any]:
    """Return the parts of the last axis that are gates."""
    size = x.shape[-1] // count
    return [ops.slice(x, ..., (k * size, (k + 1) * size)) for k in range(count)]


def _product(hidden: Any, recurrent: Any) -> Any:
    """Return the product of h and the recurrent weights, transposed or not."""
    return ops.matmul(hidden, recurrent, transpose_x2=recurrent.shape[1] == hidden.shape[1])


@lru_cache(64)
def lstm_step(
    activations: tuple[Activation, Activation, Activation],
    order: str,
    coupled: bool = False,
    product: Callable[..., Any] = _product,
    num_factors: int = 1,
) -> Step:
    """Return the step of an LSTM; its weights are the recurrent ones, and peepholes of the gates i, o and f, or none.

    activations: those of these gates, of the candidate c, and of the cell. order: that of the four parts, such as
    "iofc". coupled: whether the cell forgets as much as the gate i lets in. product: that of h and the first
    `num_factors` weights.
    """
    f, g, h = activations

    def step(of_x: Sequence[Any], states: Sequence[Any], *weights: Any) -> list[Any]:
        hidden, cell = states
        holes = dict(zip("iof", weights[num_factors:], strict=False))
        products = gates(product(hidden, *weights[:num_factors]), 4)

        def gate(name: str, activation: Activation) -> Any:
            place = order.index(name)
            total = ops.add(of_x[place], products[place])
            return activation(ops.add(total, ops.mul(holes[name], cell)) if name in holes else total)

        i = gate("i", f)
        kept = ops.sub(1.0, i) if coupled else gate("f", f)
        cell = ops.add(ops.mul(kept, cell), ops.mul(i, gate("c", g)))
        return [ops.mul(gate("o", f), h(cell)), cell]

    return step


@lru_cache(64)
def recurrence(step: Step, num_gates: int, masked: bool = False) -> Recurrence:
    """Return the recurrence over the products with x, and the masks if masked; the others are zeros if masked, and the
    weights. Its result is h, or 0 in sequences that have ended."""

    def each(parts: list[Any], states: list[Any], others: list[Any]) -> tuple[list[Any], list[Any]]:
        of_x = gates(parts[0], num_gates)
        if not masked:
            new = step(of_x, states, *others)
            return new[:1], new
        goes_on, zeros = parts[1], others[0]
        new = step(of_x, states, *others[1:])
        kept = [ops.where(goes_on, one, old) for one, old in zip(new, states, strict=True)]
        return [ops.where(goes_on, new[0], zeros)], kept

    return Recurrence(each)
