"""The base of UnsortedSegmentSum, BatchUnsortedSegmentSum and BatchScatter on CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ep.common.bounded_cache import BoundedCache
from ep.common.primitive import signatures
from ep.common.primitive.segment_sizes import as_segment_sizes
from ep.common.stored_types import stored_types, unit_of
from ep.cuda.compile.launch_config import pack_elements
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.reduce.segment_plan import SUMS, Folding, Step, StepVariant, segment_plan
from ep.cuda.engine.reduce.segment_steps import Buffers, StepLaunch, added_elements, buffer_places, segment_steps
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.include.data_type import DataType
from ep.include.primitive.primitive import Request


class SegmentPrimitive(CudaPrimitive):
    """UnsortedSegmentSum, a batch of one; BatchUnsortedSegmentSum; and BatchScatter, whose rows are the segments."""

    signature = signatures.BATCH_UNSORTED_SEGMENT_SUM

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        data_type, self._ids_type = request.dtypes or ()
        self._folding = self._folding_of(request)
        op = self._folding.op
        self._type = unit_of(data_type) if op is None else stored_types(op, data_type, data_type)[0]
        self._plans = BoundedCache()

    def _folding_of(self, request: Request) -> Folding:
        """Return how rows are combined."""
        return SUMS

    def _kernel(self, variant: StepVariant) -> Any:
        from ep.cuda.engine.reduce.segment_kernels import step_kernel

        return step_kernel(variant, self._type, self._ids_type, folding=self._folding)

    def _usual_variant(self) -> StepVariant:
        return StepVariant(Step.SUM, DataType.kInt32, 32, pack_elements(self._type))

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        stream = check_stream(stream)
        checked = as_segment_sizes(sizes, self.signature)
        counts = self.signature.counts(checked[:-1])
        data, ids, out = self._read(stream, buffers, counts)
        if not counts[-1]:
            return
        if not checked.num_ids:  # no row belongs to a segment
            if not self._folding.onto:
                stream.fill(out, 0, counts[-1] * self._type.itemsize)
            return
        plan = self._plans.get(checked) or self._plans.keep(checked, lambda: segment_plan(checked, self._folding))
        places, elements = buffer_places(plan, self._type), added_elements(checked, self._type, data, out)

        def steps(memory: int) -> Iterator[StepLaunch]:
            addresses = Buffers((data,), (), ids, out, *[memory + place for place in places[:-1]])
            return segment_steps(checked, plan, addresses, self._ids_type, elements)

        self._queue_steps(stream, places[-1], steps)
