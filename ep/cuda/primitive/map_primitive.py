"""The base of the primitives on CUDA whose launches apply a functor to each element."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from ep.common.checks import as_size
from ep.common.primitive.signature import Reader
from ep.common.scalar import convert_value, is_scalar
from ep.cuda.arrays.launch_buffers import reader
from ep.cuda.compile.kernel_words import flat
from ep.cuda.compile.launch_config import pack_elements
from ep.cuda.device.stream import CudaStream, check_stream
from ep.cuda.engine.map.access import Access, Variant
from ep.cuda.engine.map.plan import MapShape, MapWords, flat_shape, map_plan
from ep.cuda.primitive.number_words import Number, NumberWords
from ep.cuda.primitive.planned_primitive import PlannedPrimitive
from ep.include.data_type import DataType
from ep.include.primitive.primitive import Request

if TYPE_CHECKING:
    from ep.cuda.engine.map.functor import Functor


class MapPrimitive(PlannedPrimitive):
    """A primitive that computes dst[n] = functor(operands at n). Its signature has the operands, and dst last."""

    attribute_words: tuple[int, int] = 0, 0
    convert_number = staticmethod(convert_value)
    """The function that makes an element of a plain number."""

    def __init__(self, request: Request, stored: Sequence[DataType], *, takes_packs: bool = True) -> None:
        """stored: the types that kernels load the operands as, and store dst as; takes_packs: as in `Functor`."""
        super().__init__(request)
        self.stored, self.takes_packs = tuple(stored), takes_packs
        self.elements = pack_elements(*stored) if takes_packs else 1
        self._packs = [self.elements * data_type.itemsize for data_type in stored]
        self._numbers = [NumberWords(*types, self.convert_number) for types in zip(self._types, stored, strict=False)]

    @abstractmethod
    def _functor(self) -> Functor:
        """Return the functor of kernels; here Numba is imported."""

    def _kernel(self, variant: Variant) -> Any:
        from ep.cuda.engine.map.kernel import kernel

        return kernel(self._functor(), variant)

    def _usual_variant(self) -> Variant:
        return Variant(self.elements, (Access.SAME,) * (len(self.stored) - 1))

    def _check(self, dims: Any) -> tuple[Hashable, MapShape]:
        """By default `dims` are a number of adjacent elements of each side."""
        count = as_size(dims[0], "count")
        return (count,), flat_shape(count, len(self.stored) - 1)

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        stream, shape = check_stream(stream), self._shape(*sizes)
        self._launch(stream, shape, buffers)

    def _launch(self, stream: CudaStream, shape: MapShape, buffers: Sequence[Any]) -> None:
        """Check the buffers of a launch of `shape`, in the order of the signature, and queue it."""
        read_buffer = reader(stream)
        if True in shape.may_be_numbers:
            buffers, read_buffer = self._with_numbers(shape, buffers), _or_number(read_buffer)
        self._queue_sides(
            stream, shape, self.signature.read(buffers, self._types, shape.counts, read_buffer, shape.in_place)
        )

    def _queue_sides(self, stream: CudaStream, shape: MapShape, sides: Sequence[Any]) -> None:
        """Queue a launch of `shape` whose sides, each a `Number` or an address, have been checked."""
        if not shape.num_elements:
            return
        sources: list[int] = []
        aligned: list[bool | None] = []
        for side, pack in zip(sides, self._packs, strict=True):
            if type(side) is Number:
                sources += side
                aligned.append(None)
            else:
                sources += side, 0
                aligned.append(not side % pack)
        aligned[-1] = self.takes_packs and aligned[-1]
        plan = shape.plans.get(key := tuple(aligned))
        if plan is None:
            plan = shape.plans[key] = map_plan(shape, key, self.elements)
        *sources, dst, _ = sources
        words = MapWords(tuple(sources), (dst,), plan.packs, shape.num_elements, *self.attribute_words, plan.words)
        self._queue(stream, plan.variant, plan.num_items, *flat(words))

    def _with_numbers(self, shape: MapShape, buffers: Sequence[Any]) -> list[Any]:
        """Return the buffers, with a `Number` for each operand that is a plain number."""
        sides = list(buffers)
        for position, may_be_number in enumerate(shape.may_be_numbers):
            if may_be_number and is_scalar(buffers[position]):
                name = self.signature.operands[position].name
                sides[position] = self._numbers[position].of(buffers[position], name)
        return sides


def _or_number(read_buffer: Reader) -> Reader:
    """Return a reader that returns a `Number` unchanged: it has no address."""

    def read(side: Any, argument: str, data_type: DataType | None, num_elements: int, written: bool) -> tuple[Any, int]:
        if type(side) is Number:
            return side, 0
        return read_buffer(side, argument, data_type, num_elements, written)

    return read
