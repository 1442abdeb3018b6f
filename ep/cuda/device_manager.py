"""The manager of the CUDA devices."""

from __future__ import annotations

from collections.abc import Iterable

from ep.common.indexed_devices import IndexedDeviceManager
from ep.cuda.arrays.arrays import ARRAYS
from ep.cuda.compile.kernel_cache import CACHE
from ep.cuda.device import report
from ep.cuda.device.device import CudaDevice
from ep.cuda.driver.absent_device import absent_device
from ep.cuda.driver.current import driver, use_driver
from ep.include.arrays import DeviceArrays
from ep.include.compiled_kernels import CompiledKernels
from ep.include.device_type import DeviceType
from ep.include.finding import Finding


class CudaDeviceManager(IndexedDeviceManager[CudaDevice]):
    """The GPUs that the driver shows. They are counted when first asked for."""

    def __init__(self) -> None:
        super().__init__(DeviceType.kCUDA)

    def new_device(self, index: int) -> CudaDevice:
        return CudaDevice(self, index)

    def GetDeviceCount(self) -> int:
        return driver().device_count()

    def GetActiveDeviceIndex(self) -> int:
        return driver().current_device() if self.GetDeviceCount() else 0

    def SetActiveDeviceByIndex(self, device_index: int) -> None:
        driver().set_current_device(self.checked(device_index))

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
