"""Starts what all launches need: the threads, and the code that shares work among them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ep.cpu.engine import streaming
from ep.cpu.threads import thread_pool
from ep.cpu.threads.workers import Workers

if TYPE_CHECKING:
    from ep.cpu.device import CpuDevice


@cache
def workers() -> Workers:
    """The pool of all launches of this process."""
    return Workers()


def start(device: CpuDevice) -> int:
    """Start the threads of `device`, and return the address of the task that shares work among them."""
    device.set_pool(workers().address, workers().start)
    return thread_pool.share()


def start_streaming(device: CpuDevice) -> None:
    """Compile what launches need that write past the caches."""
    device.set_stream(streaming.stream())
