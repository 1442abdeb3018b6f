"""BatchScatter on the CPU."""

from __future__ import annotations

from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import BATCH_SCATTER
from ep.common.primitive.segment_sizes import as_segment_sizes
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.reduce.state import SegmentState
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.batch_scatter import BatchScatter, BatchScatterFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.scatter_op import COMBINED_BY


@implements(BatchScatterFactory, on=DeviceType.kCPU, keys=BATCH_SCATTER)
class BatchScatterImpl(CpuPrimitive, BatchScatter):
    signature, state_record = signatures.BATCH_SCATTER, SegmentState

    def _compile(self) -> Launcher:
        from ep.cpu.kernels.scatter import scatter_launcher

        op: Any = self.request.op
        return scatter_launcher(self._state, COMBINED_BY.get(op), *self._types[:2])

    def _compile_variants(self) -> None:
        """Do nothing: there are no variants."""

    def _provide(self) -> None:
        """Provide memory for sums; an entry that has accepted all operands can lack nothing else."""
        raise MemoryError(f"{self!r}: no memory for 4 bytes of every element of out")

    def _checked_numbers(self, *numbers: Any) -> tuple[int, ...]:
        return as_segment_sizes(numbers, self.signature)
