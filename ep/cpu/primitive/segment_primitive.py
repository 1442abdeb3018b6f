"""The base class of UnsortedSegmentSum and BatchUnsortedSegmentSum on the CPU: rows are sorted, then added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.segment_sizes import as_segment_sizes
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.reduce.state import SegmentState
from ep.cpu.primitive.cpu_primitive import CpuPrimitive


class SegmentPrimitive(CpuPrimitive):
    """UnsortedSegmentSum is BatchUnsortedSegmentSum of one batch."""

    signature, state_record = signatures.BATCH_UNSORTED_SEGMENT_SUM, SegmentState

    def _compile(self) -> Launcher:
        from ep.cpu.engine.reduce.segments import segment_launcher

        return segment_launcher(self._state, *self._types[:2])

    def _compile_variants(self) -> None:
        """Do nothing: there are no variants."""

    def _provide(self) -> None:
        """Provide memory to sort ids in; an entry that has accepted all operands can lack nothing else."""
        raise MemoryError(f"{self!r}: no memory for 8 bytes of every id and every segment")

    def _checked_numbers(self, *numbers: Any) -> tuple[int, ...]:
        return as_segment_sizes(numbers, self.signature)

    def _launch_numbers(self, stream: Any, numbers: tuple[int, ...], buffers: Sequence[Any]) -> None:
        *_, num_ids, _ = numbers
        *_, num_out = counts = self.signature.counts(numbers)
        buffers = self._checked(stream, buffers, counts)
        if num_out == 0:
            return
        if num_ids == 0:
            self._fill(stream, buffers[-1], 0, num_out)
            return
        self._run(stream, None, *numbers, *buffers)
