"""OneHot on the CPU: rows of one value, and another one put where the index says."""

from __future__ import annotations

from typing import Any, Final

from ep.common.checks import as_size
from ep.common.primitive import signatures
from ep.common.primitive.class_range import as_class_range
from ep.common.primitive.keys import ONE_HOT
from ep.common.primitive.signature import Signature, reads
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.launchable import launched
from ep.cpu.engine.map.state import CLASSES, MAP_STATE
from ep.cpu.engine.plan import Plan, adjacent
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.one_hot import OneHot, OneHotFactory
from ep.include.primitive.primitive import Request
from ep.include.stream import Stream

_CLASSES: Final = adjacent(CLASSES, "depth", "lower_bound")


@implements(OneHotFactory, on=DeviceType.kCPU, keys=ONE_HOT)
class OneHotImpl(PlannedPrimitive, OneHot):
    # compiled code takes the numbers as arrays of one element, and has the classes in the plan
    signature = Signature(
        (*signatures.ONE_HOT.operands, reads("on_value", 1), reads("off_value", 1)), signatures.ONE_HOT.sizes
    )
    state_layout, number_operands = MAP_STATE, ("on_value", "off_value")

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.indices_type, self.out_type = request.dtypes or ()

    def _compile(self) -> Launcher:
        from ep.cpu.kernels.one_hot import one_hot_launcher

        return one_hot_launcher(self._state, self.indices_type, self.out_type)

    def _provide(self) -> None:
        super()._provide()
        from ep.cpu.engine.map.entry import compile_streaming
        from ep.cpu.kernels.one_hot import one_hot_kernel

        size = self.out_type.itemsize
        compile_streaming(self._state, lambda: one_hot_kernel(self.indices_type, size, streaming=True))

    @launched
    def Launch(
        self,
        stream: Stream,
        indices: Any,
        out: Any,
        on_value: Any,
        off_value: Any,
        num_indices: int,
        lower_bound: int,
        upper_bound: int,
    ) -> None:
        arrays, dims = self._arrays(on_value, off_value), (num_indices, lower_bound, upper_bound)
        given = (on_value, off_value, *dims)
        self._launch_by_dims(stream, dims, (indices, out, *arrays), given=given, arrays=arrays)

    def _launch_dims(self, stream: Any, dims: Any, buffers: Any, data_type: Any = None) -> None:
        num_indices, lower_bound, upper_bound = dims
        first, depth = as_class_range(lower_bound, upper_bound)
        sizes = as_size(num_indices, "num_indices"), depth

        def make() -> Plan:
            plan = Plan(CLASSES, self.signature)
            plan.set_words(_CLASSES, (depth, first))
            plan.set_checks(sizes, in_place=False)
            return plan

        self._launch_planned(stream, (sizes[0], first, first + depth), sizes, buffers, make)
