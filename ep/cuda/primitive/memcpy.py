"""Memcpy on CUDA: the driver's."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ep.common.checks import as_size
from ep.common.host_buffers import read_buffer
from ep.common.primitive import signatures
from ep.common.primitive.keys import MEMCPY
from ep.common.primitive.signature import Reader
from ep.cuda.arrays.launch_buffers import as_address
from ep.cuda.device.stream import CudaStream, check_stream
from ep.cuda.driver.current import driver
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.errors import ArgumentValueError
from ep.include.primitive.implements import implements
from ep.include.primitive.memcpy import Memcpy, MemcpyFactory, MemcpyKind
from ep.include.primitive.primitive import Request
from ep.include.stream import Stream

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

    def Launch(self, stream: Stream, dst: Any, src: Any, count: int) -> None:
        stream = check_stream(stream)
        size = as_size(count, "count")
        read = signatures.MEMCPY.read((dst, src), (None, None), (size, size), self._reader(stream))
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
        driver().copy(stream.device_index, to, place, size, stream.handle)
        if pageable:
            stream.Sync()

    def _reader(self, stream: CudaStream) -> Reader:
        """Reads a buffer on the side where it must be, or is: its address, and whether it is in host memory."""

        def read(
            buffer: Any, argument: str, data_type: DataType | None, num_bytes: int, written: bool
        ) -> tuple[tuple[int, bool], int]:
            on_host = self._on_host.get(argument)
            if on_host is None:
                on_host = isinstance(buffer, np.ndarray)
            if on_host:
                _, address = read_buffer(buffer, argument, data_type, num_bytes, written)
            else:
                address = as_address(buffer, argument, data_type, num_bytes, stream, writable=written)
            return (address, on_host), address

        return read
