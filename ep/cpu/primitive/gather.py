"""Gather on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ep.common.primitive.gather_view import as_gather_sizes
from ep.common.primitive.keys import GATHER
from ep.cpu.buffers import as_buffer, check_overlap, check_stream
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.cpu.row_class import ROW_CLASSES, row_class
from ep.cpu.stream import CpuStream
from ep.include.device_type import DeviceType
from ep.include.primitive.gather import Gather, GatherFactory
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.stream import Stream


class CpuGather(CpuPrimitive):
    """What Gather and BatchGather share: Gather is BatchGather of one batch."""

    def __init__(self, request: Request) -> None:
        self.params_type, self.indices_type = request.dtypes or ()
        super().__init__(request, (self.params_type, self.indices_type, self.params_type))

    def _compile(self) -> tuple[Callable[..., int], int, int]:
        from ep.cpu.kernels import gather, gather_walk

        return gather.entry(), gather_walk.task(), int(self.indices_type.dtype.kind == "u")

    def _compile_variants(self) -> None:
        for of_class in ROW_CLASSES:
            self._need_mover(of_class)

    def _need_mover(self, of_class: int) -> None:
        if not self._state.has_mover(of_class):
            self._compiling(lambda: self._set_mover(of_class))

    def _set_mover(self, of_class: int) -> None:
        from ep.cpu.kernels.gather_rows import mover

        self._state.set_mover(of_class, mover(self.indices_type, of_class))

    def _launch_checked(
        self,
        stream: Stream,
        batch_dim_size: int,
        outer_dim_size: int,
        gather_dim_size: int,
        inner_dim_size: int,
        params: Any,
        num_indices: int,
        indices: Any,
        out: Any,
        offset: int,
    ) -> None:
        check_stream(stream)
        batch, outer, gather, inner, num_indices, offset = as_gather_sizes(
            batch_dim_size, outer_dim_size, gather_dim_size, inner_dim_size, num_indices, offset
        )
        num_params, num_out = batch * outer * gather * inner, batch * outer * num_indices * inner
        params = as_buffer(params, "params", self.params_type, num_params)
        indices = as_buffer(indices, "indices", self.indices_type, batch * num_indices)
        out = as_buffer(out, "out", self.params_type, num_out, writable=True)
        check_overlap(out, num_out, "out", params, num_params, "params")
        check_overlap(out, num_out, "out", indices, batch * num_indices, "indices")
        if num_out == 0:
            return
        if gather == 0:  # no index names a row
            out.reshape(-1)[:num_out] = 0
            return
        self._need_mover(row_class(inner * self.params_type.itemsize))
        self._run(batch, outer, gather, inner, params, num_indices, indices, out, offset)


class GatherImpl(CpuGather, Gather):
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
        if type(stream) is not CpuStream or self._entry(
            self._words, 1, outer_dim_size, gather_dim_size, inner_dim_size, params, num_indices, indices, out, offset
        ):
            sizes = 1, outer_dim_size, gather_dim_size, inner_dim_size
            self._launch_checked(stream, *sizes, params, num_indices, indices, out, offset)


@register_primitive_factory(DeviceType.kCPU, GatherFactory)
class GatherFactoryImpl(GatherFactory):
    keys = GATHER

    def Make(self, request: Request) -> Gather:
        return GatherImpl(request)
