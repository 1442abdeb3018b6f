"""Where on the CPU: the map engine, over a broadcast walk of three operands."""

from __future__ import annotations

from ep.common.primitive import signatures
from ep.common.primitive.keys import WHERE
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.move.run_writer import run_writers
from ep.cpu.primitive.broadcast_primitive import BroadcastPrimitive
from ep.cpu.shared.context import LATER
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.where import Where, WhereFactory


@implements(WhereFactory, on=DeviceType.kCPU, keys=WHERE)
class WhereImpl(BroadcastPrimitive, Where):
    signature, number_operands = signatures.WHERE, ("cond", "x", "y")

    def _kernel(self, *, streaming: bool) -> int:
        from ep.cpu.kernels.where import where_kernel

        cond, x, *_ = self._types
        return where_kernel(cond.itemsize, x.itemsize, streaming=streaming)

    def _compile(self) -> Launcher:
        from ep.cpu.engine.map.entry import walk_launcher

        self._state.set(streaming_kernel=LATER)
        return walk_launcher(self.signature, self._state, self._kernel(streaming=False))

    def _provide(self) -> None:
        super()._provide()
        from ep.cpu.engine.map.entry import compile_streaming

        compile_streaming(self._state, lambda: self._kernel(streaming=True))

    def _compile_variants(self) -> None:
        super()._compile_variants()
        sizes = {each.itemsize for each in self._types}
        self._compile_writers([writer for size in sizes for writer in run_writers(size, size)])
