"""Objects that are good in one process only."""

from __future__ import annotations

from typing import NoReturn, SupportsIndex


class ProcessBound:
    """Base of what stands for something of this process that has one owner: a stream, an event, device memory.

    A copy would give the same thing back twice, and another process does not have it: copy, deepcopy and pickle raise
    TypeError.
    """

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(f"{self!r} can be neither copied nor pickled: it is bound to its process")
