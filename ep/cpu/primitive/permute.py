"""Permute on the CPU: the move engine, over a walk in the order of dst or by transposed blocks."""

from __future__ import annotations

from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import PERMUTE
from ep.common.primitive.movement import MAX_UNIT
from ep.common.primitive.permute_shape import as_permute_shape
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.move.plan import move_plan
from ep.cpu.engine.move.run_writer import run_writers, transposing_writers
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.include.data_type import as_data_type
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.permute import Permute, PermuteFactory


@implements(PermuteFactory, on=DeviceType.kCPU, keys=PERMUTE)
class PermuteImpl(PlannedPrimitive, Permute):
    signature = signatures.PERMUTE

    def _compile(self) -> Launcher:
        from ep.cpu.engine.move.entry import move_launcher

        return move_launcher(self._state)

    def _compile_variants(self) -> None:
        super()._compile_variants()
        self._compile_writers(run_writers(1, MAX_UNIT) + transposing_writers(1, MAX_UNIT))

    def _launch_dims(self, stream: Any, dims: tuple[Any, Any], buffers: Any, data_type: Any = None) -> None:
        shape, of_type = as_permute_shape(*dims, self.request.max_num_dims), as_data_type(data_type, "data_type")
        counts, types = (shape.num_elements(),), (of_type, of_type)
        self._launch_planned(
            stream,
            shape,
            counts,
            buffers,
            lambda: move_plan(self.signature, shape.walk(), of_type, counts, types),
            types,
        )
