"""A guard that makes a device active for some time."""

from types import TracebackType

from ep.include.device import Device


class ActiveDeviceGuard:
    """Context manager: makes `device` the calling thread's active device inside, and then restores the former one."""

    def __init__(self, device: Device) -> None:
        """device: becomes active when the guard is entered, not when it is made."""
        self._device = device
        self._saved: list[int] = []

    def __enter__(self) -> Device:
        self._saved.append(self._device.device_manager().GetActiveDeviceIndex())
        self._device.SetAsActiveDevice()
        return self._device

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._device.device_manager().SetActiveDeviceByIndex(self._saved.pop())
