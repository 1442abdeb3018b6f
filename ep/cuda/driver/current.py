"""The driver of this process: CUDA's, or a replacement."""

from __future__ import annotations

from functools import cache

from ep.cuda.driver.cuda_driver import CudaDriver
from ep.cuda.driver.interface import Driver
from ep.include.process import exclusively

_instead: list[Driver] = []


def use_driver(instead: Driver) -> None:
    """Use `instead` as the driver of this process, before its first use; for tests without a GPU."""
    if driver.cache_info().currsize:
        raise RuntimeError("the process has a driver already")
    _instead[:] = [instead]


@cache
def driver() -> Driver:
    """Return the driver of this process."""
    return exclusively(_made)


@cache
def _made() -> Driver:
    """Return the driver, created once by one thread."""
    if _instead:
        return _instead[0]
    return CudaDriver()
