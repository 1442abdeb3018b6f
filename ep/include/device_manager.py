"""Device managers: the devices of one type."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from ep.include.arrays import DeviceArrays
from ep.include.compiled_kernels import CompiledKernels
from ep.include.device import Device
from ep.include.device_type import DeviceType
from ep.include.errors import ArgumentValueError
from ep.include.finding import Finding


class DeviceManager(ABC):
    """All devices of one type (`device_manager.h`). Registered with DeviceManagerRegistry, created on first use.

    The constructor must not touch the hardware: `GetDeviceCount` does, when called. There is one manager per type in a
    process; copying or unpickling it returns the same object.

    The first six methods are the contract. `arrays`, `compiled_kernels`, `compile_for` and `findings` are optional: for
    operators, for `ep cache` and for `ep doctor`.
    """

    @abstractmethod
    def device_type(self) -> DeviceType:
        """Return the type of the devices."""

    @abstractmethod
    def GetDevice(self, device_index: int) -> Device:
        """Return device `device_index`, the same object each time.

        Raises DeviceUnavailableError if the device is not present: it names `device_index` and the missing part. Raises
        TypeError if `device_index` is not an integer.
        """

    @abstractmethod
    def GetDeviceCount(self) -> int:
        """Return the number of devices present; 0 if hardware, driver or package is missing."""

    @abstractmethod
    def GetActiveDeviceIndex(self) -> int:
        """Return the calling thread's active device of this type; 0 if the thread has set none."""

    @abstractmethod
    def SetActiveDeviceByIndex(self, device_index: int) -> None:
        """Make device `device_index` the calling thread's active one. Raises the errors of `GetDevice`."""

    def IsStreamWaitEventSupported(self) -> bool:
        """Return whether `Stream.WaitEvent` works."""
        return False

    def WhyUnavailable(self) -> str | None:
        """Return the reason why `GetDeviceCount` is 0, in words for users, or None if devices are present."""
        return None if self.GetDeviceCount() else f"no {self.device_type().tag} device was found"

    def arrays(self) -> DeviceArrays | None:
        """Return the arrays that operators (`ep.ops`) work on, the same object each time, or None without operators."""
        return None

    def compiled_kernels(self) -> CompiledKernels | None:
        """Return the kernels on disk, or None if the device type keeps none."""
        return None

    def compile_for(self, capability: str) -> None:
        """Make this process compile kernels for a device that need not be present, and run nothing.

        capability: the device's, as its vendor writes it: on CUDA "9.0". Raises ArgumentValueError if it does not
            exist, DeviceUnavailableError if a part of the compiler is missing, RuntimeError if the process has already
            used devices.
        """
        tag = self.device_type().tag
        raise ArgumentValueError("capability", f"is {capability!r}; kernels for {tag} are compiled where it is")

    def findings(self) -> Iterable[Finding]:
        """Return the findings of `ep doctor` on packages and drivers that devices need, even if none is present."""
        return ()
