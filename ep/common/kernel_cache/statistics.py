"""Counts of the kernels that a process has compiled and loaded, and the time that compiling took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Statistics:
    """The kernels of a device type that this process has compiled and loaded so far.

    loaded, compiled: the number of kernels loaded from the cache, and of kernels compiled.
    seconds: the processor time spent on compiling.
    names: those of all kernels that were asked for, each time.
    """

    loaded: int = 0
    compiled: int = 0
    seconds: float = 0.0
    names: list[str] = field(default_factory=list)

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Count and time the compilation of one kernel inside. It may compile others."""
        begin, before = time.thread_time(), self.seconds
        try:
            yield
            self.compiled += 1
        finally:  # its time counts, too, if it is given up until LLVM's code is there
            self.seconds = before + time.thread_time() - begin
