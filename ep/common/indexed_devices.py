"""A manager of devices that are numbered from 0, each of which is made when it is first asked for."""

from __future__ import annotations

import threading
from abc import abstractmethod
from typing import Generic, TypeVar

from ep.common.checks import as_integer
from ep.include.device import Device
from ep.include.device_manager import DeviceManager
from ep.include.device_type import DeviceType
from ep.include.errors import DeviceUnavailableError
from ep.include.process import exclusively

D = TypeVar("D", bound=Device)


class IndexedDeviceManager(DeviceManager, Generic[D]):
    """The manager of any number of devices. Each thread has an active one, which a driver need not know."""

    def __init__(self, device_type: DeviceType) -> None:
        self._device_type = device_type
        self._devices: dict[int, D] = {}
        self._active = threading.local()

    @abstractmethod
    def new_device(self, index: int) -> D:
        """Return a new object for a device that is present; called once for each."""

    def device_type(self) -> DeviceType:
        return self._device_type

    def GetDevice(self, device_index: int) -> D:
        index = self.checked(device_index)
        if index not in self._devices:
            exclusively(lambda: self._make_device(index))
        return self._devices[index]

    def _make_device(self, index: int) -> None:
        if index not in self._devices:
            self._devices[index] = self.new_device(index)

    def GetActiveDeviceIndex(self) -> int:
        return getattr(self._active, "index", 0)

    def SetActiveDeviceByIndex(self, device_index: int) -> None:
        self._active.index = self.checked(device_index)

    def IsStreamWaitEventSupported(self) -> bool:
        return True

    def checked(self, device_index: int) -> int:
        """Return the number of a device that is present. Raises the errors of `GetDevice`."""
        index, count = as_integer(device_index, "device_index"), self.GetDeviceCount()
        name = self._device_type.name.removeprefix("k")
        if count == 0:
            raise DeviceUnavailableError(f"there is no {name} device: {self.WhyUnavailable()}")
        if not 0 <= index < count:
            there = f"is one {name} device, number 0" if count == 1 else f"are {count} {name} devices, from number 0"
            raise DeviceUnavailableError(f"device_index is {index}; there {there}")
        return index
