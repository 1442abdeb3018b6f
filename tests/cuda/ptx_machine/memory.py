"""Checks each access to memory: its address, and for shared memory the accesses of other threads since the last
synchronisation.

All bytes of shared memory have stamps; bytes of global memory have stamps in launches that touch little of it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cfunc, njit, types

from tests.cuda.ptx_machine.layout import Access, Block, Fault, Thread
from tests.cuda.ptx_machine.objects import compiled
from tests.cuda.ptx_machine.pointers import WORDS, words_at
from tests.cuda.ptx_machine.stamps import (
    EPOCH_SHIFT,
    NOT_WATCHED,
    THREAD_MASK,
    is_of_other_block,
    place_of,
    races,
    races_globally,
    stamp_of,
)
from tests.cuda.ptx_machine.trace import RECORD

_LOWEST = 4096  # a process has no memory below this


@compiled(njit)
def _fault(block, thread, fault, site, address, size, other):
    """Record a fault, if it is the first of the launch; return 0, which ends the thread."""
    if block[Block.FAULT] == 0:
        block[Block.FAULT] = fault
        block[Block.FAULT_SITE] = site
        block[Block.FAULT_ADDRESS] = address
        block[Block.FAULT_BYTES] = size
        block[Block.FAULT_THREAD] = thread[Thread.INDEX]
        block[Block.FAULT_OTHER] = other
    return 0


@compiled(njit)
def _shared(block, thread, offset, size, site, flags):
    """Set the stamps of the bytes of an access to shared memory, and return its address; 0 for a fault."""
    if offset < 0 or offset + size > block[Block.SHARED_BYTES]:
        return _fault(block, thread, Fault.SHARED_OUT_OF_BOUNDS, site, offset, size, 0)
    writes, reads = words_at(block[Block.SHADOW_WRITES]), words_at(block[Block.SHADOW_READS])
    strong = flags & Access.STRONG != 0
    stamp = stamp_of(block, thread, strong)
    for byte in range(offset, offset + size):
        written = writes[byte]
        if flags & Access.READ:
            if written >> EPOCH_SHIFT < block[Block.FIRST_EPOCH]:
                return _fault(block, thread, Fault.NEVER_WRITTEN, site, offset, size, 0)
            if races(block, thread, written, strong):
                other = written & THREAD_MASK
                return _fault(block, thread, Fault.READ_WRITE_RACE, site, offset, size, other)
            if reads[2 * byte] & THREAD_MASK != thread[Thread.INDEX]:
                reads[2 * byte + 1] = reads[2 * byte]
            reads[2 * byte] = stamp
        if flags & Access.WRITE:
            if races(block, thread, written, strong):
                other = written & THREAD_MASK
                return _fault(block, thread, Fault.WRITE_WRITE_RACE, site, offset, size, other)
            for slot in range(2):
                reader = reads[2 * byte + slot]
                if races(block, thread, reader, strong):
                    return _fault(block, thread, Fault.READ_WRITE_RACE, site, offset, size, reader & THREAD_MASK)
            writes[byte] = stamp
    return block[Block.SHARED] + offset


@compiled(njit)
def _range_of(block, address, size):
    """Return the number of the piece of memory that may be accessed and contains the whole access; -1 for none."""
    ranges, low, high = words_at(block[Block.RANGES]), 0, block[Block.NUM_RANGES]
    while low < high:  # the last piece that begins at or before the address
        middle = (low + high) // 2
        if ranges[2 * middle] <= address:
            low = middle + 1
        else:
            high = middle
    return low - 1 if low > 0 and address + size <= ranges[2 * low - 1] else -1


@compiled(njit)
def _global(block, thread, number, address, size, site, flags):
    """Set the stamps of the bytes of an access to global memory, and return its address; 0 for a fault."""
    ranges = words_at(block[Block.RANGES])
    begin, end = ranges[2 * number], ranges[2 * number + 1]
    place = place_of(block, number, end - begin)
    if place == NOT_WATCHED:
        return address
    writes, reads = words_at(block[Block.WATCH_WRITES]), words_at(block[Block.WATCH_READS])
    strong = flags & Access.STRONG != 0
    stamp, first = stamp_of(block, thread, strong), place + address - begin
    for byte in range(first, first + size):
        if races_globally(block, thread, writes[byte], strong):
            fault = Fault.GLOBAL_WRITE_WRITE_RACE if flags & Access.WRITE else Fault.GLOBAL_READ_WRITE_RACE
            return _race(block, thread, fault, site, address, size, writes[byte])
        if flags & Access.WRITE:
            for slot in range(2):
                reader = reads[2 * byte + slot]
                if races_globally(block, thread, reader, strong):
                    return _race(block, thread, Fault.GLOBAL_READ_WRITE_RACE, site, address, size, reader)
            writes[byte] = stamp
        if flags & Access.READ:
            if (reads[2 * byte] ^ stamp) & THREAD_MASK or is_of_other_block(block, reads[2 * byte]):
                reads[2 * byte + 1] = reads[2 * byte]
            reads[2 * byte] = stamp
    return address


@compiled(njit)
def _note(block, thread, address, size, site, flags):
    """Record an access to global memory if there is room."""
    count = block[Block.TRACE_COUNT]
    if count < block[Block.TRACE_ROOM]:
        records, at = words_at(block[Block.TRACE]), RECORD * count
        records[at], records[at + 1], records[at + 2] = site, block[Block.FIRST_EPOCH], thread[Thread.INDEX]
        records[at + 3], records[at + 4], records[at + 5] = address, size, flags
    block[Block.TRACE_COUNT] = count + 1


@compiled(njit)
def _race(block, thread, fault, site, address, size, stamp):
    if block[Block.FAULT] == 0:
        block[Block.FAULT_IS_OTHER_BLOCK] = is_of_other_block(block, stamp)
    return _fault(block, thread, fault, site, address, size, stamp & THREAD_MASK)


@compiled(njit)
def _access(block, address, space, size, site, flags):
    thread = words_at(block[Block.CURRENT])
    if block[Block.FAULT] != 0:
        return 0
    if address % size:
        return _fault(block, thread, Fault.MISALIGNED, site, address, size, 0)
    generic = space == 0
    in_shared = 0 <= address - block[Block.SHARED] < block[Block.SHARED_BYTES]
    if space == 3:
        return _shared(block, thread, address, size, site, flags)
    if generic and in_shared:
        return _shared(block, thread, address - block[Block.SHARED], size, site, flags)
    local = address - thread[Thread.LOCAL]
    if 0 <= local <= thread[Thread.LOCAL_BYTES] - size and (generic or space == 4):
        return address
    if space == 4:
        return _fault(block, thread, Fault.LOCAL_OUT_OF_BOUNDS, site, local, size, 0)
    number = _range_of(block, address, size)
    if number >= 0:
        if block[Block.TRACE_ROOM] != 0:
            _note(block, thread, address, size, site, flags)
        return _global(block, thread, number, address, size, site, flags)
    fault = Fault.NULL if 0 <= address < _LOWEST else Fault.OUT_OF_BOUNDS
    return _fault(block, thread, fault, site, address, size, 0)


_WORD = types.int64


def _access_of_any(block, address, space, size, site, flags):
    """Return the address of an access in this process, or 0 for a fault, which is recorded in the block record.

    address: in its space; space: a number of `operands.SPACES`; size: bytes; site: the instruction; flags: of `Access`.
    """
    return _access(block, address, space, size, site, flags)


def _fault_of_any(block, what, site):
    """Record a fault of the running thread."""
    _fault(block, words_at(block[Block.CURRENT]), what, site, 0, 0, 0)


@cache
def access() -> Any:
    """Return `_access_of_any` as a function that kernels call, compiled when the first kernel is loaded."""
    return compiled(cfunc, _WORD(WORDS, _WORD, _WORD, _WORD, _WORD, _WORD))(_access_of_any)


@cache
def fault() -> Any:
    """Return `_fault_of_any` as a function that kernels call, compiled when the first kernel is loaded."""
    return compiled(cfunc, types.void(WORDS, _WORD, _WORD))(_fault_of_any)
