"""The device type, and OpenCL itself: loaded when it is first used, with errors of Python's classes."""

from collections.abc import Iterator
from contextlib import contextmanager

from ep import DeviceType
from ep.common.native.on_demand import OnDemand

kOpenCL = DeviceType.Register("kOpenCL", "opencl")
cl = OnDemand("pyopencl")


class OpenCLError(RuntimeError):
    """Raised for a call of OpenCL, or for queued work, that failed."""


@contextmanager
def opencl_errors(what: str) -> Iterator[None]:
    """Raise MemoryError where OpenCL has no memory for `what`, OpenCLError for its other errors."""
    try:
        yield
    except cl.MemoryError as error:
        raise MemoryError(f"{what}: {error}") from error
    except cl.Error as error:
        raise OpenCLError(f"{what}: {error}") from error
