"""Counts of the kernels that a process has compiled and loaded, and the time that it took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Statistics:
    """The work of this process with the kernels of a device type.

    loaded, compiled: the number of kernels loaded from the cache, and of kernels compiled.
    seconds: of a processor, that compiling them took.
    names: of all of them.
    """

    loaded: int = 0
    compiled: int = 0
    seconds: float = 0.0
    names: list[str] = field(default_factory=list)

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Around the compilation of one kernel, which may compile others."""
        begin, before = time.thread_time(), self.seconds
        yield
        self.compiled += 1
        self.seconds = before + time.thread_time() - begin
