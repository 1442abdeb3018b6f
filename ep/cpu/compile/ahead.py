"""Compilation ahead of launches: LLVM's part of several kernels is done side by side, by processes.

The launches of a program are tried, on a stream that computes nothing. The first kernel that a launch lacks becomes
LLVM's code, which a process compiles, and the launch waits. Others are tried meanwhile, until none lacks a kernel.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from typing import Any, Final

from ep.common.environment import COMPILE_PROCESSES
from ep.common.processors import available_threads
from ep.include.process import exclusively

_FEWEST: Final = 3
"""The kernels that wait for LLVM when processes start: fewer are compiled here in less time."""
_MOST: Final = 3
"""The most processes that start unless the user says so: this process writes LLVM's code for no more."""
_PATIENCE: Final = 20.0
"""The seconds after which a kernel that no process has compiled is compiled here."""


class WaitingError(BaseException):
    """Raised for a launch that has to wait for a kernel. No handler of Exceptions is meant."""

    def __init__(self, file_name: str) -> None:
        super().__init__(file_name)
        self.file_name = file_name


class _Kernel:
    """A kernel that is compiled ahead. code: that of LLVM, to come; None before it is asked for."""

    def __init__(self, library: Any, symbols: list[str]) -> None:
        self.library, self.symbols = library, symbols
        self.code: Future[bytes | None] | None = None


class _Ahead:
    """The kernels that launches wait for, by their files."""

    def __init__(self, number: int) -> None:
        """number: of processes."""
        self._number, self._process = number, os.getpid()
        self._kernels = dict[str, _Kernel]()
        self._helpers: Any = None

    def try_all(self, launches: Iterable[Callable[[], object]]) -> None:
        """Try launches until none of them waits for a kernel."""
        new, waiting = deque(launches), list[tuple[str, Callable[[], object]]]()
        try:
            while new or waiting:
                ready = next((one for one in waiting if self._is_ready(one[0])), None)
                if ready is not None:
                    waiting.remove(ready)
                elif not new:
                    self._wait([self._kernels[file_name] for file_name, _ in waiting])
                    continue
                launch = new.popleft() if ready is None else ready[1]
                file_name = exclusively(lambda launch=launch: self._tried(launch))  # type: ignore[misc]
                if file_name is not None:
                    waiting.append((file_name, launch))
        finally:
            if self._helpers is not None and not self._is_forked:
                self._helpers.end()

    @property
    def _is_forked(self) -> bool:
        """Whether this is a child, by the handler of a signal: the processes are its parent's."""
        return os.getpid() != self._process

    def _is_ready(self, file_name: str) -> bool:
        kernel = self._kernels.get(file_name)
        return kernel is None or (kernel.code is not None and kernel.code.done())

    def _tried(self, launch: Callable[[], object]) -> str | None:
        """Try a launch; return the file of the kernel that it waits for."""
        global _ahead
        _ahead = self
        try:
            launch()
        except WaitingError as error:
            return error.file_name
        except Exception:
            return None  # the launch itself raises it again
        finally:
            _ahead = None
        return None

    def compiled(self, file_name: str, front_end: Callable[[], tuple[Any, list[str]]]) -> tuple[Any, list[str], bytes]:
        """Return what the function `compiled` returns. Raises WaitingError until a process has compiled the kernel."""
        global _ahead
        kernel = self._kernels.get(file_name)
        if kernel is None:
            _ahead = None  # a function that it calls by name is compiled at once
            try:
                kernel = _Kernel(*front_end())
            finally:
                _ahead = self
            self._kernels[file_name] = kernel
            self._submit()
        if kernel.code is None or not kernel.code.done():
            raise WaitingError(file_name)
        del self._kernels[file_name]
        return kernel.library, kernel.symbols, kernel.library.machine_code(kernel.code.result())

    def _submit(self) -> None:
        """Hand kernels to the processes; start them when there are enough kernels."""
        if self._helpers is None:
            if len(self._kernels) < _FEWEST:
                return
            from ep.cpu.compile.helpers import Helpers  # most programs find all kernels on disk

            self._helpers = Helpers(self._number)
        for kernel in self._kernels.values():
            if kernel.code is None:
                kernel.code = self._helpers.submit(kernel.library.job())

    def _wait(self, kernels: Sequence[_Kernel]) -> None:
        """Wait for one of some kernels; if none is being compiled, or that takes too long, have one compiled here."""
        codes = [kernel.code for kernel in kernels if kernel.code is not None]
        if self._is_forked or not codes or not wait(codes, _PATIENCE, FIRST_COMPLETED).done:
            kernels[0].code = Future()
            kernels[0].code.set_result(None)


_ahead: _Ahead | None = None
"""Set while a launch is tried, in the critical section."""


_refusing = threading.local()
"""`now`: whether this thread compiles no kernel now."""


@contextmanager
def refused_kernels() -> Iterator[None]:
    """Raise WaitingError in this block, of this thread, for a kernel that would be compiled."""
    before = getattr(_refusing, "now", False)
    _refusing.now = True
    try:
        yield
    finally:
        _refusing.now = before


def check_not_refused(file_name: str | None) -> None:
    """Raise WaitingError for a kernel in a block of `refused_kernels`. file_name: as of `compiled`."""
    if getattr(_refusing, "now", False):
        raise WaitingError(file_name or "")


def compile_ahead(launches: Callable[[], Iterable[Callable[[], object]]]) -> None:
    """Compile what launches lack, if processes may help. launches: returns them, as functions that may be called any
    number of times, and that compute nothing."""
    number = COMPILE_PROCESSES.value()
    number = min(available_threads() - 1, _MOST) if number is None else number
    if number <= 0 or _ahead is not None:  # a launch that is tried may be a program itself
        return
    try:
        found = [*launches()]
    except Exception:
        return  # the program itself raises it again
    _Ahead(number).try_all(found)


def compiled(file_name: str | None, front_end: Callable[[], tuple[Any, list[str]]]) -> tuple[Any, list[str], bytes]:
    """Return the library of a kernel, its symbols and its machine code.

    file_name: of the kernel on disk; None if it is not kept. front_end: returns library and symbols.
    Raises WaitingError if a launch is tried, and a process compiles the kernel, and where `refused_kernels` says so.
    """
    if _ahead is not None and file_name is not None:
        return _ahead.compiled(file_name, front_end)
    check_not_refused(file_name)
    library, symbols = front_end()
    return library, symbols, library.machine_code()
