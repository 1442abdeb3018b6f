"""The memory that a primitive shares with its compiled entry: the data that stays the same in all launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ep.common.native.fields import address, local, pointer, word, words
from ep.common.native.record import Record, Words, addresses_in
from ep.cpu.machine.calibration import KINDS
from ep.include.data_type import DataType


class LaunchSettings(Record):
    """The settings of the device, to which the states of all primitives refer."""

    num_threads = word()
    pool = address()  # the address of the threads' pool
    # for each kind of work, the most bytes that a launch reads and writes with ordinary stores (see `calibration`)
    lines_from = words(KINDS)  # for tasks that stream in lines
    tiles_from = words(KINDS)  # and by tiles
    ahead = word()  # the distance, in bytes of dst, by which the operands of tiles are prefetched
    stream = address()  # the address of the streaming task, 0 until there is a calibration


class State(Record):
    """The first fields of every state. An engine adds fields; two words for each operand follow."""

    ndarray_type = local()
    settings = pointer(LaunchSettings)
    share = address()  # the task that shares work among threads
    grain = word()  # the most elements of a launch that stays on the calling thread
    task = address()
    launcher = address()  # the launcher that the compiled check calls (`engine/check.py`); 0 until it is compiled
    form = local()  # the description of the primitive for the check (`engine/form.py`)
    written = local()  # the Python version of Launch, for arguments that the check refuses
    stream_type = local()
    tuple_type = local()
    list_type = local()
    int_type = local()
    float_type = local()
    none = local()
    known_types = local()  # the words of every data type, ended by 0: an operand of any type has one of these


class ElementType(Record):
    """The words of an operand, in the order of Launch: address of its dtype object, bytes of an element."""

    dtype = address()
    itemsize = word()


GRAIN_BYTES: Final = 400_000
"""The most bytes, read and written, of a launch on one thread: 2 to 5 us of work. Sharing takes 1 to 2 us."""


class LaunchState(Words):
    """The words of one primitive. `words` is the first argument of the compiled entry."""

    local = State.local

    def __init__(self, fields: Any, operands: Sequence[DataType | None]) -> None:
        """fields: the class of the record; operands: their data types, None if given to Launch."""
        self._fields = fields
        num_words = fields.num_words + ElementType.num_words * len(operands)
        super().__init__(np.zeros(num_words, np.int64), addresses_in(fields, ElementType, len(operands)))
        known = [data_type for data_type in operands if data_type is not None]
        for position, data_type in enumerate(operands):
            if data_type is not None:
                place = fields.num_words + ElementType.num_words * position
                self.words[place : place + ElementType.num_words] = type_words(data_type)
        grain = GRAIN_BYTES // max(sum(data_type.itemsize for data_type in known), 1)
        self.set(grain=grain)

    def set_types(self, stream_type: type[Any]) -> None:
        """Write the types of the objects that the check of a launch expects. stream_type: that of streams."""
        self.set(ndarray_type=id(np.ndarray), tuple_type=id(tuple), int_type=id(int), none=id(None))
        self.set(float_type=id(float), list_type=id(list), known_types=_KNOWN_TYPES.ctypes.data)
        self.set(stream_type=id(stream_type))

    def set(self, **values: int) -> None:
        """Write fields of one word."""
        for field, value in values.items():
            self.words[getattr(self._fields, field)] = value

    def set_reals(self, **values: Sequence[float]) -> None:
        """Write fields of float64 values."""
        for field, reals in values.items():
            first = getattr(self._fields, field)
            self.words[first : first + len(reals)] = np.array(reals, np.float64).view(np.int64)


def type_words(data_type: DataType) -> tuple[int, int]:
    """Return the words that identify arrays of a data type."""
    return id(data_type.dtype), data_type.itemsize


_KNOWN_TYPES: Final = np.array([word for data_type in DataType for word in type_words(data_type)] + [0], np.int64)
