"""The driver of this process: CUDA's, or one that stands in for it."""

from __future__ import annotations

from functools import cache

from ep.cuda.driver.cuda_driver import CudaDriver
from ep.cuda.driver.interface import Driver
from ep.include.process import exclusively

_instead: list[Driver] = []


def use_driver(instead: Driver) -> None:
    """Make `instead` the driver of this process, which has asked for none yet; for tests if there is no GPU."""
    if driver.cache_info().currsize:
        raise RuntimeError("the process has a driver already")
    _instead[:] = [instead]


@cache
def driver() -> Driver:
    """Return the driver of this process."""
    return exclusively(_made)


@cache
def _made() -> Driver:
    """Return the same, made by one thread, and once."""
    if _instead:
        return _instead[0]
    return CudaDriver()
