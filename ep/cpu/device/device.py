"""The CPU as a device."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ep.common.environment import CPU_NUM_THREADS, MAX_THREADS
from ep.common.processors import available_threads
from ep.cpu.device import report
from ep.cpu.device.stream import CpuEvent, CpuStream
from ep.cpu.shared.settings import Settings
from ep.include.allocation_options import AllocationOptions
from ep.include.buffer import Buffer
from ep.include.device import Device, kMaxAlignmentRequirement
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.errors import ArgumentTypeError, ArgumentValueError
from ep.include.event import Event
from ep.include.finding import Finding
from ep.include.stream import Stream

if TYPE_CHECKING:
    from ep.include.device_manager import DeviceManager


class CpuDevice(Settings, Device):
    """The CPU, with the number of threads that its launches use."""

    def __init__(self, device_manager: DeviceManager) -> None:
        """Create the device; called by the device manager.

        The number of threads is `EP_CPU_NUM_THREADS`, else that of all processors that the process may use.
        """
        self._device_manager = device_manager
        super().__init__(CPU_NUM_THREADS.value() or min(available_threads(), MAX_THREADS))

    def SetAsActiveDevice(self) -> None:
        self._device_manager.SetActiveDeviceByIndex(0)

    def Reset(self) -> None:
        return None

    def device_type(self) -> DeviceType:
        return DeviceType.kCPU

    def device_index(self) -> int:
        return 0

    def device_manager(self) -> DeviceManager:
        return self._device_manager

    def CreateStream(self) -> CpuStream:
        return CpuStream(self)

    def DestroyStream(self, stream: Stream) -> None:
        if not isinstance(stream, CpuStream):
            raise ArgumentTypeError("stream", f"must be a stream of the CPU, not {stream!r}")

    def CreateEvent(self) -> CpuEvent:
        return CpuEvent()

    def DestroyEvent(self, event: Event) -> None:
        if not isinstance(event, CpuEvent):
            raise ArgumentTypeError("event", f"must be an event of the CPU, not {event!r}")

    def Alloc(self, options: AllocationOptions, size: int) -> Buffer:
        number = operator.index(size)
        if number < 0:
            raise ArgumentValueError("size", f"is {number}; it must not be negative")
        if options.HasNumaNodeAffinity():
            raise ArgumentValueError(
                "numa_node_affinity", f"is {options.numa_node_affinity}; the CPU device cannot place memory on a node"
            )
        if options.pinned_device_type not in (None, DeviceType.kCPU):
            device = DeviceManagerRegistry.GetDevice(options.pinned_device_type, options.pinned_device_index)
            return device.AllocPinned(options, number)
        block = np.empty(number + kMaxAlignmentRequirement, np.uint8)
        start = -block.ctypes.data % kMaxAlignmentRequirement
        return block[start : start + number]

    def Free(self, options: AllocationOptions, buffer: Buffer) -> None:
        if not isinstance(buffer, np.ndarray):
            raise ArgumentTypeError("buffer", f"must be a buffer from Alloc, not {buffer!r}")
        if options.pinned_device_type not in (None, DeviceType.kCPU):
            device = DeviceManagerRegistry.GetDevice(options.pinned_device_type, options.pinned_device_index)
            device.FreePinned(options, buffer)

    def AllocPinned(self, options: AllocationOptions, size: int) -> Buffer:
        return self.Alloc(options, size)

    def FreePinned(self, options: AllocationOptions, buffer: Buffer) -> None:
        self.Free(options, buffer)

    def facts(self) -> Mapping[str, Any]:
        return {"threads": self.GetNumThreads()}

    def findings(self) -> Iterable[Finding]:
        return report.threads(self), report.large_launches(self)

    def calibrate(self) -> str:
        return report.calibration(self)

    def __repr__(self) -> str:
        return f"<CpuDevice: {self.GetNumThreads()} threads>"
