"""Describes in words the fault that ended a launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tests.cuda.ptx_machine.layout import Block, Fault
from tests.cuda.ptx_machine.syntax import Instruction


class PtxError(Exception):
    """A launch had undefined behaviour: on a GPU it may cause a fault, a wrong result, or no visible error."""


def describe(
    kernel: str,
    sites: Sequence[Instruction],
    block: np.ndarray[Any, Any],
    threads: Sequence[int],
    known: np.ndarray[Any, Any],
) -> str:
    """Return a message with the fault, its thread, its instruction and its kernel."""

    def place(index: int) -> str:
        x, y, z = index % threads[0], index // threads[0] % threads[1], index // (threads[0] * threads[1])
        return f"thread ({x}, {y}, {z})"

    site = sites[block[Block.FAULT_SITE]]
    of_block = tuple(block[Block.CTAID_X : Block.CTAID_X + 3].tolist())
    address, size = int(block[Block.FAULT_ADDRESS]), int(block[Block.FAULT_BYTES])
    other_site = int(block[Block.FAULT_OTHER_SITE])
    facts = {
        "address": f"{address:#x}",
        "offset": address,
        "size": size,
        "mask": f"{address:#x}",
        "other": place(int(block[Block.FAULT_OTHER])),
        "whose": "of another block" if block[Block.FAULT_IS_OTHER_BLOCK] else "of its block",
        "lane": int(block[Block.FAULT_OTHER]),
        "where": _nearest(address, known),
        "elsewhere": "has returned" if other_site < 0 else f"waits at {_quoted(sites[other_site])}",
    }
    words = _WORDS[Fault._fields[block[Block.FAULT]]].format_map(facts)
    return f"{kernel}, {_quoted(site)}: {place(int(block[Block.FAULT_THREAD]))} of block {of_block} {words}"


def _quoted(site: Instruction) -> str:
    return f"line {site.line} of its PTX, {site.text!r}"


def _nearest(address: int, known: np.ndarray[Any, Any]) -> str:
    """Return the position of an address relative to the nearest piece of memory."""
    pieces = known.reshape(-1, 2).tolist()
    if not pieces:
        return "there is no memory"
    distance: Callable[[list[int]], int] = lambda piece: max(piece[0] - address, address - piece[1])  # noqa: E731
    begin, end = min(pieces, key=distance)
    if address < begin:
        return f"{begin - address} bytes before the {end - begin} bytes at {begin:#x}"
    return f"{address - begin} bytes into the {end - begin} at {begin:#x}"


_WORDS: Final = {
    "MISALIGNED": "accesses {size} bytes at {address}, which is not a multiple of {size}",
    "OUT_OF_BOUNDS": "accesses {size} bytes at {address}, {where}, which are not all its own",
    "NULL": "accesses {size} bytes at {address}, where no memory is",
    "LOCAL_OUT_OF_BOUNDS": "accesses {size} bytes of its local memory at {offset}, past its bounds",
    "SHARED_OUT_OF_BOUNDS": "accesses {size} bytes of shared memory at {offset}, past its bounds",
    "NEVER_WRITTEN": "reads {size} bytes of shared memory at {offset}, which no thread of the block has written",
    "WRITE_WRITE_RACE": (
        "writes {size} bytes of shared memory at {offset}, which {other} writes too, with no barrier between"
    ),
    "READ_WRITE_RACE": (
        "accesses {size} bytes of shared memory at {offset}, of which {other} writes or reads some, "
        "with no barrier between"
    ),
    "GLOBAL_WRITE_WRITE_RACE": (
        "writes {size} bytes at {address}, {where}, of which {other} {whose} writes some too, with no barrier between"
    ),
    "GLOBAL_READ_WRITE_RACE": (
        "accesses {size} bytes at {address}, {where}, of which {other} {whose} writes or reads some, "
        "with no barrier between"
    ),
    "NO_MEMBER": "waits for the lanes {mask}, of which it is none itself",
    "INACTIVE_SOURCE": "takes a value from lane {lane}, which takes no part",
    "DIVERGENT_BARRIER": "waits at a barrier, while {other} {elsewhere}",
    "EXITED_BEFORE_BARRIER": "waits at a barrier, while {other} {elsewhere}",
    "NEVER_MET": "waits in vain: {other} {elsewhere}",
    "TRAP": "ends by a trap",
}
"""The words of the message for each fault, after the name of the thread."""
