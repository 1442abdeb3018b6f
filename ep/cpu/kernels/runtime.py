"""Starts what all launches need: the threading layer, and the parallel range that runs on it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from ep.cpu.kernels import threading_layer
from ep.cpu.kernels.parallel import parallel_range


@cache
def layer() -> tuple[str, str]:
    """Start the threading layer; return its name and why it is that one."""
    return threading_layer.select()


def start() -> int:
    """Return the address of the parallel range, ready to be called."""
    layer()
    return parallel_range()


def guarded(entry: Callable[..., int]) -> Callable[..., int]:
    """Return `entry`, behind the lock of all launches where the threading layer cannot be entered twice."""
    if layer()[0] != "workqueue":
        return entry

    def call(*args: Any) -> int:
        with _one_launch:
            return entry(*args)

    return call


_one_launch: Final = threading.Lock()
