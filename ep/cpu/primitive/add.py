"""Add on the CPU: any number of operands in one pass."""

from __future__ import annotations

from typing import Any

from ep.common.checks import as_buffers, as_size
from ep.common.primitive import signatures
from ep.common.primitive.keys import ADD
from ep.common.primitive.signature import Signature, reads
from ep.cpu.device.buffers import check_stream, read_buffer
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.map.state import MapState
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.add import Add, AddFactory
from ep.include.primitive.implements import implements


@implements(AddFactory, on=DeviceType.kCPU, keys=ADD)
class AddImpl(CpuPrimitive, Add):
    # all srcs have the same type, and compiled code receives them in a tuple
    signature = Signature((reads("srcs", 0, "count"), *signatures.add(0).operands), signatures.add(0).sizes)
    state_record = MapState

    def _compile(self) -> Launcher:
        from ep.cpu.kernels.add import add_launcher

        return add_launcher(self._state, self._types[0])

    def _provide(self) -> None:
        super()._provide()
        from ep.cpu.engine.map.entry import compile_streaming
        from ep.cpu.kernels.add import add_kernel

        compile_streaming(self._state, lambda: add_kernel(self._types[0], streaming=True))

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        (count,), (srcs, dst) = sizes, buffers
        given = tuple(srcs) if type(srcs) is list else srcs  # another thread could change a list during the launch
        check_stream(stream)
        srcs, size = as_buffers(given, "srcs"), as_size(count, "count")
        signature = signatures.add(len(srcs))
        types = self._types[:1] * len(signature.operands)
        *read, written = signature.read((*srcs, dst), types, signature.counts((size,)), read_buffer)
        if size:
            self._run(stream, None, size, tuple(read), written)
