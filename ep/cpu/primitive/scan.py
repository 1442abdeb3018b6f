"""Scan on the CPU."""

from __future__ import annotations

from ep.common.primitive import signatures
from ep.common.primitive.keys import SCAN
from ep.cpu.engine.form import Launcher
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.scan import Scan, ScanFactory


@implements(ScanFactory, on=DeviceType.kCPU, keys=SCAN)
class ScanImpl(CpuPrimitive, Scan):
    signature = signatures.SCAN

    def _compile(self) -> Launcher:
        from ep.cpu.kernels.scan import scan_launcher

        (data_type,) = self.request.dtypes or ()
        return scan_launcher(self._state, self.request.op, data_type)  # type: ignore[arg-type]
