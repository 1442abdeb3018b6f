"""Starts what all launches need: the threading layer, and the parallel range that runs on it."""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.cpu import threading_layer
from ep.cpu.kernels.parallel import parallel_range


@cache
def layer() -> tuple[str, str]:
    """Start the threading layer; return its name and why it is that one."""
    return threading_layer.select()


def start(device: Any) -> int:
    """Return the address of the parallel range, ready to be called for launches on `device`."""
    if layer()[0] == "workqueue":
        device.serialize_launches()
    return parallel_range()
