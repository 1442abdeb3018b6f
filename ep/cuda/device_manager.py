"""The manager of the CUDA devices."""

from __future__ import annotations

from collections.abc import Iterable

from ep.common.checks import as_integer
from ep.cuda.arrays.arrays import ARRAYS
from ep.cuda.compile.kernel_cache import CACHE
from ep.cuda.device import report
from ep.cuda.device.device import CudaDevice
from ep.cuda.driver.absent_device import absent_device
from ep.cuda.driver.current import driver, use_driver
from ep.include.arrays import DeviceArrays
from ep.include.compiled_kernels import CompiledKernels
from ep.include.device_manager import DeviceManager
from ep.include.device_type import DeviceType
from ep.include.errors import DeviceUnavailableError
from ep.include.finding import Finding
from ep.include.process import exclusively


class CudaDeviceManager(DeviceManager):
    """The GPUs that the driver shows. They are counted when first asked for."""

    def __init__(self) -> None:
        self._devices: dict[int, CudaDevice] = {}

    def device_type(self) -> DeviceType:
        return DeviceType.kCUDA

    def GetDevice(self, device_index: int) -> CudaDevice:
        index = self._checked(device_index)
        if index not in self._devices:
            exclusively(lambda: self._make_device(index))
        return self._devices[index]

    def _make_device(self, index: int) -> None:
        if index not in self._devices:
            self._devices[index] = CudaDevice(self, index)

    def GetDeviceCount(self) -> int:
        return driver().device_count()

    def GetActiveDeviceIndex(self) -> int:
        return driver().current_device() if self.GetDeviceCount() else 0

    def SetActiveDeviceByIndex(self, device_index: int) -> None:
        driver().set_current_device(self._checked(device_index))

    def IsStreamWaitEventSupported(self) -> bool:
        return True

    def WhyUnavailable(self) -> str | None:
        return driver().why_unavailable()

    def arrays(self) -> DeviceArrays:
        return ARRAYS

    def compiled_kernels(self) -> CompiledKernels:
        return CACHE

    def compile_for(self, capability: str) -> None:
        use_driver(absent_device(capability))

    def findings(self) -> Iterable[Finding]:
        return report.packages(), *report.libraries(), report.products()

    def _checked(self, device_index: int) -> int:
        index, count = as_integer(device_index, "device_index"), self.GetDeviceCount()
        if count == 0:
            raise DeviceUnavailableError(f"there is no CUDA device: {self.WhyUnavailable()}")
        if not 0 <= index < count:
            there = "is one CUDA device, number 0" if count == 1 else f"are {count} CUDA devices, from number 0"
            raise DeviceUnavailableError(f"device_index is {index}; there {there}")
        return index
