"""The words (int64) by which translated code, and what runs it, speak to each other.

A *thread record* has the words below; behind them its registers, where the kernel has places at which threads meet, and
its local memory. The *block record* is one for all threads, filled in anew for each block.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple


def _numbered(names: Any) -> Any:
    """Return the names with numbers from 0 on, in a form that compiled code reads as constants."""
    return names(*range(len(names._fields)))


class _Thread(NamedTuple):
    """Words of a thread record."""

    STATE: int  # where the thread goes on: 0 at the start, a number of a meeting, or DONE
    MEETING: int  # what it waits for, a Meeting
    SITE: int  # the instruction that it waits at
    MODE: int  # of that instruction
    VALUE: int  # what it brings
    SECOND: int
    THIRD: int
    MASK: int  # the lanes of its warp that meet; for a barrier its number
    RESULT: int  # what it takes away
    FLAG: int
    TID_X: int
    TID_Y: int
    TID_Z: int
    LANE: int
    WARP: int
    INDEX: int  # the thread's number in its block
    SYNCS: int  # how often its warp has met so that memory is in order
    LOCAL: int  # the address of its local memory
    LOCAL_BYTES: int


Thread: Final = _numbered(_Thread)


class _Block(NamedTuple):
    """Words of the block record."""

    PARAMETERS: int  # the address of the launch's parameters, a word each
    NTID_X: int
    NTID_Y: int
    NTID_Z: int
    CTAID_X: int
    CTAID_Y: int
    CTAID_Z: int
    NCTAID_X: int
    NCTAID_Y: int
    NCTAID_Z: int
    SHARED: int  # the address of the block's shared memory
    SHARED_BYTES: int
    DYNAMIC_BYTES: int
    COUNTERS: int  # the address of a counter for each block of instructions
    SHADOW_WRITES: int  # the address of a stamp for each byte of shared memory: who wrote it last
    SHADOW_READS: int  # who read it last, and who of the others did
    RANGES: int  # the address of the beginnings and ends of memory that may be accessed, in order
    NUM_RANGES: int
    WATCH_WRITES: int  # the address of a stamp for each watched byte of global memory: who wrote it last
    WATCH_READS: int  # who read it last, and who of the others did
    WATCH_PLACES: int  # the address of a word for each range: where its stamps begin, NOT_YET, or NOT_WATCHED
    WATCH_NEXT: int  # where the stamps of the next range begin
    WATCH_END: int  # how many stamps there are
    TRACE: int  # the address of the records of accesses to global memory, and how many there is room for
    TRACE_ROOM: int
    TRACE_COUNT: int  # accesses so far, noted or not
    EPOCH: int  # barriers so far, in all blocks of all launches
    FIRST_EPOCH: int  # the first of this block
    LAUNCH_EPOCH: int  # the first of this launch
    DEVIATION: int  # of approximations: 0 for exact results, 1 for as far above as they may be, -1 for below
    CURRENT: int  # the address of the record of the thread that runs
    FAULT: int  # a Fault, and what goes with it
    FAULT_SITE: int
    FAULT_ADDRESS: int
    FAULT_BYTES: int
    FAULT_THREAD: int
    FAULT_OTHER: int  # another thread, or another site
    FAULT_OTHER_SITE: int
    FAULT_IS_OTHER_BLOCK: int  # whether the other thread is one of another block


Block: Final = _numbered(_Block)

DONE: Final = -1
"""The state of a thread that has returned."""


class _Meeting(NamedTuple):
    """What threads wait for each other for."""

    NONE: int
    BARRIER: int
    WARP_BARRIER: int
    SHUFFLE: int
    VOTE: int
    REDUCE: int
    MATCH: int


Meeting: Final = _numbered(_Meeting)


class _Shuffle(NamedTuple):
    """Modes of SHUFFLE: where a lane takes its value from."""

    UP: int
    DOWN: int
    BFLY: int
    IDX: int


Shuffle: Final = _numbered(_Shuffle)


class _Vote(NamedTuple):
    """Modes of VOTE, and of a barrier that votes."""

    NONE: int
    ALL: int
    ANY: int
    UNI: int
    BALLOT: int
    POPC: int


Vote: Final = _numbered(_Vote)


class _Reduction(NamedTuple):
    """Modes of REDUCE, of numbers of 32 bits."""

    ADD: int
    MIN_SIGNED: int
    MAX_SIGNED: int
    MIN_UNSIGNED: int
    MAX_UNSIGNED: int
    AND: int
    OR: int
    XOR: int


Reduction: Final = _numbered(_Reduction)


class _Match(NamedTuple):
    """Modes of MATCH."""

    ANY: int
    ALL: int


Match: Final = _numbered(_Match)


class _Access(NamedTuple):
    """Flags of an access to memory."""

    READ: int
    WRITE: int
    STRONG: int  # atomic, volatile or relaxed: no race with another such access


Access: Final = _Access(1, 2, 4)


class _Fault(NamedTuple):
    """What a launch ends with where a GPU would do anything."""

    NONE: int
    MISALIGNED: int
    OUT_OF_BOUNDS: int
    NULL: int
    LOCAL_OUT_OF_BOUNDS: int
    SHARED_OUT_OF_BOUNDS: int
    NEVER_WRITTEN: int
    WRITE_WRITE_RACE: int
    READ_WRITE_RACE: int
    GLOBAL_WRITE_WRITE_RACE: int
    GLOBAL_READ_WRITE_RACE: int
    NO_MEMBER: int
    INACTIVE_SOURCE: int
    DIVERGENT_BARRIER: int
    EXITED_BEFORE_BARRIER: int
    NEVER_MET: int
    TRAP: int


Fault: Final = _numbered(_Fault)
