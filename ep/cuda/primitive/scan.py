"""Scan on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.checks import as_size
from ep.common.primitive import signatures
from ep.common.primitive.keys import SCAN
from ep.common.stored_types import scanned_as
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.reduce.scan_plan import ScanVariant, scan_plan
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.primitive.scan import Scan, ScanFactory
from ep.include.primitive.scan_op import SCANS_OF_SUMS, SCANS_TO_END


@implements(ScanFactory, on=DeviceType.kCUDA, keys=SCAN)
class ScanImpl(CudaPrimitive, Scan):
    signature = signatures.SCAN

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._form = *scanned_as(self._types[0]), request.op in SCANS_OF_SUMS
        self._to_end = request.op in SCANS_TO_END

    def _kernel(self, variant: ScanVariant) -> Any:
        from ep.cuda.kernels.scan import kernel

        return kernel(variant)

    def _usual_variant(self) -> ScanVariant:
        return ScanVariant(*self._form, self._form[2])

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        stream, checked = check_stream(stream), tuple(map(as_size, sizes, self.signature.sizes))
        src, dst = self._read(stream, buffers, self.signature.counts(checked))
        if not all(checked):
            return
        plan = scan_plan(*self._form, self._to_end, *checked)
        self._queue_steps(stream, plan.scratch_bytes, lambda sums: plan.steps(src, dst, sums))
