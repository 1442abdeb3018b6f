"""Objects that are valid in one process only."""

from __future__ import annotations

from typing import NoReturn, SupportsIndex


class ProcessBound:
    """The base class of objects that represent a resource of this process with one owner: stream, event, device memory.

    A copy would release the resource twice, and other processes do not have it. So copy, deepcopy and pickle raise
    TypeError.
    """

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(f"{self!r} can be neither copied nor pickled: it is bound to its process")
