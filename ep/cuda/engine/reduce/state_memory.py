"""States in memory, where one kernel leaves them for the next: each number of theirs in an array of its own."""

from __future__ import annotations

from typing import Any

from ep.common.loops import unrolled, written_out
from ep.cuda.compile.memory import loader, storer
from ep.cuda.compile.numba_cuda import device_function
from ep.include.data_type import DataType


def state_storer(number: DataType, num_parts: int) -> Any:
    """(address, place, plane, state): the `num_parts` numbers of states lie in arrays of `plane` numbers each."""
    store = storer(number, 1)

    @written_out(device_function)
    def put(address: int, place: int, plane: int, state: Any) -> None:
        for part in unrolled(range(num_parts)):
            store(address, part * plane + place, (state[part],))

    return put


def state_loader(number: DataType, num_parts: int) -> Any:
    """(address, place, plane) -> a state."""
    load = loader(number, 1)

    @written_out(device_function)
    def get(address: int, place: int, plane: int) -> Any:
        return tuple(load(address, part * plane + place)[0] for part in unrolled(range(num_parts)))

    return get
