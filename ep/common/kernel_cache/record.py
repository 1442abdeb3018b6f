"""The record on disk of the digests of a package's modules: the next process need not read the sources for them.

It is for files in certain states, and is found by these. It is kept if all files changed some time before the process
began: a file may be edited twice within one tick of its clock, and be in the same state.
"""

from __future__ import annotations

import hashlib
import re
import sys
from functools import cache
from typing import Final

from ep.common.kernel_cache.sources import Sources

_SETTLED_NS: Final = 60 * 10**9
_LINE: Final = re.compile(r"([0-9a-f]+) ([0-9a-f]{64}) ([0-9a-f]+)")


def name_of(sources: Sources, taken_ns: int) -> str | None:
    """Return the name of the file of the record; None if a source has just been changed.

    taken_ns: the time of the clock when the states of the sources were taken.
    On Windows there is no record: no time of a file tells of an edit after which the time of change was set back.
    """
    if sys.platform == "win32":
        return None
    changed = max((max(state.mtime_ns, state.ctime_ns) for state in sources.states.values()), default=taken_ns)
    return None if changed + _SETTLED_NS > taken_ns else f"sources-{_state_of(sources)[:16]}.sources"


def packed(sources: Sources) -> bytes:
    """Return the contents of the record."""
    lines = [f"{roots:x} {digest} {names:x}" for roots, (digest, names) in tuple(sources.digests.items())]
    return "\n".join([_state_of(sources), *lines]).encode()


def unpacked(sources: Sources, contents: bytes) -> dict[int, tuple[str, int]] | None:
    """Return the digests that a record holds; None if it is not one of `packed` for sources in these states."""
    state, *lines = contents.decode("ascii", errors="replace").split("\n")
    found = [_LINE.fullmatch(line) for line in lines]
    if state != _state_of(sources) or not all(found):
        return None
    return {int(one[1], 16): (one[2], int(one[3], 16)) for one in found if one is not None}


@cache
def _state_of(sources: Sources) -> str:
    return hashlib.sha256(repr(sorted((path, *state) for path, state in sources.states.items())).encode()).hexdigest()
