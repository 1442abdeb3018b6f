"""Loop and Scan: a graph that is computed for one step after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ep import ops
from ep.onnx.inputs import Sized
from ep.onnx.operators.fitting import axis_in, check, number
from ep.onnx.operators.line import line

NDArray = np.ndarray[Any, Any]


class Steps:
    """The graph of a loop, as operators call it.

    compute: takes the graph's inputs, and returns its outputs.
    sized: takes the shapes and types of the inputs, and returns those of the outputs; None for those that depend on
        data.
    results: the type and the shape of each output, as the graph gives them, None for unknown ones.
    """

    def __init__(
        self,
        compute: Callable[[Sequence[Any]], list[Any]],
        sized: Callable[[Sequence[Sized]], list[Sized | None]],
        results: Sequence[Any],
    ) -> None:
        self.compute, self.sized, self.results = compute, sized, results

    def empty(self, k: int, axis: int, inputs: Sequence[Sized]) -> NDArray:
        """Return the joined results of no step for output k; sizes that nothing tells are 0.

        inputs: the shapes and types of what a step would get.
        """
        dtype, shape = self.results[k]
        if dtype is None or shape is None or not all(isinstance(size, int) for size in shape):
            found = self.sized(inputs)[k]
            shape, dtype = (shape, dtype) if found is None else found
        if dtype is None or shape is None:
            raise ValueError(f"there is no step, and the graph does not give the type and the rank of output {k}")
        sizes = [size if isinstance(size, int) else 0 for size in shape]
        sizes.insert(axis_in(len(sizes) + 1, axis, "scan_output_axes"), 0)
        return np.zeros(sizes, dtype)


@line("Loop", 1, host=(0, 1), apart=True, first_state=2)
def loop(most: NDArray | None, condition: NDArray | None, *states: Any, body: Steps) -> tuple[Any, ...]:
    """Return the last states, and the other results of all steps, joined along a new first axis.

    most: the largest number of steps. condition: whether there is a first step; if given, each step says whether there
    is a next one.
    """
    if most is None and condition is None:
        raise ValueError("it has neither a number of steps nor a condition: it would not end")
    limit = None if most is None else int(number("M", most))
    goes_on, k, collected = condition is None or bool(number("cond", condition)), 0, list[list[Any]]()
    while goes_on and (limit is None or k < limit):
        told, *results = body.compute([np.array(k), np.array(True), *states])
        states, rows = tuple(results[: len(states)]), results[len(states) :]
        collected.append(rows)
        goes_on = condition is None or bool(number("the condition of the graph", ops.copy_to_host(told)))
        k += 1
    step = [Sized((), np.dtype(np.int64)), Sized((), np.dtype(bool)), *map(Sized.of, states)]
    return *states, *_joined(collected, body, step, 1 + len(states))


@line("Scan", 9, apart=True, first_state=0)
def scan(
    *arrays: Any,
    body: Steps,
    num_scan_inputs: int,
    scan_input_axes: Sequence[int] = (),
    scan_input_directions: Sequence[int] = (),
    scan_output_axes: Sequence[int] = (),
    scan_output_directions: Sequence[int] = (),
) -> tuple[Any, ...]:
    """Return the last states, and the other results of all steps, joined along new axes.

    arrays: the states, and the arrays that have a part for each step.
    """
    first = len(arrays) - num_scan_inputs
    states, scanned = arrays[:first], arrays[first:]
    axes = _for_each(num_scan_inputs, scan_input_axes, "scan_input_axes")
    backwards = _for_each(num_scan_inputs, scan_input_directions, "scan_input_directions", 0, 1)
    moved = [_moved(*one) for one in zip(scanned, axes, strict=True)]
    parts = [_parts(*one) for one in zip(moved, backwards, strict=True)]
    if len({len(one) for one in parts}) != 1:
        raise ValueError(f"its arrays have {', '.join(str(len(one)) for one in parts)} steps; they must have the same")
    collected = []
    for each in zip(*parts, strict=True):
        results = body.compute([*states, *each])
        states = tuple(results[:first])
        collected.append(results[first:])
    step = [*map(Sized.of, states), *(Sized(tuple(one.shape[1:]), np.dtype(one.dtype)) for one in moved)]
    return *states, *_joined(collected, body, step, first, scan_output_axes, scan_output_directions)


def _joined(
    collected: Sequence[Sequence[Any]], body: Steps, step: Sequence[Sized], first: int, axes: Sequence[int] = (),
    backwards: Sequence[int] = (),
) -> list[Any]:  # fmt: skip
    """Return the results of all steps, joined along new axes.

    step: the shapes and types of the inputs of a step. first: the number of the first such output of `body`.
    """
    count = len(body.results) - first
    columns = [*zip(*collected, strict=True)] if collected else [()] * count
    all_axes = _for_each(count, axes, "scan_output_axes")
    settings = zip(columns, all_axes, _for_each(count, backwards, "scan_output_directions", 0, 1), strict=True)
    found = list[Any]()
    for k, (rows, axis, back) in enumerate(settings):
        if rows:
            axis = axis_in(len(rows[0].shape) + 1, axis, "scan_output_axes")
        found.append(ops.stack(rows[:: -1 if back else 1], axis) if rows else body.empty(first + k, axis, step))
    return found


def _for_each(count: int, given: Sequence[int], argument: str, *known: int) -> Sequence[int]:
    """Return the numbers of an attribute, 0 by default. known: the numbers that there are, if there are few."""
    fits = len(given) in (0, count) and all(one in known for one in given if known)
    check(fits, argument, [*given], f"{count} numbers{f' of {known}' if known else ''}")
    return given or [0] * count


def _moved(array: Any, axis: int) -> Any:
    """Return an array whose first axis is the given one."""
    rank = len(array.shape)
    first = axis_in(rank, axis, "scan_input_axes")
    return ops.permute(array, sorted(range(rank), key=lambda k: k != first))


def _parts(array: Any, backwards: int) -> list[Any]:
    """Return the parts of an array along its first axis."""
    steps, *shape = array.shape
    parts = [one.reshape(tuple(shape)) for one in ops.split(array, steps)] if steps else []
    return parts[::-1] if backwards else parts
