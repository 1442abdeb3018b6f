"""A guard that makes a device active for a while."""

from types import TracebackType

from ep.include.device import Device


class ActiveDeviceGuard:
    """Context manager: `device` is the calling thread's active device inside, the former one again outside."""

    def __init__(self, device: Device) -> None:
        """Guard for `device`; entering it changes the active device, making it does not."""
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
