"""The manager of the one CPU device."""

from __future__ import annotations

from ep.common.checks import as_integer
from ep.cpu.device import CpuDevice
from ep.include.device_manager import DeviceManager
from ep.include.device_type import DeviceType
from ep.include.errors import DeviceUnavailableError
from ep.include.process import exclusively


class CpuDeviceManager(DeviceManager):
    """There is one CPU device, number 0, and it is always there."""

    def __init__(self) -> None:
        self._device: CpuDevice | None = None

    def device_type(self) -> DeviceType:
        return DeviceType.kCPU

    def GetDevice(self, device_index: int) -> CpuDevice:
        _check_index(device_index)
        if self._device is None:
            exclusively(self._make_device)
        assert self._device is not None
        return self._device

    def _make_device(self) -> None:
        if self._device is None:
            self._device = CpuDevice(self)

    def GetDeviceCount(self) -> int:
        return 1

    def GetActiveDeviceIndex(self) -> int:
        return 0

    def SetActiveDeviceByIndex(self, device_index: int) -> None:
        _check_index(device_index)

    def IsStreamWaitEventSupported(self) -> bool:
        return True


def _check_index(device_index: int) -> None:
    if as_integer(device_index, "device_index") != 0:
        raise DeviceUnavailableError(f"device_index is {device_index}; there is one CPU device, number 0")
