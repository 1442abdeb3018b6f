"""The record on disk of the digests of a package's sources: the next process need not read the sources for them.

It is for files in certain states, and is found by these. It is kept if all files changed some time before the process
began: a file may be edited twice within one tick of its clock, and be in the same state.
"""

from __future__ import annotations

import hashlib
import re
import sys
from typing import Final

from ep.common.kernel_cache.sources import Sources

_SETTLED_NS: Final = 60 * 10**9
_LINE: Final = re.compile(r"([0-9a-f]{64}) (.*)")


def name_of(sources: Sources, taken_ns: int) -> str | None:
    """Return the name of the file of the record; None if a source has just been changed.

    taken_ns: the time of the clock when the states of the sources were taken.
    On Windows there is no record: no time of a file tells of an edit after which the time of change was set back.
    """
    if sys.platform == "win32":
        return None
    states = sorted((path, *state) for path, state in sources.states.items())
    changed = max((max(state.mtime_ns, state.ctime_ns) for state in sources.states.values()), default=taken_ns)
    digest = hashlib.sha256(repr(states).encode()).hexdigest()[:16]
    return None if changed + _SETTLED_NS > taken_ns else f"sources-{digest}.sources"


def packed(sources: Sources) -> bytes:
    """Return the contents of the record."""
    return "\n".join(f"{digest} {','.join(rooms)}" for rooms, digest in tuple(sources.digests.items())).encode()


def unpacked(contents: bytes) -> dict[tuple[str, ...], str] | None:
    """Return the digests that a record holds, by their rooms; None if it is none."""
    found = [_LINE.fullmatch(line) for line in contents.decode("ascii", errors="replace").split("\n")]
    return {tuple(line[2].split(",")): line[1] for line in found if line} if all(found) else None
