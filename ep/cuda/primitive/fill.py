"""Fill on CUDA: the driver's memset if all bytes of the number are equal, else the map engine."""

from __future__ import annotations

from typing import Any

from ep.common.checks import as_size
from ep.common.primitive import signatures
from ep.common.primitive.keys import FILL
from ep.cuda.device.stream import check_stream
from ep.cuda.engine.map.access import Access
from ep.cuda.primitive.tensor_fill import CudaFill
from ep.include.device_type import DeviceType
from ep.include.primitive.fill import Fill, FillFactory
from ep.include.primitive.implements import implements


@implements(FillFactory, on=DeviceType.kCUDA, keys=FILL)
class FillImpl(CudaFill, Fill):
    signature, access = signatures.FILL, Access.NUMBER

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *numbers: Any) -> None:
        stream, count = check_stream(stream), as_size(sizes[0], "count")
        (data_type,) = self._types
        number = self._numbers[0].of(numbers[0], "value")
        (address,) = self._read(stream, buffers, (count,))
        size = data_type.itemsize
        contents = number.contents[:size]
        if contents == contents[:1] * size:
            if count:
                stream.fill(address, contents[0], count * size)
            return
        self._queue_sides(stream, self._shape(count), (number, address))
