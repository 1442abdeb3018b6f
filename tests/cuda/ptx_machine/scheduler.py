"""Runs the threads of a launch in turn, each until it returns or waits for others, block after block."""

from __future__ import annotations

from numba import njit

from tests.cuda.ptx_machine.layout import DONE, Block, Fault, Meeting, Thread, Vote
from tests.cuda.ptx_machine.objects import compiled
from tests.cuda.ptx_machine.pointers import step
from tests.cuda.ptx_machine.warp import WARP, meet_in_warp, note_fault


@compiled(njit)
def run(function, block, records, blocks, threads, meets, local_offset):
    """Run all blocks of a launch; stop at the first fault, which is then in the block record.

    function: the address of translated code; block: the block record; records: a thread record for each thread of a
    block, or only one if threads do not synchronise; blocks, threads: along the three axes; local_offset: the offset of
    local memory in a record, in bytes.
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
    """Run the threads of a block until all have returned; threads continue when their meeting is complete."""
    while True:
        for index in range(total):
            thread = records[index]
            if thread[Thread.STATE] != DONE and thread[Thread.MEETING] == Meeting.NONE:
                _step(function, block, thread)
                if block[Block.FAULT] != 0:
                    return
        goes_on = False
        for first in range(0, total, WARP):
            goes_on |= meet_in_warp(block, records[first : min(first + WARP, total)])
        goes_on |= _meet_at_barrier(block, records[:total])
        if block[Block.FAULT] != 0:
            return
        if not goes_on:
            _explain(block, records[:total])
            return


@compiled(njit)
def _explain(block, records):
    """Record a thread that waits in vain, if not all threads have returned."""
    for thread in records:
        if thread[Thread.STATE] == DONE:
            continue
        for other in records:
            if other[Thread.STATE] == DONE or other[Thread.SITE] != thread[Thread.SITE]:
                site = -1 if other[Thread.STATE] == DONE else other[Thread.SITE]
                note_fault(block, Fault.NEVER_MET, thread, other[Thread.INDEX], site)
                return
        note_fault(block, Fault.NEVER_MET, thread, thread[Thread.INDEX], thread[Thread.SITE])
        return


# barriers


@compiled(njit)
def _meet_at_barrier(block, records):
    """Let all threads continue once all of them wait at a barrier; return whether they continued."""
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
        note_fault(block, Fault.EXITED_BEFORE_BARRIER, records[first], returned, -1)
        return False
    true = 0
    for thread in records:
        if thread[Thread.SITE] != records[first][Thread.SITE] or thread[Thread.MASK] != records[first][Thread.MASK]:
            note_fault(block, Fault.DIVERGENT_BARRIER, records[first], thread[Thread.INDEX], thread[Thread.SITE])
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
