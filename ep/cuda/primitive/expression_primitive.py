"""What Expression on CUDA does with the arrays of a launch: the checks, their layouts, and the words of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.bounded_cache import BoundedCache
from ep.common.buffer_checks import check_dtype, check_plain
from ep.common.primitive.expression_arrays import ExpressionArrays
from ep.common.scalar import is_scalar
from ep.common.stored_types import stored_as
from ep.cuda.arrays.reader import read
from ep.cuda.device.stream import CudaStream
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
from ep.include.errors import ArgumentTypeError, ArgumentValueError
from ep.include.primitive.expression import Expression
from ep.include.primitive.primitive import Request, kMaxNumDims
from ep.include.primitive.structure import Structure


class ExpressionPrimitive(KernelPrimitive, Expression):
    """An Expression that is a map. Sides are its results and sources, in this order."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        structure: Any = request.options["structure"]
        self._structure: Structure = structure
        self._expected = ExpressionArrays(structure)
        self._num_results = num_results = self._expected.num_results
        stored = list(map(stored_as, self._expected.data_types))
        self._numbers = [NumberWords(*types) for types in zip(structure.sources, stored[num_results:], strict=True)]
        self._takes_packs, self._shapes = takes_packs(structure), BoundedCache()
        elements = elements_of_pack(stored[num_results:], stored[:num_results]) if self._takes_packs else 1
        self._elements, self._pack_bytes = elements, [elements * data_type.itemsize for data_type in stored]

    def _kernel(self, variant: Variant) -> Any:
        from ep.cuda.engine.map.kernel import kernel
        from ep.cuda.kernels.expression import functor

        return kernel(functor(self._structure), variant)

    def _usual_variant(self) -> Variant:
        sources, results = self._expected.num_sources, self._num_results
        return Variant(self._elements, (Access.SAME,) * sources, results=(Access.SAME,) * results)

    def _side(self, stream: CudaStream, side: int, value: Any) -> tuple[Any, Layout | None]:
        """The address and the layout of an array, or a `Number`; raises for what is not as the contract has it."""
        name, data_type = self._expected.names[side], self._expected.data_types[side]
        written = side < self._num_results
        if not written and is_scalar(value):
            return self._numbers[side - self._num_results].of(value, name), None
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

    def _made(self, layouts: Sequence[Layout | None]) -> ExpressionShape:
        dims = self._expected.dims([layout.shape if layout else () for layout in layouts])
        itemsizes = [data_type.itemsize for data_type in self._expected.data_types]
        return expression_shape(layouts, itemsizes, self._num_results, dims.whole)

    def _check_overlaps(self, shape: ExpressionShape, sides: Sequence[Any]) -> None:
        places = [
            (0, 0) if type(side) is Number else (side + low, side + high)
            for side, (low, high) in zip(sides, shape.spans, strict=True)
        ]
        self._expected.check_overlaps(places, lambda k, j: sides[k] == sides[j] and shape.are_alike(k, j))

    def _queue_sides(self, stream: CudaStream, shape: ExpressionShape, sides: Sequence[Any]) -> None:
        walk, num_results = shape.walk, self._num_results
        if not walk.num_elements:
            return
        words: list[int] = []
        aligned: list[bool | None] = []
        for side, pack in zip(sides[num_results:], self._pack_bytes[num_results:], strict=True):
            words += side if type(side) is Number else (side, 0)
            aligned.append(None if type(side) is Number else not side % pack)
        for side, pack in zip(sides[:num_results], self._pack_bytes, strict=False):
            words.append(side)
            aligned.append(self._takes_packs and not side % pack)
        plan = walk.plans.get(key := tuple(aligned))
        if plan is None:
            plan = walk.plans[key] = map_plan(walk, key, self._elements, num_results)
        self._queue(stream, plan.variant, plan.num_items, *words, plan.packs, walk.num_elements, 0, 0, *plan.words)
