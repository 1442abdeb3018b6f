"""Memcpy on CUDA: the driver's."""

from __future__ import annotations

from typing import Any, Final

from ep.common.checks import as_size
from ep.common.primitive import signatures
from ep.common.primitive.keys import MEMCPY
from ep.cuda.arrays.launch_buffers import reader_of_sides
from ep.cuda.device.stream import check_stream
from ep.cuda.driver.current import driver
from ep.include.device_type import DeviceType
from ep.include.errors import ArgumentValueError
from ep.include.primitive.implements import implements
from ep.include.primitive.memcpy import Memcpy, MemcpyFactory, MemcpyKind
from ep.include.primitive.primitive import Request

_ON_HOST: Final[dict[MemcpyKind, dict[str, bool]]] = {
    MemcpyKind.kAuto: {},
    MemcpyKind.kHtoD: {"src": True, "dst": False},
    MemcpyKind.kDtoH: {"src": False, "dst": True},
    MemcpyKind.kDtoD: {"src": False, "dst": False},
}
"""For each kind the sides that it prescribes: whether a buffer is in host memory."""


@implements(MemcpyFactory, on=DeviceType.kCUDA, keys=MEMCPY)
class MemcpyImpl(Memcpy):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._on_host = _ON_HOST[request.op]  # type: ignore[index]

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        stream, size = check_stream(stream), as_size(sizes[0], "count")
        read = signatures.MEMCPY.read(buffers, (None, None), (size, size), reader_of_sides(stream, self._on_host))
        (to, dst_on_host), (place, src_on_host) = read
        if not size or to == place:
            return
        pageable = [
            argument
            for argument, address, on_host in (("dst", to, dst_on_host), ("src", place, src_on_host))
            if on_host and driver().device_of(address) is None
        ]
        if pageable and stream.is_capturing():
            raise ArgumentValueError(
                pageable[0],
                "is pageable host memory, which a graph cannot copy later; AllocPinned gives memory "
                "that can be used while launches are captured",
            )
        stream.copy(to, place, size)
        if pageable:
            stream.Sync()
