"""Add on CUDA: the map engine, on chunks of the operands, whose sums lie in memory that is as exact as registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ep.common.checks import as_buffers, as_size
from ep.common.primitive import signatures
from ep.common.primitive.keys import ADD
from ep.common.stored_types import stored_types
from ep.cuda.arrays.launch_buffers import reader
from ep.cuda.compile.launch_config import pack_elements
from ep.cuda.device.stream import CudaStream, check_stream
from ep.cuda.driver.current import driver
from ep.cuda.engine.map.access import Access, Variant
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.number_kind import FLOATS
from ep.include.primitive.add import Add, AddFactory
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.implements import implements
from ep.include.primitive.primitive import Request
from ep.include.stream import Stream

if TYPE_CHECKING:
    from ep.cuda.compile.compiler import Kernel


CHUNK: Final = 16
"""The most operands of one launch; a sum of those before them is one."""


class _Chunk(NamedTuple):
    """The kernel for so many operands, the first of which, like dst, may be memory for a sum."""

    num_operands: int
    first_type: DataType
    dst_type: DataType
    elements: int


@implements(AddFactory, on=DeviceType.kCUDA, keys=ADD)
class AddImpl(CudaPrimitive, Add):
    signature = signatures.add(1)
    """All srcs are alike."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._type, _ = stored_types(BinaryOp.kAdd, self._types[0], self._types[0])
        narrow = self._type in FLOATS and self._type.itemsize == 2
        self._sum_type = DataType.kFloat if narrow else self._type

    def _kernel(self, variant: _Chunk) -> Kernel:
        from ep.cuda.engine.map.kernel import kernel
        from ep.cuda.kernels.add import functor

        number, first_type, dst_type, elements = variant
        made = functor(number, first_type, self._type, dst_type)
        return kernel(made, Variant(elements, (Access.SAME,) * number))

    def _usual_variant(self) -> _Chunk:
        return _Chunk(2, self._type, self._type, pack_elements(self._type))

    def Launch(self, stream: Stream, srcs: Sequence[Any], dst: Any, count: int) -> None:
        stream, srcs, count = check_stream(stream), as_buffers(srcs, "srcs"), as_size(count, "count")
        sides = len(srcs) + 1
        signature, types = signatures.add(len(srcs)), self._types[:1] * sides
        *addresses, dst = signature.read((*srcs, dst), types, (count,) * sides, reader(stream))
        if not count:
            return
        if len(addresses) == 1:
            if addresses[0] != dst:
                driver().copy(stream.device_index, dst, addresses[0], count * self._type.itemsize, stream.handle)
        elif len(addresses) <= CHUNK:
            self._queue_chunk(stream, addresses, self._type, dst, self._type, count)
        else:
            self._queue_chunks(stream, addresses, dst, count)

    def _queue_chunks(self, stream: CudaStream, addresses: list[int], dst: int, count: int) -> None:
        """Queue launches for chunks of the operands, whose sum lies in memory of its own: dst may be any operand."""
        memory = stream.AllocAsync(count * self._sum_type.itemsize)
        try:
            chunk, rest, first_type = addresses[:CHUNK], addresses[CHUNK:], self._type
            while rest:
                self._queue_chunk(stream, chunk, first_type, memory.address, self._sum_type, count)
                chunk, rest, first_type = [memory.address, *rest[: CHUNK - 1]], rest[CHUNK - 1 :], self._sum_type
            self._queue_chunk(stream, chunk, first_type, dst, self._type, count)
        finally:
            stream.FreeAsync(memory)

    def _queue_chunk(
        self, stream: CudaStream, addresses: list[int], first_type: DataType, dst: int, dst_type: DataType, count: int
    ) -> None:
        sides = [(addresses[0], first_type), *((each, self._type) for each in addresses[1:]), (dst, dst_type)]
        elements, packs, items = _packs(count, sides)
        sources = [word for address in addresses for word in (address, 0)]
        chunk = _Chunk(len(addresses), first_type, dst_type, elements)
        self._queue(stream, chunk, items, *sources, dst, packs, count, 0, 0)


def _packs(count: int, sides: Sequence[tuple[int, DataType]]) -> tuple[int, int, int]:
    """The elements of a pack, the packs of a launch, and its items; 1 and no packs where a side is not aligned."""
    elements = pack_elements(*(data_type for _, data_type in sides))
    if any(address % (elements * data_type.itemsize) for address, data_type in sides):
        return 1, 0, count
    packs = count // elements
    return elements, packs, max(packs, count - packs * elements)
