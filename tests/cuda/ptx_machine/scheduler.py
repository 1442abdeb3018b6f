"""Runs the threads of a launch in turn, each until it returns or meets others, block after block."""

from __future__ import annotations

from numba import njit

from tests.cuda.ptx_machine.layout import DONE, Block, Fault, Match, Meeting, Reduction, Shuffle, Thread, Vote
from tests.cuda.ptx_machine.objects import compiled
from tests.cuda.ptx_machine.pointers import step

WARP = 32


@compiled(njit)
def run(function, block, records, blocks, threads, meets, local_offset):
    """Run all blocks of a launch; stops at the first fault, which is then in the block record.

    function: the address of translated code; block: the block record; records: a thread record for each thread of a
    block, or only one where threads do not meet; blocks, threads: along the three axes; local_offset: where, in a
    record, local memory begins, in bytes.
    """
    total = threads[0] * threads[1] * threads[2]
    for z in range(blocks[2]):
        for y in range(blocks[1]):
            for x in range(blocks[0]):
                block[Block.CTAID_X], block[Block.CTAID_Y], block[Block.CTAID_Z] = x, y, z
                block[Block.EPOCH] += 1
                block[Block.FIRST_EPOCH] = block[Block.EPOCH]
                if meets:
                    for index in range(total):
                        _start(records[index], index, threads, local_offset)
                    _run_meeting(function, block, records, total)
                else:
                    for index in range(total):
                        _start(records[0], index, threads, local_offset)
                        _step(function, block, records[0])
                        if block[Block.FAULT] != 0:
                            break
                if block[Block.FAULT] != 0:
                    return


@compiled(njit)
def _start(thread, index, threads, local_offset):
    thread[Thread.STATE] = 0
    thread[Thread.MEETING] = Meeting.NONE
    thread[Thread.TID_X] = index % threads[0]
    thread[Thread.TID_Y] = index // threads[0] % threads[1]
    thread[Thread.TID_Z] = index // (threads[0] * threads[1])
    thread[Thread.LANE], thread[Thread.WARP], thread[Thread.INDEX] = index % WARP, index // WARP, index
    thread[Thread.SYNCS] = 0
    thread[Thread.LOCAL] = thread.ctypes.data + local_offset


@compiled(njit)
def _step(function, block, thread):
    block[Block.CURRENT] = thread.ctypes.data
    step(function, thread.ctypes.data, block.ctypes.data)


@compiled(njit)
def _run_meeting(function, block, records, total):
    """Run the threads of a block until all have returned, letting those go on whose meeting is complete."""
    while True:
        for index in range(total):
            thread = records[index]
            if thread[Thread.STATE] != DONE and thread[Thread.MEETING] == Meeting.NONE:
                _step(function, block, thread)
                if block[Block.FAULT] != 0:
                    return
        goes_on = False
        for first in range(0, total, WARP):
            goes_on |= _meet_in_warp(block, records[first : min(first + WARP, total)])
        goes_on |= _meet_at_barrier(block, records[:total])
        if block[Block.FAULT] != 0:
            return
        if not goes_on:
            _explain(block, records[:total])
            return


@compiled(njit)
def _fault(block, fault, thread, other, other_site):
    block[Block.FAULT] = fault
    block[Block.FAULT_SITE] = thread[Thread.SITE]
    block[Block.FAULT_ADDRESS] = thread[Thread.MASK]
    block[Block.FAULT_THREAD] = thread[Thread.INDEX]
    block[Block.FAULT_OTHER] = other
    block[Block.FAULT_OTHER_SITE] = other_site


@compiled(njit)
def _explain(block, records):
    """Note who waits in vain, where not all threads have returned."""
    for thread in records:
        if thread[Thread.STATE] == DONE:
            continue
        for other in records:
            if other[Thread.STATE] == DONE or other[Thread.SITE] != thread[Thread.SITE]:
                site = -1 if other[Thread.STATE] == DONE else other[Thread.SITE]
                _fault(block, Fault.NEVER_MET, thread, other[Thread.INDEX], site)
                return
        _fault(block, Fault.NEVER_MET, thread, thread[Thread.INDEX], thread[Thread.SITE])
        return


# barriers


@compiled(njit)
def _meet_at_barrier(block, records):
    """Let all threads go on that wait at a barrier, once all do. Whether they went on."""
    first, returned, waiting = -1, -1, 0
    for index in range(len(records)):
        thread = records[index]
        if thread[Thread.STATE] == DONE:
            returned = index
        elif thread[Thread.MEETING] == Meeting.BARRIER:
            first = index if first < 0 else first
            waiting += 1
        else:
            return False
    if not waiting:
        return False
    if returned >= 0:
        _fault(block, Fault.EXITED_BEFORE_BARRIER, records[first], returned, -1)
        return False
    true = 0
    for thread in records:
        if thread[Thread.SITE] != records[first][Thread.SITE] or thread[Thread.MASK] != records[first][Thread.MASK]:
            _fault(block, Fault.DIVERGENT_BARRIER, records[first], thread[Thread.INDEX], thread[Thread.SITE])
            return False
        true += thread[Thread.VALUE] & 1
    mode = records[first][Thread.MODE]
    result = true
    if mode == Vote.ALL:
        result = true == len(records)
    elif mode == Vote.ANY:
        result = true > 0
    block[Block.EPOCH] += 1
    for thread in records:
        thread[Thread.RESULT], thread[Thread.MEETING] = result, Meeting.NONE
    return True


# warps


@compiled(njit)
def _meet_in_warp(block, warp):
    """Let the lanes of a warp go on whose meeting is complete. Whether any went on."""
    goes_on = False
    for lane in range(len(warp)):
        thread = warp[lane]
        meeting, mask = thread[Thread.MEETING], thread[Thread.MASK]
        if thread[Thread.STATE] == DONE or meeting == Meeting.NONE or meeting == Meeting.BARRIER:
            continue
        if not mask >> lane & 1:
            _fault(block, Fault.NO_MEMBER, thread, lane, thread[Thread.SITE])
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
    """Whether all lanes of a meeting wait for it; those that have returned, or that a small block lacks, need not."""
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
            _fault(block, Fault.INACTIVE_SOURCE, thread, source, -1)
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
    """What lanes did to memory is before what the others do from now on."""
    latest = 0
    for thread in warp:
        if _takes_part(thread, mask):
            latest = max(latest, thread[Thread.SYNCS])
    for thread in warp:
        if _takes_part(thread, mask):
            thread[Thread.SYNCS] = latest + 1
