"""ArgSort on the CPU."""

from __future__ import annotations

from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import ARG_SORT
from ep.common.primitive.sort_keys import as_sort_sizes
from ep.cpu.engine.reduce.sort_plan import SortPlan
from ep.cpu.primitive.sort_primitive import SortPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.arg_sort import ArgSort, ArgSortFactory
from ep.include.primitive.implements import implements


@implements(ArgSortFactory, on=DeviceType.kCPU, keys=ARG_SORT)
class ArgSortImpl(SortPrimitive, ArgSort):
    signature = signatures.ARG_SORT

    def _launch_dims(self, stream: Any, dims: Any, buffers: Any, data_type: Any = None) -> None:
        sizes = as_sort_sizes(*dims)
        self._launch_planned(stream, sizes, sizes, buffers, lambda: SortPlan(self.signature, self._key_words, sizes))
