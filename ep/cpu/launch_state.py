"""The memory that a primitive shares with its compiled entry: what stays the same from launch to launch."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

import numpy as np

from ep.cpu.row_class import ANY_SIZE
from ep.include.data_type import DataType

# words of the state, the same for all primitives
NDARRAY_TYPE: Final = 0
SETTINGS: Final = 1
SHARE: Final = 2  # the task that shares work among threads
GRAIN: Final = 3
TASK: Final = 4
TASK_ARGUMENT: Final = 5  # what else the task needs: its row kernel, a flag
ATTRIBUTES: Final = 6  # two float64 values
TUPLE_TYPE: Final = 8  # dims are tuples of ints; what else is equal to such a tuple is not as expected
INT_TYPE: Final = 9
NONE: Final = 10
OPERANDS: Final = 11  # per operand, in the order of Launch: address of its dtype object, bytes of an element
MOVERS: Final = OPERANDS + 6  # the addresses of Gather's movers by class of rows, 0 where there is none yet
NUM_WORDS: Final = MOVERS + ANY_SIZE + 1

# words of the device's settings
NUM_THREADS: Final = 0
POOL: Final = 1  # the address of the threads' pool
STREAMED_FROM: Final = 2  # how many bytes a launch reads and writes through the caches at most
STREAM: Final = 3  # the address of the task that writes past them, 0 until one is needed
NUM_SETTINGS: Final = 4

GRAIN_BYTES: Final = 400_000
"""Up to this many bytes read and written, 2 to 5 us of work, a launch stays on one thread: sharing takes 1 to 2 us."""


class LaunchState:
    """One primitive's words. `words` is what the compiled entry takes as its first argument."""

    def __init__(self, operands: Sequence[DataType], attributes: Sequence[float] = ()) -> None:
        """Fill in what is known before anything is compiled; the addresses of code follow with `set_code`."""
        self.words = np.zeros(NUM_WORDS, np.int64)
        self.words[[NDARRAY_TYPE, TUPLE_TYPE, INT_TYPE, NONE]] = id(np.ndarray), id(tuple), id(int), id(None)
        self.set_grain(GRAIN_BYTES // sum(data_type.itemsize for data_type in operands))
        for position, value in enumerate(attributes):
            self.words[ATTRIBUTES + position] = struct.unpack("q", struct.pack("d", value))[0]
        for position, data_type in enumerate(operands):
            self.words[OPERANDS + 2 * position :][:2] = id(data_type.dtype), data_type.itemsize

    def set_code(self, settings: int, share: int, task: int, task_argument: int) -> None:
        """Set the addresses of the device's settings, of the pool's `share` and of the task, and its argument."""
        self.words[[SETTINGS, SHARE, TASK, TASK_ARGUMENT]] = settings, share, task, task_argument

    def set_grain(self, elements: int) -> None:
        """Set how many elements a launch may have to stay on the calling thread."""
        self.words[GRAIN] = elements

    def has_mover(self, of_class: int) -> bool:
        """Whether there is a mover of rows of a class."""
        return bool(self.words[MOVERS + of_class])

    def set_mover(self, of_class: int, mover: int) -> None:
        """Set the address of what moves rows of a class."""
        self.words[MOVERS + of_class] = mover
