"""The manager of the only CPU device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ep.common import interpreter
from ep.common.arrays.host import HostArrays, NumpyArrays
from ep.common.host.device import HostDeviceManager
from ep.common.native import object_layout
from ep.cpu.device import report
from ep.cpu.device.device import CpuDevice
from ep.cpu.machine import processor
from ep.cpu.machine.kernel_cache import CACHE
from ep.include.arrays import Arrays, CallFinder
from ep.include.compiled_kernels import CompiledKernels
from ep.include.device_type import DeviceType
from ep.include.finding import Finding
from ep.include.process import exclusively
from ep.include.recording import Recording


class CpuArrays(HostArrays):
    """The arrays of the CPU. Compiled code is imported when it is needed."""

    has_images = True

    def new_finder(self) -> CallFinder:
        def new() -> CallFinder:
            from ep.cpu.engine.repeat.known_calls import CpuCallFinder

            return CpuCallFinder()

        return exclusively(new)

    def new_recording(self) -> Recording:
        def new() -> Recording:
            from ep.cpu.engine.repeat.recording import CpuRecording

            return CpuRecording()

        return exclusively(new)

    def restored(
        self, image: bytes, constants: Sequence[Any], block: Callable[[int], Any]
    ) -> Callable[..., bool] | None:
        def made() -> Callable[..., bool] | None:
            from ep.cpu.engine.repeat.restored import restored  # this imports layouts of objects, and no kernel

            return restored(image, constants, block)  # it loads kernels

        return exclusively(made)

    def compile_ahead(self, launches: Callable[[Arrays], Iterable[Callable[[], object]]]) -> None:
        def function() -> Callable[[Any], None]:
            from ep.cpu.engine.repeat.recording import compile_launches

            return compile_launches

        exclusively(function)(launches)


class CpuDeviceManager(HostDeviceManager):
    """The manager of one CPU device, number 0.

    It exists if kernels can run and can read Python's and NumPy's objects.
    """

    def __init__(self) -> None:
        super().__init__(DeviceType.kCPU)
        self._arrays = NumpyArrays(CpuArrays(DeviceType.kCPU, "the host"))

    def new_device(self, index: int) -> CpuDevice:
        return CpuDevice(self)

    def GetDeviceCount(self) -> int:
        return 0 if self.WhyUnavailable() else 1

    def WhyUnavailable(self) -> str | None:
        return interpreter.why_unsupported() or processor.why_unfit() or object_layout.why_unknown()

    def compiled_kernels(self) -> CompiledKernels:
        return CACHE

    def findings(self) -> Iterable[Finding]:
        return report.processor(), report.compiler()
