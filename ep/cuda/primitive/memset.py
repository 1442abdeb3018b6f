"""Memset on CUDA: the driver's."""

from __future__ import annotations

from typing import Any

from ep.common.checks import as_byte, as_size
from ep.common.primitive import signatures
from ep.common.primitive.keys import MEMSET
from ep.cuda.arrays.launch_buffers import reader
from ep.cuda.device.stream import check_stream
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.memset import Memset, MemsetFactory


@implements(MemsetFactory, on=DeviceType.kCUDA, keys=MEMSET)
class MemsetImpl(Memset):
    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        stream, (count, value) = check_stream(stream), sizes
        byte, size = as_byte(value, "value"), as_size(count, "count")
        (address,) = signatures.MEMSET.read(buffers, (None,), (size,), reader(stream))
        if size:
            stream.fill(address, byte, size)
