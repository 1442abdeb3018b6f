"""Stamps, which record the last access to a byte: its thread and its time.

A *stamp* has the numbers of barriers and of warp synchronisations before the access, whether the access was strong, and
the thread. Two accesses of one block race if neither a barrier nor a warp barrier is between them; two accesses of
different blocks always race, as only the end of the launch orders them. Strong accesses do not race with each other.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from tests.cuda.ptx_machine.layout import Block, Thread
from tests.cuda.ptx_machine.objects import compiled
from tests.cuda.ptx_machine.pointers import words_at

EPOCH_SHIFT, _SYNCS_SHIFT, _STRONG_SHIFT = 36, 12, 11
_SYNCS_MASK, THREAD_MASK = 2**24 - 1, 2**11 - 1

NOT_YET, NOT_WATCHED = 0, -1

_WATCHED_BYTES: Final = 2**22
"""The stamps of global memory in one launch: the arrays touched first are watched, at 24 bytes per touched byte.
"""


class Watch:
    """Stamps of global memory, which successive launches share: stamps of earlier launches count as old."""

    def __init__(self) -> None:
        self.writes, self.reads = np.zeros(_WATCHED_BYTES, np.int64), np.zeros(2 * _WATCHED_BYTES, np.int64)
        self.epoch = 0
        """Barriers so far."""


WATCH: Final = Watch()


@compiled(njit)
def stamp_of(block, thread, strong):
    return (
        (block[Block.EPOCH] << EPOCH_SHIFT)
        | (thread[Thread.SYNCS] << _SYNCS_SHIFT)
        | (strong << _STRONG_SHIFT)
        | thread[Thread.INDEX]
    )


@compiled(njit)
def races(block, thread, stamp, strong):
    """Return whether an access now races with the access that left a stamp."""
    other = stamp & THREAD_MASK
    if stamp >> EPOCH_SHIFT != block[Block.EPOCH] or other == thread[Thread.INDEX]:
        return False
    if strong and stamp >> _STRONG_SHIFT & 1:
        return False
    in_order = other // 32 == thread[Thread.WARP] and (stamp >> _SYNCS_SHIFT & _SYNCS_MASK) < thread[Thread.SYNCS]
    return not in_order


@compiled(njit)
def is_of_other_block(block, stamp):
    """Return whether a stamp is from another block of this launch."""
    return block[Block.LAUNCH_EPOCH] <= stamp >> EPOCH_SHIFT < block[Block.FIRST_EPOCH]


@compiled(njit)
def races_globally(block, thread, stamp, strong):
    """Return whether an access to global memory races with the access that left a stamp."""
    if is_of_other_block(block, stamp):
        return not (strong and stamp >> _STRONG_SHIFT & 1)
    return races(block, thread, stamp, strong)


@compiled(njit)
def place_of(block, number, size):
    """Return the begin of the stamps of a range of `size` bytes, which are allotted at the first request, or
    NOT_WATCHED.
    """
    places = words_at(block[Block.WATCH_PLACES])
    if places[number] == NOT_YET:
        begin = block[Block.WATCH_NEXT]
        if begin + size > block[Block.WATCH_END]:
            places[number] = NOT_WATCHED
        else:
            places[number], block[Block.WATCH_NEXT] = begin, begin + size
    return places[number]
