"""What the primitives on CUDA have in common whose launches apply a functor to each element."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ep.common.attributes import attribute_values
from ep.common.bounded_cache import BoundedCache
from ep.common.buffer_checks import check_overlap
from ep.common.scalar import convert_scalar, is_scalar, number_key
from ep.cuda.access import Access, Variant
from ep.cuda.arithmetic import COMPUTE_BOUND, attribute_type
from ep.cuda.buffers import as_address
from ep.cuda.launch_config import pack_elements
from ep.cuda.map_plan import MapShape, map_plan
from ep.cuda.primitive.cuda_primitive import CudaPrimitive
from ep.cuda.stream import CudaStream
from ep.include.data_type import DataType
from ep.include.primitive.primitive import Request


class MapPrimitive(CudaPrimitive):
    """A primitive that computes dst[n] = functor(operands at n), its operands all of one type."""

    num_operands = 1

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.src_type, self.dst_type = request.dtypes or ()
        self.takes_packs = request.op not in COMPUTE_BOUND
        self.elements = pack_elements(self.src_type, self.dst_type) if self.takes_packs else 1
        self.src_pack, self.dst_pack = (self.elements * part.itemsize for part in (self.src_type, self.dst_type))
        self.attribute_words = _attribute_words(request)
        self._plans, self._numbers = BoundedCache(), BoundedCache()

    def _kernel(self, variant: Variant) -> Any:
        from ep.cuda.engine.functor import functor_of
        from ep.cuda.engine.map import kernel

        return kernel(functor_of(self.request.op, self.src_type, self.dst_type), variant)  # type: ignore[arg-type]

    def _usual_variant(self) -> Variant:
        return Variant(self.elements, (Access.SAME,) * self.num_operands)

    def _launch(
        self, stream: CudaStream, shape: MapShape, operands: tuple[Any, ...], names: tuple[str, ...], dst: Any
    ) -> None:
        """Check the operands of a launch of `shape`, and queue it."""
        count, words, aligned = shape.count, [], []
        read: list[tuple[int, int, str]] = []
        for operand, name, elements, may_be_number in zip(
            operands, names, shape.counts, shape.may_be_numbers, strict=True
        ):
            if may_be_number and is_scalar(operand):
                words += self._number(operand, name)
                aligned.append(None)
            else:
                address = as_address(operand, name, self.src_type, elements, stream)
                words += address, 0
                aligned.append(not address % self.src_pack)
                read.append((address, elements, name))
        dst_address = as_address(dst, "dst", self.dst_type, count, stream, writable=True)
        dst_bytes = count * self.dst_type.itemsize
        for address, elements, name in read:
            src_bytes, in_place = elements * self.src_type.itemsize, elements == count
            check_overlap(dst_address, dst_bytes, "dst", address, src_bytes, name, in_place=in_place)
        if not count:
            return
        dst_aligned = self.takes_packs and not dst_address % self.dst_pack
        key = shape, *aligned, dst_aligned
        plan = self._plans.get(key) or self._plans.keep(
            key, lambda: map_plan(shape, aligned, dst_aligned, self.elements)
        )
        words += dst_address, plan.packs, count, *self.attribute_words, *plan.words
        self._queue(stream, plan.variant, plan.num_items, *words)

    def _number(self, number: Any, argument: str) -> tuple[int, int]:
        """A plain number as its words, kept for the next launch with that number."""
        key = number_key(number)
        words = self._numbers.get(key)
        return words or self._numbers.keep(key, lambda: _number_words(number, self.src_type, argument))


def _attribute_words(request: Request) -> tuple[int, int]:
    """The attributes as kernels take them: two words with the bits of float32 or float64 values.

    They have the type that the op is computed in, so that no kernel has to convert.
    """
    scalar_type = attribute_type(request.op, (request.dtypes or ())[0])  # type: ignore[arg-type]
    with np.errstate(over="ignore"):  # beyond the range of float32 is infinity
        values = np.array([*attribute_values(request), 0, 0][:2]).astype(scalar_type)
    first, second = values.view(np.int32 if scalar_type is np.float32 else np.int64).tolist()
    return first, second


def _number_words(number: Any, data_type: DataType, argument: str) -> tuple[int, int]:
    """The bytes of a number, rounded to `data_type`, in the type that it is computed in."""
    element = np.array(convert_scalar(number, data_type, argument), data_type.dtype)
    if data_type in (DataType.kFloat16, DataType.kBFloat16):
        element = element.astype(np.float32)
    first, second = struct.unpack("2q", element.tobytes().ljust(16, b"\0"))
    return first, second
