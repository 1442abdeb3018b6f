"""UnsortedSegmentSum on the CPU: rows are sorted by their segments, then added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import UNSORTED_SEGMENT_SUM
from ep.common.primitive.segment_sizes import as_segment_sizes
from ep.cpu.device.stream import CpuStream
from ep.cpu.engine.reduce.state import SEGMENT_STATE
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.unsorted_segment_sum import UnsortedSegmentSum, UnsortedSegmentSumFactory
from ep.include.stream import Stream


class CpuSegmentSum(CpuPrimitive):
    """What UnsortedSegmentSum and BatchUnsortedSegmentSum share: the first is the second with one batch."""

    signature, state_layout = signatures.BATCH_UNSORTED_SEGMENT_SUM, SEGMENT_STATE

    def _compile(self) -> Callable[..., int]:
        from ep.cpu.engine.reduce.segments import segment_entry

        return segment_entry(self.signature, self._state, *self._types[:2])

    def _compile_variants(self) -> None:
        """There are none."""

    def _provide(self) -> None:
        """What an entry that takes all operands lacks: memory to sort ids in."""
        raise MemoryError(f"{self!r}: no memory for 8 bytes of every id and every segment")

    def _launch_sizes(self, stream: Stream, sizes: Sequence[Any], data: Any, segment_ids: Any, out: Any) -> None:
        """Check a launch in Python, then do it; sizes: as `as_segment_sizes` takes them."""
        *sizes, offset = as_segment_sizes(*sizes)
        *_, num_ids = sizes
        *_, num_out = counts = self.signature.counts(sizes)
        buffers = self._checked(stream, (data, segment_ids, out), counts)
        if num_out == 0:
            return
        if num_ids == 0:
            buffers[-1].reshape(-1)[:num_out] = 0
            return
        self._run(*sizes, offset, *buffers)


@implements(UnsortedSegmentSumFactory, on=DeviceType.kCPU, keys=UNSORTED_SEGMENT_SUM)
class UnsortedSegmentSumImpl(CpuSegmentSum, UnsortedSegmentSum):
    def Launch(
        self,
        stream: Stream,
        outer_dim_size: int,
        num_segments: int,
        inner_dim_size: int,
        data: Any,
        num_ids: int,
        segment_ids: Any,
        out: Any,
        offset: int = 0,
    ) -> None:
        if type(stream) is not CpuStream or self._entry(
            self._words, 1, outer_dim_size, num_segments, inner_dim_size, num_ids, offset, data, segment_ids, out
        ):
            sizes = 1, outer_dim_size, num_segments, inner_dim_size, num_ids, offset
            self._launch_sizes(stream, sizes, data, segment_ids, out)
