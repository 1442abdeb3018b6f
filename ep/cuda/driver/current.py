"""The driver of this process: CUDA's, or a replacement."""

from __future__ import annotations

from ep.common.lazy import once
from ep.cuda.driver.cuda_driver import CudaDriver
from ep.cuda.driver.interface import Driver

_instead: list[Driver] = []


def use_driver(instead: Driver) -> None:
    """Use `instead` as the driver of this process, before its first use; for tests without a GPU."""
    _instead[:] = [instead]
    if driver() is not instead:
        raise RuntimeError("the process has a driver already")


@once
def driver() -> Driver:
    """Return the driver of this process."""
    return _instead[0] if _instead else CudaDriver()
