"""The registry of device managers."""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from typing import ClassVar

from ep.include.device import Device
from ep.include.device_manager import DeviceManager
from ep.include.device_type import DeviceType, load_all_providers, load_provider
from ep.include.errors import ArgumentTypeError, DeviceUnavailableError, DuplicateRegistrationError
from ep.include.process import exclusively
from ep.include.shown import shown


class DeviceManagerRegistry:
    """The only registry of device managers (`device_manager_registry.h`), used through its class methods."""

    _factories: ClassVar[dict[DeviceType, Callable[[], DeviceManager]]] = {}
    _managers: ClassVar[dict[DeviceType, DeviceManager]] = {}

    @classmethod
    def RegisterDeviceManagerFactory(cls, device_type: DeviceType, factory: Callable[[], DeviceManager]) -> None:
        """Register `factory`, which makes the manager of `device_type` once, on first use.

        Raises DuplicateRegistrationError if the device type has one already.
        """
        if not isinstance(device_type, DeviceType):
            raise ArgumentTypeError("device_type", f"must be a DeviceType, not {shown(device_type)}")
        if device_type in cls._factories:
            raise DuplicateRegistrationError(f"{device_type!r} has a device manager already")
        cls._factories[device_type] = factory

    @classmethod
    def GetDeviceManagerOrNull(cls, device_type: DeviceType) -> DeviceManager | None:
        """Return the manager of `device_type`, or None if no package provides one."""
        manager = cls._managers.get(device_type)
        if manager is not None:
            return manager
        if not isinstance(device_type, DeviceType):
            raise ArgumentTypeError("device_type", f"must be a DeviceType, not {shown(device_type)}")
        load_provider(device_type.tag)
        if device_type in cls._factories:
            exclusively(lambda: cls._make_manager(device_type))
        return cls._managers.get(device_type)

    @classmethod
    def _make_manager(cls, device_type: DeviceType) -> None:
        if device_type not in cls._managers:
            manager = cls._managers[device_type] = cls._factories[device_type]()
            copyreg.pickle(type(manager), _as_looked_up)  # a copy is the manager itself: there is one in a process

    @classmethod
    def GetDeviceManager(cls, device_type: DeviceType) -> DeviceManager:
        """Return the manager of `device_type`. Raises DeviceUnavailableError if no package provides one."""
        manager = cls.GetDeviceManagerOrNull(device_type)
        if manager is None:
            raise DeviceUnavailableError(
                f"no installed package provides devices of type {device_type.tag!r} "
                f"(registered: {', '.join(member.tag for member in cls.GetRegisteredDeviceTypes())})"
            )
        return manager

    @classmethod
    def GetDevice(cls, device_type: DeviceType, device_index: int = 0) -> Device:
        """Return device `device_index` of `device_type`. DeviceUnavailableError names the missing part."""
        return cls.GetDeviceManager(device_type).GetDevice(device_index)

    @classmethod
    def GetDeviceCount(cls, device_type: DeviceType) -> int:
        """Return the number of devices of `device_type` present; 0 if no package provides the type."""
        manager = cls.GetDeviceManagerOrNull(device_type)
        return 0 if manager is None else manager.GetDeviceCount()

    @classmethod
    def GetRegisteredDeviceTypes(cls) -> list[DeviceType]:
        """Return all device types with a registered manager, in order of registration. Loads all providers."""
        load_all_providers()
        return list(cls._factories)

    @classmethod
    def IsDeviceTypeRegistered(cls, device_type: DeviceType) -> bool:
        """Return whether a package provides a manager of `device_type`."""
        return cls.GetDeviceManagerOrNull(device_type) is not None


def _as_looked_up(manager: DeviceManager) -> tuple[Callable[[DeviceType], DeviceManager], tuple[DeviceType]]:
    """Return the call that gives the manager again, for copies and for other processes that unpickle it."""
    return DeviceManagerRegistry.GetDeviceManager, (manager.device_type(),)
