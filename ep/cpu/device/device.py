"""The CPU as a device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ep.common.environment import CPU_NUM_THREADS, MAX_THREADS
from ep.common.host.device import HostDevice
from ep.common.processors import available_threads
from ep.cpu.device import report
from ep.cpu.device.stream import CpuStream
from ep.cpu.shared.settings import Settings
from ep.include.finding import Finding

if TYPE_CHECKING:
    from ep.include.device_manager import DeviceManager


class CpuDevice(Settings, HostDevice):
    """The CPU, with the number of threads that its launches use."""

    def __init__(self, device_manager: DeviceManager) -> None:
        """Create the device; called by the device manager.

        The number of threads is `EP_CPU_NUM_THREADS`, else that of all processors that the process may use.
        """
        HostDevice.__init__(self, device_manager)
        Settings.__init__(self, CPU_NUM_THREADS.value() or min(available_threads(), MAX_THREADS))

    def CreateStream(self) -> CpuStream:
        return CpuStream(self)

    def facts(self) -> Mapping[str, Any]:
        return {"threads": self.GetNumThreads()}

    def findings(self) -> Iterable[Finding]:
        return report.threads(self), report.large_launches(self)

    def calibrate(self) -> str:
        return report.calibration(self)

    def __repr__(self) -> str:
        return f"<CpuDevice: {self.GetNumThreads()} threads>"
