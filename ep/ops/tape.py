"""Tape: gradients of compositions of operators, by the gradients of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ep.include.arrays import Array, ArrayLike
from ep.ops.declare.function import FUNCTIONS
from ep.ops.declare.operator import Role, operator_named
from ep.ops.gradients import has_gradient, vjp, zeros_like


class Watched:
    """An array on a tape."""

    def __init__(self, value: Array) -> None:
        """value: the array."""
        self.value = value


class _Step(NamedTuple):
    name: str
    inputs: Sequence[Any]
    attributes: dict[str, Any]
    results: Sequence[Watched]
    is_list: bool


class Tape:
    """Notes the operators that are called through it, and gives gradients by what it watches.

        tape = ep.ops.Tape()
        w = tape.watch(weights)
        loss = tape.mean(tape.square(tape.matmul(x, w)))
        (of_w,) = tape.gradients(loss, [w])

    Its methods are the operators that have a gradient, by the names of `ep.ops`. They take watched arrays, and others,
    which are constants, and return watched ones. Attributes are given by name; those of expand, repeat and slice as one
    sequence. A tape is for one thread.
    """

    def __init__(self) -> None:
        """Begin with nothing noted."""
        self._steps: list[_Step] = []

    def watch(self, value: ArrayLike) -> Watched:
        """Return an array by which there will be gradients."""
        return Watched(value)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in FUNCTIONS or not has_gradient(name):
            raise AttributeError(f"there is no operator {name!r} with a gradient")
        return partial(self._call, name)

    def _call(self, name: str, *inputs: Any, **attributes: Any) -> Any:
        declared = operator_named(name)
        many = declared.inputs[0].role is Role.TENSORS
        taken = [*inputs[0]] if many else [*inputs]
        values = [one.value if isinstance(one, Watched) else one for one in taken]
        positional, rest = declared.arguments(attributes)
        result = FUNCTIONS[name](*([values] if many else values), *positional, **rest)
        is_list = isinstance(result, list)
        watched = [Watched(one) for one in (result if is_list else [result])]
        self._steps.append(_Step(declared.name, taken, attributes, watched, is_list))
        return watched if is_list else watched[0]

    def gradients(self, result: Watched, by: Sequence[Watched], dy: ArrayLike | None = None) -> list[Array | None]:
        """Return the gradients of a result by watched arrays; None by one that it does not depend on.

        dy: the gradient by the result; where left out, ones. Raises ValueError without it where the result has more
        than one element.
        """
        if dy is None:
            if result.value.size != 1:
                raise ValueError(f"dy is needed: the result has shape {tuple(result.value.shape)}, and is no number")
            zeros = zeros_like(result.value)
            dy = FUNCTIONS["cast"](FUNCTIONS["equal"](zeros, 0), zeros.dtype)
        found: dict[int, Any] = {id(result): dy}
        for step in reversed(self._steps):
            of_results = [found.get(id(one)) for one in step.results]
            if all(one is None for one in of_results):
                continue
            filled = [
                zeros_like(one.value) if gradient is None else gradient
                for gradient, one in zip(of_results, step.results, strict=True)
            ]
            values = [one.value if isinstance(one, Watched) else one for one in step.inputs]
            outputs = [one.value for one in step.results]
            output, of_output = (outputs, filled) if step.is_list else (outputs[0], filled[0])
            of_inputs = vjp(step.name, values, step.attributes, output, of_output)
            for one, gradient in zip(step.inputs, of_inputs, strict=True):
                if isinstance(one, Watched) and gradient is not None:
                    before = found.get(id(one))
                    found[id(one)] = gradient if before is None else FUNCTIONS["add"](before, gradient)
        return [found.get(id(one)) for one in by]
