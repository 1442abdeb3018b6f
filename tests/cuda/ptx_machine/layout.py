"""The words (int64) that translated code shares with the scheduler and the memory checks.

A *thread record* has the words below, then its registers if the kernel synchronises threads, then its local memory. All
threads share one *block record*, which is filled in anew for each block.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple


def _numbered(names: Any) -> Any:
    """Return the names, numbered from 0, in a form that compiled code reads as constants."""
    return names(*range(len(names._fields)))


class _Thread(NamedTuple):
    """Words of a thread record."""

    STATE: int  # the point at which the thread continues: 0 for the start, the number of a meeting, or DONE
    MEETING: int  # the Meeting that it waits for
    SITE: int  # the instruction that it waits at
    MODE: int  # the mode of that instruction
    VALUE: int  # its first operand
    SECOND: int
    THIRD: int
    MASK: int  # the lanes of its warp that meet; for a barrier its number
    RESULT: int  # its result
    FLAG: int
    TID_X: int
    TID_Y: int
    TID_Z: int
    LANE: int
    WARP: int
    INDEX: int  # the thread's number in its block
    SYNCS: int  # how often its warp has synchronised with memory ordered
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
    SHADOW_WRITES: int  # the address of a stamp for each byte of shared memory: the last writer
    SHADOW_READS: int  # the last reader, and the last reader among the other threads
    RANGES: int  # the address of the beginnings and ends of memory that may be accessed, in order
    NUM_RANGES: int
    WATCH_WRITES: int  # the address of a stamp for each watched byte of global memory: the last writer
    WATCH_READS: int  # the last reader, and the last reader among the other threads
    WATCH_PLACES: int  # the address of a word for each range: the begin of its stamps, NOT_YET, or NOT_WATCHED
    WATCH_NEXT: int  # the begin of the next range's stamps
    WATCH_END: int  # how many stamps there are
    TRACE: int  # the address of the records of accesses to global memory, and the number that fits
    TRACE_ROOM: int
    TRACE_COUNT: int  # accesses so far, recorded or not
    EPOCH: int  # barriers so far, in all blocks of all launches
    FIRST_EPOCH: int  # the first of this block
    LAUNCH_EPOCH: int  # the first of this launch
    DEVIATION: int  # approximations: 0 for exact results, 1 for the upper error bound, -1 for the lower one
    CURRENT: int  # the address of the record of the thread that runs
    FAULT: int  # a Fault; the words below describe it
    FAULT_SITE: int
    FAULT_ADDRESS: int
    FAULT_BYTES: int
    FAULT_THREAD: int
    FAULT_OTHER: int  # another thread or lane; the next word: another site
    FAULT_OTHER_SITE: int
    FAULT_IS_OTHER_BLOCK: int  # whether the other thread is in another block


Block: Final = _numbered(_Block)

DONE: Final = -1
"""The state of a thread that has returned."""


class _Meeting(NamedTuple):
    """The kinds of synchronisation that threads wait for."""

    NONE: int
    BARRIER: int
    WARP_BARRIER: int
    SHUFFLE: int
    VOTE: int
    REDUCE: int
    MATCH: int


Meeting: Final = _numbered(_Meeting)


class _Shuffle(NamedTuple):
    """Modes of SHUFFLE: the lane from which a lane takes its value."""

    UP: int
    DOWN: int
    BFLY: int
    IDX: int


Shuffle: Final = _numbered(_Shuffle)


class _Vote(NamedTuple):
    """Modes of VOTE, and of a barrier with a vote."""

    NONE: int
    ALL: int
    ANY: int
    UNI: int
    BALLOT: int
    POPC: int


Vote: Final = _numbered(_Vote)


class _Reduction(NamedTuple):
    """Modes of REDUCE, for 32-bit numbers."""

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
    """The faults that end a launch whose behaviour on a GPU would be undefined."""

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
