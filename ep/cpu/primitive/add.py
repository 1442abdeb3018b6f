"""Add on the CPU: any number of operands in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ep.common.checks import as_buffers, as_size
from ep.common.primitive import signatures
from ep.common.primitive.keys import ADD
from ep.cpu.device.buffers import check_stream, read_buffer
from ep.cpu.device.stream import CpuStream
from ep.cpu.engine.map.state import MAP_STATE
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.add import Add, AddFactory
from ep.include.primitive.implements import implements
from ep.include.stream import Stream


@implements(AddFactory, on=DeviceType.kCPU, keys=ADD)
class AddImpl(CpuPrimitive, Add):
    signature, state_layout = signatures.add(1), MAP_STATE
    """All srcs are alike; the entry takes them in a tuple."""

    def _compile(self) -> Callable[..., int]:
        from ep.cpu.kernels.add import add_entry

        return add_entry(self._state, self._types[0])

    def _provide(self) -> None:
        super()._provide()
        from ep.cpu.engine.map.entry import compile_streaming
        from ep.cpu.kernels.add import add_kernel

        compile_streaming(self._state, lambda: add_kernel(self._types[0], streaming=True))

    def Launch(self, stream: Stream, srcs: Sequence[Any], dst: Any, count: int) -> None:
        given = tuple(srcs) if type(srcs) is list else srcs  # which another thread could change meanwhile
        if type(given) is not tuple or type(stream) is not CpuStream or self._entry(self._words, count, given, dst):
            self._launch_srcs(stream, given, dst, count)

    def _launch_srcs(self, stream: Any, given: Any, dst: Any, count: Any) -> None:
        """Check a launch in Python, then do it."""
        check_stream(stream)
        srcs, size = as_buffers(given, "srcs"), as_size(count, "count")
        signature = signatures.add(len(srcs))
        types = self._types[:1] * len(signature.operands)
        *read, written = signature.read((*srcs, dst), types, signature.counts((size,)), read_buffer)
        if size:
            self._run(size, tuple(read), written)
