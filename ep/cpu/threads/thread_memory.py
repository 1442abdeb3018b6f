"""Where compiled code finds the memory that each thread has for its tasks (`scratch.py`). Imports no LLVM."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Final

import numpy as np

from ep.common.native.fields import address, word, words
from ep.common.native.machine_code import name_function
from ep.common.native.record import Record

NUM_KEPT: Final = 6

BYTES: Final = 2**17
"""The memory of a thread; more than all that tasks which call each other take of it together."""


class ThreadMemory(Record):
    """What all threads share to find the memory of each. `taken` is read and written by atomic operations."""

    key = word()  # of POSIX threads: it leads each thread to its memory
    spare = address()  # memory for a thread that gets none
    taken = words(1)  # 1 while a thread has it


class ThreadBlock(Record):
    """The beginning of a thread's memory: a cache line that only this thread writes."""

    next = address()  # where the part begins that is not taken
    is_spare = word()
    kept = words(NUM_KEPT)  # what the thread keeps from launch to launch


NAME: Final = "ep.thread_memory"
"""The name by which machine code refers to these words."""

_words: Final = np.zeros(ThreadMemory.num_words, np.int64)
_spare: Final = np.empty(BYTES, np.uint8)


@cache
def provide() -> None:
    """Name the words for machine code, once in a process, before code that refers to them is placed in memory.

    Raises OSError if the system has no key left.
    """
    key, free = ctypes.c_ulong(), ctypes.cast(ctypes.pythonapi.free, ctypes.c_void_p)  # frees memory when a thread ends
    if (error := ctypes.pythonapi.pthread_key_create(ctypes.byref(key), free)) != 0:
        raise OSError(error, os.strerror(error))
    _words[ThreadMemory.key], _words[ThreadMemory.spare] = key.value, _spare.ctypes.data
    name_function(NAME, _words.ctypes.data)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_return_spare)


def _return_spare() -> None:
    """Return the spare memory, in a forked child: the thread that has it is not there."""
    _words[ThreadMemory.taken] = 0
