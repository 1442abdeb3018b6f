"""The base of the softmaxes on CUDA: launches over the rows of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.bounded_cache import BoundedCache
from ep.common.checks import as_size
from ep.common.primitive.movement import widest_unit
from ep.cuda.compile.kernel_words import flat
from ep.cuda.compile.launch_config import pack_elements
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.reduce.row_plan import (
    PartVariant,
    PartWords,
    RowStorage,
    RowWords,
    SoftmaxPlan,
    SoftmaxVariant,
    row_plan,
    threads_of_row,
)
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.include.primitive.primitive import Request


class SoftmaxPrimitive(CudaPrimitive):
    """A primitive that computes a row from each row of its operands."""

    name: str
    """The name of its function in `kernels.softmax`."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        (self._type,) = request.dtypes or ()
        self._plans = BoundedCache()

    def _kernel(self, variant: SoftmaxVariant | PartVariant) -> Any:
        from ep.cuda.engine.reduce.rows import kernel
        from ep.cuda.kernels import softmax

        return kernel(getattr(softmax, self.name), self._type, variant)

    def _usual_variant(self) -> SoftmaxVariant:
        threads, packs = threads_of_row(self._type, 256)
        return SoftmaxVariant(RowStorage.REGISTERS, pack_elements(self._type), True, threads, packs)

    def _plan(self, rows: int, cols: int, addresses: Sequence[int], shared_bytes: int) -> SoftmaxPlan:
        """Return the plan of a launch, which depends on the addresses only by their common alignment."""
        key = rows, cols, widest_unit(*addresses), shared_bytes
        plan: SoftmaxPlan | None = self._plans.get(key)
        if plan is not None:
            return plan
        return self._plans.keep(key, lambda: row_plan(self._type, rows, cols, addresses, shared_bytes))

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        stream, rows, cols = check_stream(stream), as_size(sizes[0], "rows"), as_size(sizes[1], "cols")
        addresses = self._read(stream, buffers, (rows * cols,) * len(buffers))
        if not (rows and cols):
            return
        variants, grid, part_packs, part_bytes = self._plan(rows, cols, addresses, stream.shared_bytes)
        *operands, dst = addresses
        if not part_bytes:
            self._queue_grid(stream, variants[0], grid, *flat(RowWords(tuple(operands), dst, rows, cols)))
            return
        with stream.scratch(part_bytes) as memory:
            words = PartWords(tuple(operands), dst, rows, cols, memory.address, part_packs)
            for variant in variants:
                self._queue_grid(stream, variant, grid, *flat(words))
