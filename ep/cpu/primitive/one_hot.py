"""OneHot on the CPU: rows of one value, with another one at the index."""

from __future__ import annotations

from typing import Any

from ep.common.checks import as_size
from ep.common.primitive import signatures
from ep.common.primitive.class_range import as_class_range
from ep.common.primitive.keys import ONE_HOT
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.map.class_plan import ClassPlan
from ep.cpu.engine.map.state import MapState
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.one_hot import OneHot, OneHotFactory


@implements(OneHotFactory, on=DeviceType.kCPU, keys=ONE_HOT)
class OneHotImpl(PlannedPrimitive, OneHot):
    number_operands = "on_value", "off_value"
    signature, state_record = signatures.ONE_HOT.with_numbers(1, *number_operands), MapState

    def _compile(self) -> Launcher:
        from ep.cpu.kernels.one_hot import one_hot_launcher

        return one_hot_launcher(self._state, *self._types[:2])

    def _provide(self) -> None:
        super()._provide()
        from ep.cpu.engine.map.entry import compile_streaming
        from ep.cpu.kernels.one_hot import one_hot_kernel

        indices, out, *_ = self._types
        compile_streaming(self._state, lambda: one_hot_kernel(indices, out.itemsize, streaming=True))

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *numbers: Any) -> None:
        arrays = self._arrays(*numbers)
        self._launch_by_dims(stream, sizes, (*buffers, *arrays), given=(*numbers, *sizes), arrays=arrays)

    def _launch_dims(self, stream: Any, dims: Any, buffers: Any, data_type: Any = None) -> None:
        num_indices, (first, depth) = dims[0], as_class_range(*dims[1:])
        sizes = as_size(num_indices, "num_indices"), depth
        key = sizes[0], first, first + depth
        self._launch_planned(stream, key, sizes, buffers, lambda: ClassPlan(self.signature, first, sizes))
