"""Expand on CUDA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ep.common.bounded_cache import BoundedCache
from ep.common.checks import are_integers
from ep.common.primitive import signatures
from ep.common.primitive.broadcast import StridedWalk
from ep.common.primitive.expand_shape import as_expand_shape
from ep.common.primitive.keys import EXPAND
from ep.common.primitive.movement import fits_32_bit_offsets, split, widen, widest_unit
from ep.common.primitive.strides import contiguous_strides, extent
from ep.cuda.launch_config import PACK_BYTES
from ep.cuda.plan import walk_words
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.cuda.stream import check_stream
from ep.include.device_type import DeviceType
from ep.include.primitive.expand import Expand, ExpandFactory
from ep.include.primitive.primitive import Request
from ep.include.primitive.registry import register_primitive_factory
from ep.include.stream import Stream


class _Shape(NamedTuple):
    """What follows from dims and strides: the walk in elements, and how many of them each side must have."""

    walk: StridedWalk
    src_count: int
    dst_count: int


class _Plan(NamedTuple):
    """A launch of one shape between addresses of one alignment; words: all but the addresses."""

    variant: tuple[int, int, int, int]
    num_items: int
    words: tuple[int, ...]


class ExpandImpl(CudaPrimitive, Expand):
    signature = signatures.EXPAND

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        (self.data_type,) = request.dtypes or ()
        self._shapes, self._plans = BoundedCache(), BoundedCache()

    def _kernel(self, variant: tuple[int, int, int, int]) -> Any:
        from ep.cuda.kernels.expand import kernel

        return kernel(*variant)

    def _usual_variant(self) -> tuple[int, int, int, int]:
        return 2, PACK_BYTES, 1, 32

    def Launch(
        self,
        stream: Stream,
        src_dims: Sequence[int],
        src: Any,
        dst_dims: Sequence[int],
        dst: Any,
        src_strides: Sequence[int] | None = None,
        dst_strides: Sequence[int] | None = None,
    ) -> None:
        stream = check_stream(stream)
        dims_and_strides = src_dims, dst_dims, src_strides, dst_strides
        try:
            shape = self._shapes.get(dims_and_strides) if are_integers(*dims_and_strides) else None
        except TypeError:  # dims in a list
            shape = None
        if shape is None:
            shape = self._shape(*dims_and_strides)
        in_place = shape.walk.src_strides == shape.walk.dst_strides
        src_address, dst_address = self._read(stream, (src, dst), (shape.src_count, shape.dst_count), in_place)
        if not shape.dst_count:
            return
        size = self.data_type.itemsize
        alignment = widest_unit(src_address), widest_unit(dst_address)
        key = shape, alignment
        plan = self._plans.get(key) or self._plans.keep(key, lambda: _plan(shape, size, *alignment))
        self._queue(stream, plan.variant, plan.num_items, src_address, dst_address, *plan.words)

    def _shape(self, src_dims: Any, dst_dims: Any, src_strides: Any, dst_strides: Any) -> _Shape:
        given = as_expand_shape(src_dims, dst_dims, src_strides, dst_strides, self.request.max_num_dims)
        src_count, dst_count = given.counts()
        shape = _Shape(given.walk() if dst_count else StridedWalk((), (), ()), src_count, dst_count)
        return self._shapes.keep(given.key, lambda: shape)


def _plan(shape: _Shape, itemsize: int, src_alignment: int, dst_alignment: int) -> _Plan:
    alignment = min(src_alignment, dst_alignment)
    walk, unit = widen(*split(shape.walk, itemsize, alignment), alignment)
    count = extent(walk.dims, contiguous_strides(walk.dims))
    units = itemsize * max(shape.src_count, shape.dst_count) // unit
    bits = 32 if fits_32_bit_offsets(units) else 64
    words = walk_words(walk.dims, walk[1:], bits)
    num_axes = len(walk.dims)
    if walk.dst_strides != contiguous_strides(walk.dims):
        return _Plan((num_axes, unit, 0, bits), count, (count, *words))
    pack_units = PACK_BYTES // unit if dst_alignment == PACK_BYTES else 1
    packs = count // pack_units
    return _Plan((num_axes, unit, pack_units, bits), max(packs, pack_units), (packs, count, *words))


@register_primitive_factory(DeviceType.kCUDA, ExpandFactory)
class ExpandFactoryImpl(ExpandFactory):
    keys = EXPAND

    def Make(self, request: Request) -> Expand:
        return ExpandImpl(request)
