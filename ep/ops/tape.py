"""Tape: gradients of compositions of operators, by the gradients of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ep.include.arrays import Array, ArrayLike
from ep.include.shown import shown
from ep.ops.declare.function import FUNCTIONS
from ep.ops.declare.operator import Role, operator_named
from ep.ops.devices import arrays_of
from ep.ops.gradients import as_result, has_gradient, ones_like, vjp, zeros_like


class Watched:
    """An array on a tape."""

    def __init__(self, value: Array, tape: Tape) -> None:
        """value: the array, which must not be written as long as gradients are asked of the tape."""
        self.value = value
        self._tape = tape

    def is_on(self, tape: Tape) -> bool:
        """Whether it is on a tape."""
        return self._tape is tape


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

    Its methods are the operators that have a gradient, by the names of `ep.ops` and with their parameters, but for
    `out`. They take watched arrays, and others, which are constants, and return watched ones. That of expand, repeat
    and slice may be given by name, as one sequence.

    A tape keeps arrays, and no copies of them: gradients are those at the values that arrays have when `gradients` is
    called. Where an array is written between (`w -= step`), they are wrong, and nothing says so: write it afterwards,
    or watch a copy. A tape is for one thread.
    """

    def __init__(self) -> None:
        """Begin with nothing noted."""
        self._steps: list[_Step] = []

    def watch(self, value: ArrayLike) -> Watched:
        """Return an array by which there will be gradients."""
        return Watched(value, self)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in FUNCTIONS or not has_gradient(name):
            raise AttributeError(f"there is no operator {name!r} with a gradient")
        return partial(self._call, name)

    def _call(self, name: str, /, *args: Any, **named: Any) -> Any:
        if "out" in named:
            raise TypeError(f"{name} got out; on a tape it has none: what the tape has noted must not be written")
        declared = operator_named(name)
        inputs, attributes = declared.by_name(args, named)
        many = declared.inputs[0].role is Role.TENSORS
        taken = [*inputs[0]] if many else inputs
        labels = (
            [f"{declared.input_names[0]}[{place}]" for place in range(len(taken))] if many else declared.input_names
        )
        for one, label in zip(taken, labels, strict=True):
            if isinstance(one, Watched):
                self._check(one, label)
        values = [one.value if isinstance(one, Watched) else one for one in taken]
        positional, rest = declared.arguments(attributes)
        result = FUNCTIONS[name](*([values] if many else values), *positional, **rest)
        watched = [Watched(one, self) for one in (result if declared.many else [result])]
        self._steps.append(_Step(declared.name, taken, attributes, watched, declared.many))
        return watched if declared.many else watched[0]

    def _check(self, value: Any, argument: str) -> None:
        if not isinstance(value, Watched):
            raise TypeError(f"{argument} must be what this tape watches or returned, not {shown(value)}; see `watch`")
        if not value.is_on(self):
            raise ValueError(f"{argument} is on another tape")

    def gradients(self, result: Watched, by: Sequence[Watched], dy: ArrayLike | None = None) -> list[Array | None]:
        """Return the gradients of a result by watched arrays.

        by: what `watch` or an operator returned; None is the gradient by one that the result does not depend on, and by
            one whose numbers have no gradient.
        dy: the gradient by the result, of its shape and dtype; where left out, ones.

        Raises TypeError for what is not watched, ValueError for what is on another tape, and without dy where the
        result has more than one element.
        """
        self._check(result, "result")
        if isinstance(by, Watched) or not isinstance(by, Sequence):
            raise TypeError(f"by must be a sequence of what the tape watches, not {shown(by)}")
        for place, one in enumerate(by):
            self._check(one, f"by[{place}]")
        found: dict[int, Any] = {id(result): _of_result(result.value, dy)}
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


def _of_result(value: ArrayLike, dy: ArrayLike | None) -> Array:
    """The gradient by a result: dy, or one where the result is one number."""
    operands, names = ([value], ["result"]) if dy is None else ([value, dy], ["result", "dy"])
    arrays = arrays_of(operands, names)
    array = arrays.as_buffer(value, "result")
    if dy is not None:
        return as_result(arrays, dy, "dy", "the result", tuple(array.shape), array.dtype)
    if array.size != 1:
        raise ValueError(f"dy is needed: the result has shape {tuple(array.shape)}, and is no number")
    return ones_like(array)
