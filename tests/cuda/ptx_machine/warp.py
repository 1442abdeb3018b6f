"""The operations that synchronise the lanes of a warp: shuffles, votes, reductions, matches, and memory ordering."""

from __future__ import annotations

from numba import njit

from tests.cuda.ptx_machine.layout import DONE, Block, Fault, Match, Meeting, Reduction, Shuffle, Thread, Vote
from tests.cuda.ptx_machine.objects import compiled

WARP = 32


@compiled(njit)
def note_fault(block, fault, thread, other, other_site):
    """Record a fault of a thread that synchronises with others in the block record."""
    block[Block.FAULT] = fault
    block[Block.FAULT_SITE] = thread[Thread.SITE]
    block[Block.FAULT_ADDRESS] = thread[Thread.MASK]
    block[Block.FAULT_THREAD] = thread[Thread.INDEX]
    block[Block.FAULT_OTHER] = other
    block[Block.FAULT_OTHER_SITE] = other_site


@compiled(njit)
def meet_in_warp(block, warp):
    """Let the lanes of a warp continue whose meeting is complete; return whether any continued."""
    goes_on = False
    for lane in range(len(warp)):
        thread = warp[lane]
        meeting, mask = thread[Thread.MEETING], thread[Thread.MASK]
        if thread[Thread.STATE] == DONE or meeting == Meeting.NONE or meeting == Meeting.BARRIER:
            continue
        if not mask >> lane & 1:
            note_fault(block, Fault.NO_MEMBER, thread, lane, thread[Thread.SITE])
            return False
        if not _complete(warp, thread):
            continue
        if meeting == Meeting.SHUFFLE:
            if not _shuffle(block, warp, mask):
                return False
        elif meeting == Meeting.VOTE:
            _vote(warp, mask, thread[Thread.MODE])
        elif meeting == Meeting.REDUCE:
            _reduce(warp, mask, thread[Thread.MODE])
        elif meeting == Meeting.MATCH:
            _match(warp, mask, thread[Thread.MODE])
        else:
            _order(warp, mask)
        for other in warp:
            if _takes_part(other, mask):
                other[Thread.MEETING] = Meeting.NONE
        goes_on = True
    return goes_on


@compiled(njit)
def _takes_part(thread, mask):
    return mask >> thread[Thread.LANE] & 1 and thread[Thread.STATE] != DONE


@compiled(njit)
def _complete(warp, thread):
    """Return whether all lanes of a meeting wait for it.

    Lanes that have returned, or that a small block lacks, need not wait.
    """
    for other in warp:
        if _takes_part(other, thread[Thread.MASK]) and (
            other[Thread.MEETING] != thread[Thread.MEETING]
            or other[Thread.MASK] != thread[Thread.MASK]
            or other[Thread.MODE] != thread[Thread.MODE]
        ):
            return False
    return True


@compiled(njit)
def _shuffle(block, warp, mask):
    for thread in warp:
        if not _takes_part(thread, mask):
            continue
        lane, distance, limits = thread[Thread.LANE], thread[Thread.SECOND] & 31, thread[Thread.THIRD]
        limit, segments, mode = limits & 31, limits >> 8 & 31, thread[Thread.MODE]
        bound = (lane & segments) | (limit & ~segments)
        if mode == Shuffle.UP:
            source = lane - distance
            inside = source >= bound
        else:
            if mode == Shuffle.DOWN:
                source = lane + distance
            elif mode == Shuffle.BFLY:
                source = lane ^ distance
            else:
                source = (lane & segments) | (distance & ~segments)
            inside = source <= bound
        if not inside:
            source = lane
        if source >= len(warp) or not _takes_part(warp[source], mask):
            note_fault(block, Fault.INACTIVE_SOURCE, thread, source, -1)
            return False
        thread[Thread.RESULT], thread[Thread.FLAG] = warp[source][Thread.VALUE], inside
    return True


@compiled(njit)
def _vote(warp, mask, mode):
    there = true = 0
    for thread in warp:
        if _takes_part(thread, mask):
            there |= 1 << thread[Thread.LANE]
            true |= (thread[Thread.VALUE] & 1) << thread[Thread.LANE]
    result = true
    if mode == Vote.ALL:
        result = true == there
    elif mode == Vote.ANY:
        result = true != 0
    elif mode == Vote.UNI:
        result = true == there or true == 0
    for thread in warp:
        if _takes_part(thread, mask):
            thread[Thread.RESULT] = result


@compiled(njit)
def _reduce(warp, mask, mode):
    first = True
    result = 0
    for thread in warp:
        if not _takes_part(thread, mask):
            continue
        value = thread[Thread.VALUE]
        if first:
            result = value
        elif mode == Reduction.ADD:
            result += value
        elif mode == Reduction.MIN_SIGNED or mode == Reduction.MIN_UNSIGNED:
            result = min(result, value)
        elif mode == Reduction.MAX_SIGNED or mode == Reduction.MAX_UNSIGNED:
            result = max(result, value)
        elif mode == Reduction.AND:
            result &= value
        elif mode == Reduction.OR:
            result |= value
        else:
            result ^= value
        first = False
    for thread in warp:
        if _takes_part(thread, mask):
            thread[Thread.RESULT] = result


@compiled(njit)
def _match(warp, mask, mode):
    there = 0
    for thread in warp:
        if _takes_part(thread, mask):
            there |= 1 << thread[Thread.LANE]
    for thread in warp:
        if not _takes_part(thread, mask):
            continue
        equal = 0
        for other in warp:
            if _takes_part(other, mask) and other[Thread.VALUE] == thread[Thread.VALUE]:
                equal |= 1 << other[Thread.LANE]
        if mode == Match.ALL:
            thread[Thread.FLAG] = equal == there
            equal = equal if equal == there else 0
        thread[Thread.RESULT] = equal


@compiled(njit)
def _order(warp, mask):
    """Order memory: all earlier accesses of the lanes come before all later accesses of the other lanes."""
    latest = 0
    for thread in warp:
        if _takes_part(thread, mask):
            latest = max(latest, thread[Thread.SYNCS])
    for thread in warp:
        if _takes_part(thread, mask):
            thread[Thread.SYNCS] = latest + 1
