"""Errors that kernels report: a few words of host memory that the device writes and the host reads without waiting."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ep.include.errors import ArgumentIndexError
from ep.include.process import Rank, new_lock

if TYPE_CHECKING:
    from ep.cuda.driver.interface import Driver

NOTHING: Final = 0
CLAIMED: Final = -1
NUM_WORDS: Final = 4

INDEX_OUT_OF_RANGE: Final = 1
UNSIGNED_INDEX_OUT_OF_RANGE: Final = 2
"""The index is a uint64."""
WRAPPED_INDEX_OUT_OF_RANGE: Final = 3
"""Indices down to -size are in range."""


def _index_error(index: int, position: int, size: int, lowest: int = 0) -> Exception:
    allowed = f"{lowest} ... {size - 1}" if size else "nothing"
    return ArgumentIndexError(f"indices.flat[{position}]", f"is {index}; the axis holds {allowed}")


_EXCEPTIONS: Final[dict[int, Callable[[int, int, int], Exception]]] = {
    INDEX_OUT_OF_RANGE: _index_error,
    UNSIGNED_INDEX_OUT_OF_RANGE: lambda index, position, size: _index_error(index % 2**64, position, size),
    WRAPPED_INDEX_OUT_OF_RANGE: lambda index, position, size: _index_error(index, position, size, -size),
}
"""For each code, the function that makes the exception from its three words."""


class ErrorReport:
    """The first error that kernels of one stream report: int64 words at `address`, [code, and three words of details].

    A kernel changes the code from NOTHING to CLAIMED by an atomic compare-and-swap; the one thread that succeeds writes
    the other words, a system-wide memory fence, and then the code. So a reader sees all of it or nothing.
    """

    def __init__(self, address: int) -> None:
        """address: of NUM_WORDS words, all NOTHING, in page-locked memory, which has one address on host and device."""
        self.address = address
        self._words = (ctypes.c_int64 * NUM_WORDS).from_address(address)

    def take(self) -> Exception | None:
        """Return the error reported since the last call, and make room for the next; None if there is none."""
        code = self._words[0]  # written last, so it is read first
        if code in (NOTHING, CLAIMED):
            return None
        details = self._words[1:]
        self._words[0] = NOTHING
        return _EXCEPTIONS[code](*details)


class ErrorReports:
    """The reports of one device's streams. They last as long as the process: a CUDA graph may hold their addresses."""

    def __init__(self, driver: Driver, device: int) -> None:
        self._driver, self._device = driver, device
        self._lock = new_lock(Rank.REPORTS)
        self._by_stream: dict[int, ErrorReport] = {}
        self._unused: list[int] = []

    def of(self, stream: int) -> ErrorReport:
        """Return the report of the stream with this handle, the same each time."""
        report = self._by_stream.get(stream)
        if report is None:
            with self._lock:
                if not self._unused:
                    self._unused = self._new_addresses()
                report = self._by_stream.setdefault(stream, ErrorReport(self._unused.pop()))
        return report

    def _new_addresses(self) -> list[int]:
        size, count = 8 * NUM_WORDS, 128
        first = self._driver.alloc_host(self._device, count * size)
        ctypes.memset(first, 0, count * size)
        return list(range(first, first + count * size, size))
