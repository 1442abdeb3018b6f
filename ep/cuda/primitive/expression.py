"""Expression on CUDA: the map engine, over a functor with all sources and results of a structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.bounded_cache import BoundedCache
from ep.common.buffer_checks import check_dtype, check_plain
from ep.common.primitive.broadcast import Dims, broadcast_dims
from ep.common.scalar import is_scalar
from ep.common.stored_types import stored_as
from ep.cuda.arrays.reader import read
from ep.cuda.device.stream import CudaStream, check_stream
from ep.cuda.engine.map.access import Access, Variant
from ep.cuda.engine.map.expression_plan import (
    ExpressionShape,
    Layout,
    elements_of_pack,
    expression_shape,
    takes_packs,
)
from ep.cuda.engine.map.plan import map_plan
from ep.cuda.primitive.cuda_primitive import KernelPrimitive
from ep.cuda.primitive.number_words import Number, NumberWords
from ep.include.device_type import DeviceType
from ep.include.errors import Argument, ArgumentTypeError, ArgumentValueError
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.expression import Expression, ExpressionFactory, Structure, kMaxOperands
from ep.include.primitive.primitive import Request, kMaxNumDims
from ep.include.primitive.registry import register_primitive_factory
from ep.include.primitive.unary_op import UnaryOp
from ep.include.stream import Stream


class ExpressionImpl(KernelPrimitive, Expression):
    """Sources may be plain numbers, too, which are words of the launch."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        structure: Any = request.options["structure"]
        self._structure: Structure = structure
        self._num_sources = len(structure.sources)
        results = [structure.data_type(value) for value in structure.results]
        self._sides = (*structure.sources, *results)
        stored = list(map(stored_as, self._sides))
        self._names = [f"sources[{k}]" for k in range(len(structure.sources))]
        self._names += [f"results[{k}]" for k in range(len(results))]
        self._numbers = [NumberWords(*types) for types in zip(structure.sources, stored, strict=False)]
        packs = takes_packs(structure)
        self._elements = elements_of_pack(stored[: self._num_sources], stored[self._num_sources :]) if packs else 1
        self._pack_bytes = [self._elements * data_type.itemsize for data_type in stored]
        self._takes_packs, self._shapes = packs, BoundedCache()

    def _kernel(self, variant: Variant) -> Any:
        from ep.cuda.engine.map.kernel import kernel
        from ep.cuda.kernels.expression import functor

        return kernel(functor(self._structure), variant)

    def _usual_variant(self) -> Variant:
        num_results = len(self._sides) - self._num_sources
        return Variant(self._elements, (Access.SAME,) * self._num_sources, results=(Access.SAME,) * num_results)

    def Launch(self, stream: Stream, results: Sequence[Any], sources: Sequence[Any]) -> None:
        stream, given = check_stream(stream), (*sources, *results)
        if len(sources) != self._num_sources or len(given) != len(self._sides):
            expected = f"{len(self._sides) - self._num_sources} results and {self._num_sources} sources"
            raise ValueError(f"{len(results)} results and {len(sources)} sources; it takes {expected}")
        if len(given) > kMaxOperands:
            raise ValueError(f"there are {len(given)} arrays; a launch takes {kMaxOperands} at most")
        read_sides = [self._side(stream, side, value) for side, value in enumerate(given)]
        sides, layouts = [side for side, _ in read_sides], tuple(layout for _, layout in read_sides)
        shape = self._shapes.get(layouts)
        if shape is None:
            made = self._made(layouts)
            shape = self._shapes.keep(layouts, lambda: made)
        self._check_overlaps(shape, sides)
        self._queue_sides(stream, shape, sides)

    def _side(self, stream: CudaStream, side: int, value: Any) -> tuple[Any, Layout | None]:
        """The address and the layout of an array, or a `Number`; raises for what is not as the contract has it."""
        name, data_type, written = self._names[side], self._sides[side], side >= self._num_sources
        if not written and is_scalar(value):
            return self._numbers[side].of(value, name), None
        view = read(value, name, stream)
        if view is None:
            check_plain(value, name)
            raise ArgumentTypeError(name, f"must be an array on a CUDA device, not {type(value).__qualname__}")
        if view.dtype is not data_type.dtype:
            check_dtype(name, view.dtype, data_type)
        if len(view.shape) > kMaxNumDims:
            raise ArgumentValueError(name, f"has {len(view.shape)} dims; it may have {kMaxNumDims} at most")
        if view.address % data_type.dtype.alignment:
            raise ArgumentValueError(
                name, f"is at {view.address:#x}, which is no multiple of {data_type.dtype.alignment} bytes"
            )
        if written and not view.writable:
            raise ArgumentValueError(name, "is read-only")
        if view.device != stream.device_index and 0 not in view.shape:
            raise ArgumentValueError(name, f"is on cuda:{view.device}; the stream is one of cuda:{stream.device_index}")
        if view.before is not None and view.before != stream.handle:
            stream.wait_for(view.before)
        return view.address, Layout(view.shape, view.strides)

    def _made(self, layouts: Sequence[Any]) -> ExpressionShape:
        dims: Dims = layouts[self._num_sources].shape
        for side, layout in enumerate(layouts):
            if side > self._num_sources and layout.shape != dims:
                raise ArgumentValueError(
                    self._names[side], f"has shape {layout.shape};", Argument("results[0]"), f"has {dims}"
                )
            if layout and broadcast_dims(layout.shape, dims, names=(self._names[side], "results[0]")) != dims:
                raise ArgumentValueError(
                    self._names[side], f"has shape {layout.shape}, which does not broadcast to {dims}"
                )
        return expression_shape(layouts, [data_type.itemsize for data_type in self._sides], dims)

    def _check_overlaps(self, shape: ExpressionShape, sides: Sequence[Any]) -> None:
        """Raise ValueError where a result overlaps another array, but for a source that is the same elements."""
        places = [
            (0, 0) if type(side) is Number else (side + low, side + high)
            for side, (low, high) in zip(sides, shape.spans, strict=True)
        ]
        for k in range(self._num_sources, len(sides)):
            begin, end = places[k]
            for j, (other_begin, other_end) in enumerate(places):
                if j == k or begin >= other_end or other_begin >= end or begin == end:
                    continue
                like = shape.walk.strides[j] == shape.walk.strides[k]
                if j >= self._num_sources or sides[j] != sides[k] or not like or shape.spans[j] != shape.spans[k]:
                    raise ArgumentValueError(
                        self._names[k],
                        "overlaps",
                        Argument(self._names[j]),
                        "and is not the same elements in the same order",
                    )

    def _queue_sides(self, stream: CudaStream, shape: ExpressionShape, sides: Sequence[Any]) -> None:
        walk = shape.walk
        if not walk.num_elements:
            return
        words: list[int] = []
        aligned: list[bool | None] = []
        for position, (side, pack) in enumerate(zip(sides, self._pack_bytes, strict=True)):
            if type(side) is Number:
                words += side
                aligned.append(None)
            elif position < self._num_sources:
                words += side, 0
                aligned.append(not side % pack)
            else:
                words.append(side)
                aligned.append(self._takes_packs and not side % pack)
        plan = walk.plans.get(key := tuple(aligned))
        if plan is None:
            num_results = len(sides) - self._num_sources
            plan = walk.plans[key] = map_plan(walk, key, self._elements, num_results)
        self._queue(stream, plan.variant, plan.num_items, *words, plan.packs, walk.num_elements, 0, 0, *plan.words)


@register_primitive_factory(DeviceType.kCUDA, ExpressionFactory)
class ExpressionFactoryImpl(ExpressionFactory):
    def Select(self, request: Request) -> Expression | None:
        structure: Any = request.options["structure"]
        are_maps = all(step.op is None or isinstance(step.op, UnaryOp | BinaryOp) for step in structure.steps)
        return ExpressionImpl(request) if are_maps else None
