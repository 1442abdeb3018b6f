"""A device that is not present: kernels are compiled for it, and nothing runs on it."""

from __future__ import annotations

import abc
import re
from collections.abc import Callable
from typing import Any, Final

from ep.cuda.driver.interface import DeviceProperties, Driver
from ep.cuda.driver.limits import OLDEST_CAPABILITY
from ep.cuda.driver.packages import why_no_kernels
from ep.include.errors import ArgumentValueError, DeviceUnavailableError

_THREADS: Final = 1024
_SHARED_BYTES: Final = 48 * 1024  # every device has as many for a block


class _AbsentDevice(Driver):
    """One device of a compute capability. Kernels are compiled when they are loaded; all else raises."""

    is_there = False

    def __init__(self, capability: str) -> None:
        """capability: such as "9.0".

        Raises ArgumentValueError for an invalid capability, DeviceUnavailableError if a part of the compiler is
        missing.
        """
        found = re.fullmatch(r"(\d{1,2})\.(\d)", capability)
        if found is None:
            raise ArgumentValueError("capability", f"is {capability!r}; it must be a compute capability, such as 9.0")
        if why := why_no_kernels():
            raise DeviceUnavailableError(f"no kernel for CUDA can be compiled: {why}")
        self._capability = int(found[1]), int(found[2])
        if self._capability < OLDEST_CAPABILITY:
            oldest = ".".join(map(str, OLDEST_CAPABILITY))
            raise ArgumentValueError("capability", f"is {capability}; kernels need {oldest} or a newer one")

    def why_unavailable(self) -> str | None:
        return None

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return 0

    def properties(self, device: int) -> DeviceProperties:
        name = "a device that is not there"
        return DeviceProperties(name, self._capability, 1, _THREADS, _THREADS, 0, True, _SHARED_BYTES, _SHARED_BYTES)

    def load_function(self, device: int, image: Any, name: str) -> Any:
        return None

    def static_shared(self, device: int, function: Any) -> int:
        return 0

    def max_active_blocks(self, device: int, function: Any, block_threads: int, shared_bytes: int = 0) -> int:
        return 1


def _refusing(name: str) -> Callable[..., Any]:
    def refuse(self: _AbsentDevice, *args: Any, **kwargs: Any) -> Any:
        raise DeviceUnavailableError(f"{name}: the device is not there; kernels are compiled for it, and nothing runs")

    return refuse


for _name in _AbsentDevice.__abstractmethods__:
    setattr(_AbsentDevice, _name, _refusing(_name))
abc.update_abstractmethods(_AbsentDevice)  # type: ignore[type-abstract]


def absent_device(capability: str) -> Driver:
    """Return the driver of an absent device of this compute capability; raises the errors of its constructor."""
    return _AbsentDevice(capability)  # type: ignore[abstract]  # the loop above has written the other methods
