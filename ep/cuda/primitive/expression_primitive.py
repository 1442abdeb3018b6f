"""Expression on CUDA and the arrays of a launch: the checks, and their layouts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ep.common.bounded_cache import BoundedCache
from ep.common.buffer_checks import check_dtype, check_plain
from ep.common.primitive.expression_arrays import ExpressionArrays, ExpressionDims
from ep.common.scalar import is_scalar
from ep.common.stored_types import stored_as
from ep.cuda.arrays.reader import read
from ep.cuda.device.stream import CudaStream, check_stream
from ep.cuda.engine.map.expression_plan import ExpressionShape, Layout, expression_shape
from ep.cuda.primitive.cuda_primitive import KernelPrimitive
from ep.cuda.primitive.number_words import Number, NumberWords
from ep.include.errors import ArgumentTypeError, ArgumentValueError
from ep.include.primitive.expression import Expression
from ep.include.primitive.primitive import Request, kMaxNumDims
from ep.include.primitive.structure import Structure
from ep.include.stream import Stream


class ExpressionPrimitive(KernelPrimitive, Expression):
    """The base of Expressions with different kernels. Sides are the results and the sources, in this order.

    Sources may be plain numbers, too, which are words of the launch.
    """

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        structure: Any = request.options["structure"]
        self._structure: Structure = structure
        self._expected = ExpressionArrays(structure)
        self._num_results = self._expected.num_results
        self._numbers = [NumberWords(data_type, stored_as(data_type)) for data_type in structure.sources]
        self._shapes = BoundedCache()

    @abstractmethod
    def _plan(self, layouts: Sequence[Layout | None], dims: ExpressionDims, shape: ExpressionShape) -> Any:
        """Return the plan of the kernels for the layouts of a launch that has elements."""

    @abstractmethod
    def _queue_plan(self, stream: CudaStream, plan: Any, sides: Sequence[Any]) -> None:
        """Queue the kernels of a launch whose sides, each a `Number` or an address, have been checked."""

    def Launch(self, stream: Stream, results: Sequence[Any], sources: Sequence[Any]) -> None:
        stream, given = check_stream(stream), (*results, *sources)
        self._expected.check_number(len(results), len(sources))
        sides, layouts = zip(*[self._side(stream, k, value) for k, value in enumerate(given)], strict=True)
        known = self._shapes.find(*layouts)
        if known is None:
            known = self._made(layouts)
            self._shapes.put(layouts, known)
        shape, plan = known
        self._check_overlaps(shape, sides)
        if plan is not None:
            self._queue_plan(stream, plan, sides)

    def _side(self, stream: CudaStream, side: int, value: Any) -> tuple[Any, Layout | None]:
        """Return the address and the layout of an array, or a `Number`.

        Raises an error for anything that the contract does not permit.
        """
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
                name, f"is at {view.address:#x}, which is not a multiple of {data_type.dtype.alignment} bytes"
            )
        if written and not view.writable:
            raise ArgumentValueError(name, "is read-only")
        if view.device != stream.device_index and 0 not in view.shape:
            raise ArgumentValueError(name, f"is on cuda:{view.device}; the stream is one of cuda:{stream.device_index}")
        if view.before is not None and view.before != stream.handle:
            stream.wait_for(view.before)
        return view.address, Layout(view.shape, view.strides)

    def _made(self, layouts: Sequence[Layout | None]) -> tuple[ExpressionShape, Any]:
        """Return the shape of a launch, and its plan; None if there is nothing to compute."""
        dims = self._expected.dims([layout.shape if layout else () for layout in layouts])
        self._expected.check_distinct([(one.shape, one.steps()) for one in layouts[: self._num_results] if one])
        itemsizes = [data_type.itemsize for data_type in self._expected.data_types]
        shape = expression_shape(layouts, itemsizes, self._num_results, dims.whole, self._expected.chosen)
        return shape, self._plan(layouts, dims, shape) if shape.walk.num_elements else None

    def _check_overlaps(self, shape: ExpressionShape, sides: Sequence[Any]) -> None:
        places = [
            (0, 0) if type(side) is Number else (side + low, side + high)
            for side, (low, high) in zip(sides, shape.spans, strict=True)
        ]
        self._expected.check_overlaps(places, lambda k, j: sides[k] == sides[j] and shape.are_alike(k, j))
