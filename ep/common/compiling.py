"""Compilation of kernels, with messages to the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final, TypeVar

from ep.common.notice import Wait
from ep.include.process import exclusively

T = TypeVar("T")

_log: Final = logging.getLogger("ep")
_LONG_SECONDS: Final = 0.5


def compiling(what: object, tag: str, work: Callable[[], T]) -> T:
    """Return the result of `work`, which imports a compiler, or compiles or loads `what` for the device type `tag`."""
    begin = time.perf_counter()
    with Wait():
        result = exclusively(work)
    seconds = time.perf_counter() - begin
    if seconds > _LONG_SECONDS:
        _log.info("%s on %s took %.1f s to compile; later processes load it", what, tag, seconds)
    return result
