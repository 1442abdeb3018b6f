"""The manager of the only CPU device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ep.common import interpreter
from ep.common.arrays.host import NumpyArrays
from ep.common.checks import as_integer
from ep.common.native import object_layout
from ep.cpu.device import report
from ep.cpu.device.device import CpuDevice
from ep.cpu.machine import processor
from ep.cpu.machine.kernel_cache import CACHE
from ep.include.arrays import CallFinder, DeviceArrays
from ep.include.compiled_kernels import CompiledKernels
from ep.include.device_manager import DeviceManager
from ep.include.device_type import DeviceType
from ep.include.errors import DeviceUnavailableError
from ep.include.finding import Finding
from ep.include.process import exclusively
from ep.include.recording import Recording


class CpuDeviceManager(DeviceManager):
    """The manager of one CPU device, number 0.

    It exists if kernels can run and can read Python's and NumPy's objects.
    """

    def __init__(self) -> None:
        self._device: CpuDevice | None = None
        self._arrays = NumpyArrays(DeviceType.kCPU, _new_finder, _new_recording, _restored)

    def device_type(self) -> DeviceType:
        return DeviceType.kCPU

    def GetDevice(self, device_index: int) -> CpuDevice:
        self._check_index(device_index)
        if self._device is None:
            exclusively(self._make_device)
        assert self._device is not None
        return self._device

    def _make_device(self) -> None:
        if self._device is None:
            self._device = CpuDevice(self)

    def GetDeviceCount(self) -> int:
        return 0 if self.WhyUnavailable() else 1

    def GetActiveDeviceIndex(self) -> int:
        return 0

    def SetActiveDeviceByIndex(self, device_index: int) -> None:
        self._check_index(device_index)

    def IsStreamWaitEventSupported(self) -> bool:
        return True

    def WhyUnavailable(self) -> str | None:
        return interpreter.why_unsupported() or processor.why_unfit() or object_layout.why_unknown()

    def arrays(self) -> DeviceArrays:
        return self._arrays

    def compiled_kernels(self) -> CompiledKernels:
        return CACHE

    def findings(self) -> Iterable[Finding]:
        return (report.processor(),)

    def _check_index(self, device_index: int) -> None:
        index, why = as_integer(device_index, "device_index"), self.WhyUnavailable()
        if why:
            raise DeviceUnavailableError(f"there is no CPU device: {why}")
        if index != 0:
            raise DeviceUnavailableError(f"device_index is {device_index}; there is one CPU device, number 0")


def _new_finder() -> CallFinder:
    def new() -> CallFinder:
        from ep.cpu.engine.repeat.known_calls import CpuCallFinder  # this imports compiled code

        return CpuCallFinder()

    return exclusively(new)


def _new_recording() -> Recording:
    def new() -> Recording:
        from ep.cpu.engine.repeat.recording import CpuRecording  # this imports compiled code

        return CpuRecording()

    return exclusively(new)


def _restored(image: bytes, constants: Sequence[Any], block: Callable[[int], Any]) -> Callable[..., bool] | None:
    def made() -> Callable[..., bool] | None:
        from ep.cpu.engine.repeat.restored import restored  # this imports NumPy's and Python's layouts, and no kernel

        return restored(image, constants, block)  # it loads kernels

    return exclusively(made)
