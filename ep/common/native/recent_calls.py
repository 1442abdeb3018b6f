"""The last calls of a function, which compiled code compares with the next one."""

from __future__ import annotations

from typing import Any, Final

Calls = tuple[tuple[Any, ...], ...]

_KEPT: Final = 16  # compiled code compares them one by one


class RecentCalls:
    """The last 16 calls of a function, the newest first: for each, a tuple of all that compiled code reads.

    Compiled code finds `recent` in the first slot. Python never changes it in place, but replaces it as a whole.
    """

    __slots__ = ("recent",)

    def __init__(self) -> None:
        self.recent: Calls = ()

    def add(self, known: tuple[Any, ...]) -> None:
        """Add a call, unless it is there; the oldest one may be dropped."""
        for one in self.recent:  # not `in`, which would compare arrays
            if one is known:  # another call may be equal, but have another object as its dtype or axis
                return
        self.recent = (known, *self.recent[: _KEPT - 1])
