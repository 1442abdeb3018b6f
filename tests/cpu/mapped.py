"""Primitives of the map engine for any function, which are not part of the package."""

import math

from ep import DeviceManagerRegistry, DeviceType
from ep.common.primitive.broadcast import broadcast_dims
from ep.common.primitive.signature import Signature, reads, writes
from ep.cpu.engine.map.plan import broadcast_plan
from ep.cpu.engine.map.state import MAP_STATE
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.include.primitive.primitive import Request


def stream():
    return DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()


class Mapped(PlannedPrimitive):
    """dst = f(operands) with NumPy's broadcasting; `functions()` imports compiled code and returns the RowFunctions."""

    state_layout = MAP_STATE

    def __init__(self, name, functions, src_types, dst_type):
        sources = [f"src{k}" for k in range(len(src_types))]
        self.signature = Signature(
            (
                *(reads(source, k, f"{source}_count") for k, source in enumerate(sources)),
                writes("dst", len(sources), "dst_count", in_place=True),
            ),
            sizes=(*(f"{source}_count" for source in sources), "dst_count"),
        )
        self._name, self._functions = name, functions
        super().__init__(Request(Mapped, None, (*src_types, dst_type), 8))

    def _compile(self):
        from ep.cpu.engine.map.entry import walk_launcher
        from ep.cpu.engine.map.inner_loop import row_kernel

        kernel = row_kernel(f"test.{self._name}", self._functions())
        return walk_launcher(self.signature, self._state, kernel)

    def Launch(self, stream, operand_dims, sources, dst):
        self._launch_dims(stream, operand_dims, (*sources, dst))

    def _launch_dims(self, stream, dims, buffers, data_type=None):
        result = broadcast_dims(*dims)
        counts = [*map(math.prod, dims), math.prod(result)]
        self._launch_planned(
            stream,
            dims,
            counts,
            buffers,
            lambda: broadcast_plan(self.signature, dims, result, self._types, counts),
        )
