"""Notices for users who wait: that kernels are being compiled, and counts of a first call that takes long.

They are for terminals alone, and silent if `logging.getLogger("ep")` is at ERROR. Each is a line of its own.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import Final

_log = logging.getLogger("ep")
_SENTENCE: Final = "ep: compiling kernels, which takes a second or more; later processes load them"
_LATE: Final = 2.0
"""The seconds after which a call shows counts; then after twice the time, and so on."""
_said = False


class Wait:
    """A first call: how many kernels it has compiled, and how many of its steps are done, as far as they are known.

    As a context it is None inside another one, which counts.
    """

    __slots__ = ("_begin", "_counts", "_is_silent", "_next", "_shown", "_token")
    _token: Token[Wait | None] | None

    def __init__(self, is_silent: bool = False) -> None:
        """is_silent: whether nothing is said inside."""
        self._is_silent, self._next = is_silent, _LATE
        self._counts = self._shown = 0, 0, 0

    def __enter__(self) -> Wait | None:
        self._token = None if _wait.get() else _wait.set(self)
        if self._token is None:
            return None
        self._begin = time.perf_counter()
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if self._token is not None:
            _wait.reset(self._token)
            if kind is None:
                self._say_if_late(_LATE)

    @property
    def is_heard(self) -> bool:
        """Whether anything is said."""
        return not self._is_silent and _log.isEnabledFor(logging.WARNING) and _is_terminal()

    def tell(self, done: int, known: int) -> None:
        """Note the number of steps that are done, and of those that are known so far."""
        self._counts = self._counts[0], done, known
        self._say_if_late(self._next)

    def compiled(self) -> None:
        """Count a kernel."""
        self._counts = self._counts[0] + 1, *self._counts[1:]
        self._say_if_late(self._next)

    def _say_if_late(self, late: float) -> None:
        if self._counts == self._shown or (seconds := time.perf_counter() - self._begin) < late or not self.is_heard:
            return
        self._next, self._shown = 2 * seconds, self._counts
        kernels, done, known = self._counts
        parts = [f"{kernels:,} {'kernel' if kernels == 1 else 'kernels'} compiled"] if kernels else []
        parts += [f"{done:,} of {known:,} steps done"] if known else []
        _say(f"ep: {', '.join(parts)}, in {seconds:.0f} s")


_wait: Final[ContextVar[Wait | None]] = ContextVar("wait", default=None)


@contextmanager
def compiling() -> Iterator[None]:
    """Count the kernel that is compiled inside; before the first one of the process, say so."""
    global _said
    with Wait() as outermost:
        wait = outermost or _wait.get()
        assert wait is not None
        if not _said and wait.is_heard:
            _said = True
            _say(_SENTENCE)
        yield
        wait.compiled()


def _say(line: str) -> None:
    columns = shutil.get_terminal_size().columns  # broken between words, as all output of `ep` is
    words = textwrap.fill(line, columns, break_long_words=False)
    print(f"{_to_a_new_line()}{words}", file=sys.stderr, flush=True)


def _to_a_new_line() -> str:
    """Return what takes a terminal to the beginning of a line, below what others have begun to write.

    As many blanks as it has columns end in the same line only if they began at its beginning.
    """
    stream = sys.__stderr__
    if os.name != "posix" or stream is None or stream is not sys.stderr:
        return ""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return ""
    return " " * columns + "\r" if columns else ""


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError, OSError):  # no stderr, a closed one, or an object of the program's own
        return False
