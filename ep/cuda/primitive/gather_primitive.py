"""The base of Gather and BatchGather on CUDA."""

from __future__ import annotations

from typing import Any

from ep.common.bounded_cache import BoundedCache
from ep.common.primitive import signatures
from ep.common.primitive.gather_view import as_gather_sizes
from ep.common.primitive.movement import widest_unit
from ep.cuda.compile.kernel_words import flat
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.move.gather_plan import GatherVariant, gather_plan
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.include.primitive.primitive import Request


class GatherPrimitive(CudaPrimitive):
    """Gather and BatchGather; Gather is a batch of one."""

    signature = signatures.BATCH_GATHER

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._counts, self._plans = BoundedCache(), BoundedCache()

    def _kernel(self, variant: GatherVariant) -> Any:
        from ep.cuda.engine.move.gather import kernel

        return kernel(self._types[1], *variant)

    def _usual_variant(self) -> GatherVariant:
        return GatherVariant(16, 32, False, True)

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        stream = check_stream(stream)
        checked = as_gather_sizes(*sizes)
        counts = self._counts.get(checked) or self._counts.keep(checked, lambda: self.signature.counts(checked[:-1]))
        params, indices, out = self._read(stream, buffers, counts)
        num_out = counts[-1]
        if not num_out:
            return
        size = self._types[0].itemsize
        if not checked.gather:  # no index is valid
            stream.fill(out, 0, num_out * size)
            return
        unit = widest_unit(params, out, checked.inner * size)
        key = checked, unit
        plan = self._plans.get(key) or self._plans.keep(key, lambda: gather_plan(*key, *self._types[:2]))
        words = plan.words._replace(params=params, indices=indices, out=out)
        self._queue(stream, plan.variant, plan.num_items, *flat(words))
