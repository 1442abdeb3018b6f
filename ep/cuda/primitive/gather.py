"""Gather on CUDA."""

from __future__ import annotations

from typing import Any, NamedTuple

from ep.common.bounded_cache import BoundedCache
from ep.common.fast_integer_math import FastIntegerMath
from ep.common.primitive import signatures
from ep.common.primitive.gather_view import GatherSizes, as_gather_sizes
from ep.common.primitive.keys import GATHER
from ep.common.primitive.movement import fits_32_bit_offsets, widest_unit
from ep.cuda.device.stream import check_stream
from ep.cuda.driver.current import driver
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.gather import Gather, GatherFactory
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.stream import Stream


class _Plan(NamedTuple):
    """What a launch with certain sizes and units is: the kernel's variant, the units of out, and the other words."""

    variant: tuple[int, int, bool, bool]
    num_units: int
    words: tuple[int, ...]


class CudaGather(CudaPrimitive):
    """What Gather and BatchGather share: Gather is BatchGather of one batch."""

    signature = signatures.BATCH_GATHER

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.params_type, self.indices_type = request.dtypes or ()
        self._counts, self._plans = BoundedCache(), BoundedCache()

    def _kernel(self, variant: tuple[int, int, bool, bool]) -> Any:
        from ep.cuda.engine.move.gather import kernel

        return kernel(self.indices_type, *variant)

    def _usual_variant(self) -> tuple[int, int, bool, bool]:
        return 16, 32, False, True

    def _launch(self, stream: Stream, params: Any, indices: Any, out: Any, sizes: tuple[Any, ...]) -> None:
        stream = check_stream(stream)
        checked = as_gather_sizes(*sizes)
        counts = self._counts.get(checked) or self._counts.keep(checked, lambda: self.signature.counts(checked[:-1]))
        params, indices, out = self._read(stream, (params, indices, out), counts)
        num_out = counts[-1]
        if not num_out:
            return
        size = self.params_type.itemsize
        if not checked.gather:  # no index names a row
            driver().fill(stream.device_index, out, 0, num_out * size, stream.handle)
            return
        unit = widest_unit(params, out, checked.inner * size)
        key = checked, unit
        plan = self._plans.get(key) or self._plans.keep(key, lambda: _plan(checked, unit, self))
        self._queue(stream, plan.variant, plan.num_units, params, indices, out, plan.num_units, *plan.words)


def _plan(sizes: GatherSizes, unit: int, primitive: CudaGather) -> _Plan:
    units = sizes.inner * primitive.params_type.itemsize // unit
    groups = sizes.batch * sizes.outer
    count, params_count = groups * sizes.num_indices * units, groups * sizes.gather * units
    bits = 32 if fits_32_bit_offsets(count, params_count, sizes.batch * sizes.num_indices) else 64
    low = max(sizes.offset, 0) if primitive.indices_type.dtype.kind == "u" else sizes.offset
    first_row = low - sizes.offset
    words = (
        *(low, max(sizes.gather - first_row, 0), first_row),
        *FastIntegerMath(units, bits).words(),
        *FastIntegerMath(sizes.num_indices, bits).words(),
        *FastIntegerMath(sizes.outer, bits).words()[1:],
        sizes.gather,
    )
    return _Plan((unit, bits, units == 1, groups == 1), count, words)


@implements(GatherFactory, on=DeviceType.kCUDA, keys=GATHER)
class GatherImpl(CudaGather, Gather):
    def Launch(
        self,
        stream: Stream,
        outer_dim_size: int,
        gather_dim_size: int,
        inner_dim_size: int,
        params: Any,
        num_indices: int,
        indices: Any,
        out: Any,
        offset: int = 0,
    ) -> None:
        sizes = 1, outer_dim_size, gather_dim_size, inner_dim_size, num_indices, offset
        self._launch(stream, params, indices, out, sizes)
