"""BroadcastElementwiseBinary on CUDA."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ep.common.bounded_cache import BoundedCache
from ep.common.buffer_checks import check_overlap
from ep.common.checks import are_integers, as_dims
from ep.common.primitive.broadcast import Dims, broadcast_dims, simplify_broadcast_dims
from ep.common.primitive.keys import BROADCAST_ELEMENTWISE_BINARY
from ep.common.primitive.movement import fits_32_bit_offsets
from ep.common.primitive.strides import contiguous_strides, expanded_strides
from ep.common.scalar import convert_scalar, is_scalar, number_key
from ep.cuda.access import Access, Variant
from ep.cuda.arithmetic import COMPUTE_BOUND
from ep.cuda.buffers import as_address
from ep.cuda.launch_config import pack_elements
from ep.cuda.plan import walk_words
from ep.cuda.primitive.cuda_primitive import CudaPrimitive, attribute_words
from ep.cuda.stream import CudaStream, check_stream
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.primitive.broadcast_elementwise_binary import (
    BroadcastElementwiseBinary,
    BroadcastElementwiseBinaryFactory,
)
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.stream import Stream


class _Shape(NamedTuple):
    """What follows from dims: those of the operands and of dst, simplified (none where dst is empty), and counts."""

    operands: tuple[Dims, Dims]
    dims: Dims
    counts: tuple[int, int]
    count: int


class _Plan(NamedTuple):
    """A launch of one shape with operands of one kind each and addresses of one alignment; words: those of the walk."""

    variant: Variant
    packs: int
    num_items: int
    words: tuple[int, ...]


class BroadcastElementwiseBinaryImpl(CudaPrimitive, BroadcastElementwiseBinary):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.src_type, self.dst_type = request.dtypes or ()
        self._src_size, self._dst_size = self.src_type.itemsize, self.dst_type.itemsize
        self._elements = pack_elements(self.src_type, self.dst_type)
        self._takes_packs = request.op not in COMPUTE_BOUND
        self._attributes = attribute_words(request)
        self._shapes, self._plans, self._numbers = BoundedCache(), BoundedCache(), BoundedCache()

    def _kernel(self, variant: Variant) -> Any:
        from ep.cuda.kernels.broadcast_elementwise_binary import kernel

        return kernel(self.request.op, self.src_type, self.dst_type, variant)  # type: ignore[arg-type]

    def _usual_variant(self) -> Variant:
        return Variant(self._elements if self._takes_packs else 1, Access.SAME, Access.SAME, 1, 32)

    def Launch(
        self, stream: Stream, src0_dims: Sequence[int], src0: Any, src1_dims: Sequence[int], src1: Any, dst: Any
    ) -> None:
        stream = check_stream(stream)
        try:
            shape = self._shapes.get((src0_dims, src1_dims)) if are_integers(src0_dims, src1_dims) else None
        except TypeError:  # dims in a list
            shape = None
        if shape is None:
            shape = self._shape(src0_dims, src1_dims)
        count, src_size = shape.count, self._src_size
        words0, number0 = self._operand(src0, "src0", shape.counts[0], len(src0_dims), stream)
        words1, number1 = self._operand(src1, "src1", shape.counts[1], len(src1_dims), stream)
        dst_address = as_address(dst, "dst", self.dst_type, count, stream, writable=True)
        for (address, _), number, size, name in (
            (words0, number0, shape.counts[0], "src0"),
            (words1, number1, shape.counts[1], "src1"),
        ):
            if not number:
                dst_bytes, src_bytes = count * self._dst_size, size * src_size
                check_overlap(dst_address, dst_bytes, "dst", address, src_bytes, name, in_place=size == count)
        if not count:
            return
        pack = self._elements * src_size
        aligned = (
            None if number0 else not words0[0] % pack,
            None if number1 else not words1[0] % pack,
            self._takes_packs and not dst_address % (self._elements * self._dst_size),
        )
        key = shape, aligned
        plan = self._plans.get(key) or self._plans.keep(key, lambda: _plan(shape, aligned, self._elements))
        words = (*words0, *words1, dst_address, plan.packs, count, *self._attributes, *plan.words)
        self._queue(stream, plan.variant, plan.num_items, *words)

    def _shape(self, src0_dims: Any, src1_dims: Any) -> _Shape:
        max_num_dims = self.request.max_num_dims or 0
        dims0 = as_dims(src0_dims, "src0_dims", max_num_dims)
        dims1 = as_dims(src1_dims, "src1_dims", max_num_dims)
        count = math.prod(broadcast_dims(dims0, dims1, names=("src0_dims", "src1_dims")))
        (simple0, simple1), dims = simplify_broadcast_dims(dims0, dims1) if count else (((), ()), ())
        shape = _Shape((simple0, simple1), dims, (math.prod(dims0), math.prod(dims1)), count)
        return self._shapes.keep((dims0, dims1), lambda: shape)

    def _operand(
        self, operand: Any, argument: str, count: int, num_dims: int, stream: CudaStream
    ) -> tuple[tuple[int, int], bool]:
        """The two words of an operand, and whether it is a number."""
        if not num_dims and is_scalar(operand):
            return self._number(operand, argument), True
        return (as_address(operand, argument, self.src_type, count, stream), 0), False

    def _number(self, number: Any, argument: str) -> tuple[int, int]:
        """A plain number as its words, kept for the next launch with that number."""
        key = number_key(number)
        words = self._numbers.get(key)
        return words or self._numbers.keep(key, lambda: _number_words(number, self.src_type, argument))


def _number_words(number: Any, data_type: DataType, argument: str) -> tuple[int, int]:
    """The bytes of a number, rounded to `data_type`, in the type that it is computed in."""
    element = np.array(convert_scalar(number, data_type, argument), data_type.dtype)
    if data_type in (DataType.kFloat16, DataType.kBFloat16):
        element = element.astype(np.float32)
    first, second = struct.unpack("2q", element.tobytes().ljust(16, b"\0"))
    return first, second


def _plan(shape: _Shape, aligned: tuple[bool | None, bool | None, bool], elements: int) -> _Plan:
    """aligned: whether src0, src1 (None for a number) and dst lie at multiples of their packs, if packs are taken."""
    dims, count = shape.dims, shape.count
    accesses = [_access(shape, side, aligned[side]) for side in (0, 1)]
    # what is read as it is written must be aligned as dst must be
    whole = aligned[2] and all(aligned[side] for side in (0, 1) if accesses[side] is Access.SAME)
    if not whole:
        elements = 1
    packs = count // elements if whole else 0
    items = max(packs, count - packs * elements)
    walked = [side for side in (0, 1) if accesses[side] is Access.EACH]
    if not walked:
        return _Plan(Variant(elements, accesses[0], accesses[1], 1, 32), packs, items, walk_words((1,), (0,), (0,), 32))
    bits = 32 if fits_32_bit_offsets(count, *shape.counts) else 64
    strides = [expanded_strides(simple, contiguous_strides(simple), len(dims)) for simple in shape.operands]
    along = [side for side in walked if strides[side][-1]]  # those that step along the innermost axis
    if whole and dims[-1] % elements == 0 and all(aligned[side] for side in along):
        dims = (*dims[:-1], dims[-1] // elements)
        for side in walked:
            accesses[side] = Access.PACK if side in along else Access.SPREAD
        for side in along:
            strides[side] = (*(stride // elements for stride in strides[side][:-1]), 1)
        if dims[-1] == 1 and len(dims) > 1:
            dims, strides = dims[:-1], [steps[:-1] for steps in strides]
    return _Plan(
        Variant(elements, accesses[0], accesses[1], len(dims), bits), packs, items, walk_words(dims, *strides, bits)
    )


def _access(shape: _Shape, side: int, aligned: bool | None) -> Access:
    if aligned is None:
        return Access.NUMBER
    if shape.counts[side] == shape.count:
        return Access.SAME
    return Access.SINGLE if shape.counts[side] == 1 else Access.EACH


@register_primitive_factory(DeviceType.kCUDA, BroadcastElementwiseBinaryFactory)
class BroadcastElementwiseBinaryFactoryImpl(BroadcastElementwiseBinaryFactory):
    keys = BROADCAST_ELEMENTWISE_BINARY

    def Make(self, request: Request) -> BroadcastElementwiseBinary:
        return BroadcastElementwiseBinaryImpl(request)
