"""Add on CUDA: the map engine, on chunks of the operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.checks import as_buffers, as_size
from ep.common.primitive import signatures
from ep.common.primitive.keys import ADD
from ep.common.stored_types import stored_types
from ep.cuda.arrays.launch_buffers import reader
from ep.cuda.compile.launch_config import pack_elements
from ep.cuda.device.stream import CudaStream, check_stream
from ep.cuda.engine.map.chunks import CHUNK, ChunkVariant, Side, chunk_launches, sum_type
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.include.device_type import DeviceType
from ep.include.primitive.add import Add, AddFactory
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.stream import Stream


@implements(AddFactory, on=DeviceType.kCUDA, keys=ADD)
class AddImpl(CudaPrimitive, Add):
    signature = signatures.add(1)  # all srcs are alike

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._type, _ = stored_types(BinaryOp.kAdd, self._types[0], self._types[0])
        self._sum_type = sum_type(self._type)

    def _kernel(self, variant: ChunkVariant) -> Any:
        from ep.cuda.kernels.add import kernel

        return kernel(self._type, variant)

    def _usual_variant(self) -> ChunkVariant:
        return ChunkVariant(2, self._type, self._type, pack_elements(self._type))

    def Launch(self, stream: Stream, srcs: Sequence[Any], dst: Any, count: int) -> None:
        stream, srcs, count = check_stream(stream), as_buffers(srcs, "srcs"), as_size(count, "count")
        signature, sides = signatures.add(len(srcs)), len(srcs) + 1
        *addresses, dst = signature.read((*srcs, dst), self._types[:1] * sides, (count,) * sides, reader(stream))
        if not count or addresses == [dst]:
            return
        if len(addresses) == 1:
            stream.copy(dst, addresses[0], count * self._type.itemsize)
        elif len(addresses) <= CHUNK:
            self._queue_chunks(stream, addresses, None, dst, count)
        else:
            with stream.scratch(count * self._sum_type.itemsize) as memory:
                self._queue_chunks(stream, addresses, Side(memory.address, self._sum_type), dst, count)

    def _queue_chunks(self, stream: CudaStream, srcs: Sequence[int], total: Side | None, dst: int, count: int) -> None:
        *sides, to = (Side(address, self._type) for address in (*srcs, dst))
        for variant, num_items, words in chunk_launches(sides, total, to, count):
            self._queue(stream, variant, num_items, *words)
