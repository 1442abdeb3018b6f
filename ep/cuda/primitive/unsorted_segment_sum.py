"""UnsortedSegmentSum on CUDA."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from ep.common.bounded_cache import BoundedCache
from ep.common.primitive import signatures
from ep.common.primitive.keys import UNSORTED_SEGMENT_SUM
from ep.common.primitive.movement import widest_unit
from ep.common.primitive.segment_sizes import SegmentSizes, as_segment_sizes
from ep.common.stored_types import unit_of
from ep.cuda.compile.launch_config import Grid, pack_elements
from ep.cuda.device.stream import CudaStream, check_stream
from ep.cuda.driver.current import driver
from ep.cuda.engine.reduce.segment_plan import (
    DIGIT_BITS,
    DIGITS,
    LONG_RUN,
    SegmentPlan,
    Step,
    StepVariant,
    key_words,
    long_grid,
    long_width,
    long_words,
    segment_plan,
    sum_words,
)
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.number_kind import INTEGERS
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.primitive.unsorted_segment_sum import UnsortedSegmentSum, UnsortedSegmentSumFactory
from ep.include.stream import Stream


class CudaSegmentSum(CudaPrimitive):
    """What UnsortedSegmentSum and BatchUnsortedSegmentSum share: the one is the other of one batch."""

    signature = signatures.BATCH_UNSORTED_SEGMENT_SUM

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        data_type, self._ids_type = request.dtypes or ()
        self._type = unit_of(data_type) if data_type in INTEGERS else data_type
        self._plans = BoundedCache()

    def _kernel(self, variant: StepVariant) -> Any:
        from ep.cuda.engine.reduce import segment_sum, sort

        step, number, bits, size = variant
        return {
            Step.KEYS: lambda: segment_sum.key_kernel(self._ids_type, number, bits),
            Step.SORT_BLOCK: lambda: sort.block_kernel(number),
            Step.COUNT: lambda: sort.count_kernel(number),
            Step.SCAN: lambda: sort.scan_kernel(number),
            Step.SCATTER: lambda: sort.scatter_kernel(number),
            Step.BEGINS: lambda: segment_sum.begin_kernel(number),
            Step.SUM: lambda: segment_sum.sum_kernel(self._type, number, size, bits),
            Step.SUM_LONG: lambda: segment_sum.long_kernel(self._type, number, size, bits),
        }[step]()

    def _usual_variant(self) -> StepVariant:
        return StepVariant(Step.SUM, DataType.kInt32, 32, pack_elements(self._type))

    def _launch(self, stream: Stream, data: Any, ids: Any, out: Any, sizes: tuple[Any, ...]) -> None:
        stream = check_stream(stream)
        checked = as_segment_sizes(*sizes)
        counts = self.signature.counts(checked[:-1])
        data, ids, out = self._read(stream, (data, ids, out), counts)
        if not counts[-1]:
            return
        if not checked.num_ids:  # no row belongs to a segment
            driver().fill(stream.device_index, out, 0, counts[-1] * self._type.itemsize, stream.handle)
            return
        plan = self._plans.get(checked) or self._plans.keep(checked, lambda: segment_plan(checked))
        places = [0, *accumulate(-(-size // 16) * 16 for size in plan.bytes())]
        memory = stream.AllocAsync(places[-1])
        try:
            addresses = [memory.address + place for place in places[:-1]]
            self._queue_steps(stream, checked, plan, data, ids, out, addresses)
        finally:
            stream.FreeAsync(memory)

    def _queue_steps(
        self, stream: CudaStream, sizes: SegmentSizes, plan: SegmentPlan, data: int, ids: int, out: int, memory: Any
    ) -> None:
        """Queue the kernels, which work in `memory`: the addresses of what `plan.bytes` has."""
        number, bits, begins = plan.number, plan.bits, memory[5]
        words = key_words(sizes, plan, self._ids_type.dtype.kind == "u")
        self._queue(stream, StepVariant(Step.KEYS, number, bits), plan.num_keys, ids, memory[0], *words)
        keys, places = self._queue_sort(stream, plan, memory)
        words = keys, begins, plan.num_keys, plan.num_segments
        self._queue(stream, StepVariant(Step.BEGINS, number), plan.num_segments + 1, *words)
        elements = pack_elements(self._type)
        if sizes.inner % elements or widest_unit(data, out) < elements * self._type.itemsize:
            elements = 1
        words = sum_words(sizes, bits, elements)
        self._queue(stream, StepVariant(Step.SUM, number, bits, elements), words[0], data, places, begins, out, *words)
        if plan.num_keys > LONG_RUN:
            width = long_width(sizes.inner)
            variant, words = StepVariant(Step.SUM_LONG, number, bits, width), long_words(sizes, plan)
            self._queue_grid(stream, variant, long_grid(sizes, plan, width), data, places, keys, begins, out, *words)

    def _queue_sort(self, stream: CudaStream, plan: SegmentPlan, memory: Any) -> tuple[int, int]:
        """Sort the keys that are in the first part of `memory`; return where they and their places are then."""
        number, count, counts = plan.number, plan.num_keys, memory[4]
        source, target = memory[:2], memory[2:4]
        if plan.tiles == 1:
            variant = StepVariant(Step.SORT_BLOCK, number)
            self._queue_grid(stream, variant, Grid((1, 1, 1)), *source, *target, count, plan.digits)
            return target if plan.digits % 2 else source  # type: ignore[no-any-return]
        for digit in range(plan.digits):
            shift, grid = digit * DIGIT_BITS, plan.tile_grid
            self._queue_grid(stream, StepVariant(Step.COUNT, number), grid, source[0], counts, count, plan.tiles, shift)
            self._queue_grid(stream, StepVariant(Step.SCAN, number), Grid((1, 1, 1)), counts, DIGITS * plan.tiles)
            places = source[1] if digit else 0
            words = source[0], places, *target, counts, count, plan.tiles, shift
            self._queue_grid(stream, StepVariant(Step.SCATTER, number), grid, *words)
            source, target = target, source
        return source  # type: ignore[no-any-return]


@implements(UnsortedSegmentSumFactory, on=DeviceType.kCUDA, keys=UNSORTED_SEGMENT_SUM)
class UnsortedSegmentSumImpl(CudaSegmentSum, UnsortedSegmentSum):
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
        sizes = 1, outer_dim_size, num_segments, inner_dim_size, num_ids, offset
        self._launch(stream, data, segment_ids, out, sizes)
