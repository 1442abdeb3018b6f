"""The CPU as a device."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ep.common.environment import CPU_NUM_THREADS, MAX_THREADS
from ep.common.processors import available_threads
from ep.cpu.device import report
from ep.cpu.device.stream import CpuEvent, CpuStream
from ep.cpu.machine.calibration import Calibration, everywhere, least_size
from ep.cpu.shared.state import SETTINGS
from ep.include.allocation_options import AllocationOptions
from ep.include.buffer import Buffer
from ep.include.device import Device, kMaxAlignmentRequirement
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.event import Event
from ep.include.finding import Finding
from ep.include.stream import Stream

if TYPE_CHECKING:
    from ep.include.device_manager import DeviceManager


class CpuDevice(Device):
    """The CPU, with the number of threads that its launches use."""

    def __init__(self, device_manager: DeviceManager) -> None:
        """Made by the device manager. `EP_CPU_NUM_THREADS` sets the threads, else all that the process may use."""
        self._device_manager = device_manager
        # compiled entries read these words at every launch
        self._settings = np.zeros(SETTINGS.num_words, np.int64)
        self.settings_address: int = self._settings.ctypes.data
        self._calibrations: dict[int, Calibration] = {}
        self._forced: Calibration | None = None
        self._stream = 0
        self._start_threads: Callable[[int], None] | None = None
        self.SetNumThreads(CPU_NUM_THREADS.value() or min(available_threads(), MAX_THREADS))

    def SetNumThreads(self, num_threads: int) -> None:
        """Let launches from now on use at most `num_threads` threads, the launching one among them."""
        number = operator.index(num_threads)
        if not 1 <= number <= MAX_THREADS:
            raise ValueError(f"num_threads is {number}; it must be from 1 to {MAX_THREADS}")
        if self._start_threads is not None:
            self._start_threads(number)
        self._settings[SETTINGS.num_threads] = number
        self._settle()

    def GetNumThreads(self) -> int:
        """The most threads that a launch uses."""
        return int(self._settings[SETTINGS.num_threads])

    def set_pool(self, address: int, start_threads: Callable[[int], None]) -> None:
        """Let launches share their work in the pool at `address`; `start_threads(n)` starts what is missing of n."""
        self._settings[SETTINGS.pool] = address
        self._start_threads = start_threads
        start_threads(self.GetNumThreads())  # after it is known: threads set meanwhile are started too

    def calibration(self) -> Calibration | None:
        """The calibration for the number of threads; None where launches have yet to make it."""
        return self._forced or self._calibrations.get(self.GetNumThreads())

    def set_calibration(self, calibration: Calibration, num_threads: int) -> None:
        """Let launches on so many threads write past the caches as `calibration` says."""
        self._calibrations[num_threads] = calibration
        self._settle()

    def force_calibration(self, calibration: Calibration | None) -> None:
        """Let all launches write past the caches as `calibration` says, until this is called with None."""
        self._forced = calibration
        self._settle()

    def set_stream(self, address: int) -> None:
        """Let those launches write by the task at `address`."""
        self._stream = address
        self._settle()

    def _settle(self) -> None:
        """Write the calibration to the settings. Without one, a launch that is large enough finds no task, and asks."""
        found = self.calibration()
        lines, tiles, ahead = found or everywhere(least_size(self.GetNumThreads()))
        self._settings[SETTINGS.lines_from : SETTINGS.lines_from + len(lines)] = lines
        self._settings[SETTINGS.tiles_from : SETTINGS.tiles_from + len(tiles)] = tiles
        self._settings[SETTINGS.ahead] = ahead
        self._settings[SETTINGS.stream] = 0 if found is None else self._stream

    def settings(self) -> np.ndarray[Any, Any]:
        """A copy of the settings."""
        return self._settings.copy()

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
            raise TypeError(f"stream must be a stream of the CPU, not {stream!r}")

    def CreateEvent(self) -> CpuEvent:
        return CpuEvent()

    def DestroyEvent(self, event: Event) -> None:
        if not isinstance(event, CpuEvent):
            raise TypeError(f"event must be an event of the CPU, not {event!r}")

    def Alloc(self, options: AllocationOptions, size: int) -> Buffer:
        number = operator.index(size)
        if number < 0:
            raise ValueError(f"size is {number}; it must not be negative")
        if options.HasNumaNodeAffinity():
            raise ValueError(
                f"numa_node_affinity is {options.numa_node_affinity}; the CPU device cannot place memory on a node"
            )
        if options.pinned_device_type not in (None, DeviceType.kCPU):
            device = DeviceManagerRegistry.GetDevice(options.pinned_device_type, options.pinned_device_index)
            return device.AllocPinned(options, number)
        block = np.empty(number + kMaxAlignmentRequirement, np.uint8)
        start = -block.ctypes.data % kMaxAlignmentRequirement
        return block[start : start + number]

    def Free(self, options: AllocationOptions, buffer: Buffer) -> None:
        if not isinstance(buffer, np.ndarray):
            raise TypeError(f"buffer must be a buffer from Alloc, not {buffer!r}")
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
