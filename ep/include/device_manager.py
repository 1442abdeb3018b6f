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
    """All devices of one type (`device_manager.h`). Registered with DeviceManagerRegistry, made when first asked for.

    The constructor must not touch the hardware: `GetDeviceCount` does, when called. There is one in a process, which is
    what copies and what was pickled elsewhere become.

    The first six methods are the contract. `arrays`, `compiled_kernels`, `compile_for` and `findings` are what a device
    type may bring besides: for operators, for `ep cache` and for `ep doctor`.
    """

    @abstractmethod
    def device_type(self) -> DeviceType:
        """The type of the devices."""

    @abstractmethod
    def GetDevice(self, device_index: int) -> Device:
        """Return device `device_index`, the same object each time.

        Raises DeviceUnavailableError where the device is not there, naming `device_index` and what is missing;
        TypeError where `device_index` is no integer.
        """

    @abstractmethod
    def GetDeviceCount(self) -> int:
        """The number of devices present; 0 where hardware, driver or package is missing."""

    @abstractmethod
    def GetActiveDeviceIndex(self) -> int:
        """The calling thread's active device of this type; 0 in a thread that has set none."""

    @abstractmethod
    def SetActiveDeviceByIndex(self, device_index: int) -> None:
        """Make device `device_index` the calling thread's active one; errors are those of `GetDevice`."""

    def IsStreamWaitEventSupported(self) -> bool:
        """Return whether `Stream.WaitEvent` works."""
        return False

    def WhyUnavailable(self) -> str | None:
        """Return the reason why `GetDeviceCount` is 0, in words for a user; None if devices are present."""
        return None if self.GetDeviceCount() else f"no {self.device_type().tag} device was found"

    def arrays(self) -> DeviceArrays | None:
        """The arrays that operators (`ep.ops`) work on, the same object each time; None if they do not run here."""
        return None

    def compiled_kernels(self) -> CompiledKernels | None:
        """The kernels on disk; None if the device type keeps none."""
        return None

    def compile_for(self, capability: str) -> None:
        """Let this process compile kernels for a device that need not be there, and run nothing.

        capability: of the device, as its vendor has it: on CUDA "9.0". Raises ArgumentValueError if there is no such
        capability, DeviceUnavailableError where a part of the compiler is missing, RuntimeError where the process has
        asked for devices already.
        """
        tag = self.device_type().tag
        raise ArgumentValueError("capability", f"is {capability!r}; kernels for {tag} are compiled where it is")

    def findings(self) -> Iterable[Finding]:
        """Return the findings of `ep doctor` on packages and drivers that devices need, whether or not any is there."""
        return ()
