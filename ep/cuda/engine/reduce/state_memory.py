"""States in memory, where one kernel leaves them for the next: each number of theirs in an array of its own."""

from __future__ import annotations

from typing import Any

from ep.cuda.compile.memory import loader, storer
from ep.cuda.compile.numba_cuda import device_function
from ep.include.data_type import DataType


def state_storer(number: DataType, num_parts: int) -> Any:
    """(address, place, plane, state): the `num_parts` numbers of states lie in arrays of `plane` numbers each."""
    store = storer(number, 1)

    def of(part: int) -> Any:
        def last(address, place, plane, state):
            store(address, part * plane + place, (state[part],))

        if part == 0:
            return device_function(last)
        rest = of(part - 1)

        def put(address, place, plane, state):
            rest(address, place, plane, state)
            store(address, part * plane + place, (state[part],))

        return device_function(put)

    return of(num_parts - 1)


def state_loader(number: DataType, num_parts: int) -> Any:
    """(address, place, plane) -> a state."""
    load = loader(number, 1)

    def of(part: int) -> Any:
        last = device_function(lambda address, place, plane: load(address, part * plane + place))
        if part == 0:
            return last
        rest = of(part - 1)
        return device_function(lambda address, place, plane: rest(address, place, plane) + last(address, place, plane))

    return of(num_parts - 1)
