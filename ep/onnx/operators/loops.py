"""Loop and Scan: a graph that is computed for one step after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ep import ops

NDArray = np.ndarray[Any, Any]


class Steps:
    """The graph of a loop, as operators call it.

    compute: takes the graph's inputs, and returns its outputs.
    results: the type and the shape of each output, None for unknown ones.
    """

    def __init__(self, compute: Callable[[Sequence[Any]], list[Any]], results: Sequence[Any]) -> None:
        self.compute, self.results = compute, results

    def empty(self, k: int, axis: int) -> NDArray:
        """Return the joined results of no step for output k; unknown sizes are 0."""
        dtype, shape = self.results[k]
        if dtype is None or shape is None:
            raise ValueError(f"there is no step, and the graph does not give the type and the rank of output {k}")
        sizes = [size if isinstance(size, int) else 0 for size in shape]
        sizes.insert(axis % (len(sizes) + 1), 0)
        return np.zeros(sizes, dtype)


def loop(most: NDArray | None, condition: NDArray | None, *states: Any, body: Steps) -> tuple[Any, ...]:
    """Return the last states, and the other results of all steps, joined along a new first axis.

    most: the largest number of steps. condition: whether there is a first step; if given, each step says whether there
    is a next one.
    """
    if most is None and condition is None:
        raise ValueError("it has neither a number of steps nor a condition: it would not end")
    limit = None if most is None else int(most.reshape(()))
    goes_on, k, collected = condition is None or bool(condition.reshape(())), 0, list[list[Any]]()
    while goes_on and (limit is None or k < limit):
        told, *results = body.compute([np.array(k), np.array(True), *states])
        states, rows = tuple(results[: len(states)]), results[len(states) :]
        collected.append(rows)
        goes_on = condition is None or bool(ops.copy_to_host(told).reshape(()))
        k += 1
    return *states, *_joined(collected, body, 1 + len(states))


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
    axes, backwards = scan_input_axes or [0] * num_scan_inputs, scan_input_directions or [0] * num_scan_inputs
    parts = [_parts(*one) for one in zip(scanned, axes, backwards, strict=True)]
    if len({len(one) for one in parts}) != 1:
        raise ValueError(f"its arrays have {', '.join(str(len(one)) for one in parts)} steps; they must have the same")
    collected = []
    for each in zip(*parts, strict=True):
        results = body.compute([*states, *each])
        states = tuple(results[:first])
        collected.append(results[first:])
    return *states, *_joined(collected, body, first, scan_output_axes, scan_output_directions)


def _joined(
    collected: Sequence[Sequence[Any]], body: Steps, first: int, axes: Sequence[int] = (), backwards: Sequence[int] = ()
) -> list[Any]:
    """Return the results of all steps, joined along new axes. first: the number of the first such output of `body`."""
    count = len(body.results) - first
    columns = [*zip(*collected, strict=True)] if collected else [()] * count
    settings = zip(columns, axes or [0] * count, backwards or [0] * count, strict=True)
    return [
        ops.stack(rows[:: -1 if back else 1], axis) if rows else body.empty(first + k, axis)
        for k, (rows, axis, back) in enumerate(settings)
    ]


def _parts(array: Any, axis: int, backwards: int) -> list[Any]:
    """Return the parts of an array along an axis."""
    rank = len(array.shape)
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is not one of {rank} axes")
    array = ops.permute(array, sorted(range(rank), key=lambda k: k != axis % rank))
    steps, *shape = array.shape
    parts = [one.reshape(tuple(shape)) for one in ops.split(array, steps)] if steps else []
    return parts[::-1] if backwards else parts
