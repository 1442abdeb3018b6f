"""Expression on the CPU: a kernel by structure and classes of strides, and a plan by shapes and strides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ep.common.bounded_cache import BoundedCache
from ep.common.primitive.broadcast import Dims
from ep.cpu.device.buffers import check_stream
from ep.cpu.device.stream import CpuStream
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.device_type import DeviceType
from ep.include.errors import Argument, ArgumentTypeError, ArgumentValueError
from ep.include.primitive.expression import Expression, ExpressionFactory, Structure, kMaxOperands, kMaxRow
from ep.include.primitive.primitive import Request, kMaxNumDims
from ep.include.primitive.registry import register_primitive_factory
from ep.include.stream import Stream

_NO_MEMORY: Final = 2  # what the entry returns then


class ExpressionImpl(CpuPrimitive, Expression):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        structure: Any = request.options["structure"]
        self._structure: Structure = structure
        reduced = structure.are_reduced() if structure.has_rows else []
        self._reduces_alone = structure.reduces_alone
        of_arrays = (*structure.results, *range(len(structure.sources)))
        self._is_reduced = [bool(reduced) and reduced[value] for value in of_arrays]
        self._plans = BoundedCache()
        self._plan: Any = None  # of the launch before, which the next one tries first
        self._entry: Callable[..., int] = lambda *args: 1  # until it is compiled

    def _data_types(self, request: Request) -> Any:
        return ()  # the plan has them

    def _set_launcher(self, launcher: Any) -> None:
        """There is a compiled check of its own, of arrays with strides."""

    def _compile(self) -> Any:
        from ep.cpu.engine.map.strided import strided_entry

        self._entry = strided_entry()

    def _enter(self, plan: Any, *args: Any) -> bool:
        refused = self._entry(self._words, plan, *args)
        if refused == _NO_MEMORY:
            raise MemoryError("there is no memory for what goes from stage to stage; results are written in part")
        return refused != 0

    def Launch(self, stream: Stream, results: Sequence[Any], sources: Sequence[Any]) -> None:
        arrays, plan = (*results, *sources), self._plan
        if plan is None or type(stream) is not CpuStream or self._enter(plan.words, arrays):
            self._launch_arrays(stream, arrays, len(results))

    def _launch_arrays(self, stream: Any, arrays: tuple[Any, ...], num_results: int) -> None:
        """Check a launch in Python, then do it."""
        check_stream(stream)
        shape = self._check(arrays, num_results)
        if 0 in shape:
            return
        key = tuple((array.shape, array.strides) for array in arrays)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans.keep(key, lambda: self._made(arrays, num_results, shape))
        self._plan = plan
        self._run(plan.words, tuple(map(_plain, arrays, self._types_of_all())))

    def _made(self, arrays: tuple[Any, ...], num_results: int, shape: Dims) -> Any:
        made: list[Any] = []

        def make() -> None:
            plain = tuple(map(_plain, arrays, self._types_of_all()))
            if self._structure.has_rows:
                from ep.cpu.kernels.row_expression import StagesPlan

                reduced = self._reduced_shape(arrays, num_results, shape)
                made.append(StagesPlan(self._structure, plain, shape, reduced, self._by_rows(shape, reduced)))
                return
            from ep.cpu.engine.map.strided import StridedPlan
            from ep.cpu.kernels.expression import expression_kernel

            plan = StridedPlan(plain, num_results, shape)
            plan.set(task=expression_kernel(self._structure, plan.steps))
            made.append(plan)

        self._compiling(make)
        return made[0]

    def _types_of_all(self) -> list[np.dtype[Any]]:
        structure = self._structure
        values = (*structure.results, *range(len(structure.sources)))
        return [structure.data_type(value).dtype for value in values]

    def _check(self, arrays: tuple[Any, ...], num_results: int) -> Dims:
        """Return the shape that all arrays broadcast to; raises for arrays that are not as the contract has them."""
        types = self._types_of_all()
        names = [f"results[{k}]" for k in range(num_results)]
        names += [f"sources[{k}]" for k in range(len(arrays) - num_results)]
        if num_results != len(self._structure.results) or len(arrays) != len(types):
            expected = f"{len(self._structure.results)} results and {len(self._structure.sources)} sources"
            raise ValueError(f"{num_results} results and {len(arrays) - num_results} sources; it takes {expected}")
        if len(arrays) > kMaxOperands:
            raise ValueError(f"there are {len(arrays)} arrays; a launch takes {kMaxOperands} at most")
        for array, name, dtype in zip(arrays, names, types, strict=True):
            if not isinstance(array, np.ndarray):
                raise ArgumentTypeError(name, f"must be a numpy.ndarray, not {type(array).__qualname__}")
            if array.dtype != dtype:
                raise ArgumentTypeError(name, f"has dtype {array.dtype}; it must be {dtype}")
            if array.ndim > kMaxNumDims:
                raise ArgumentValueError(name, f"has {array.ndim} dims; it may have {kMaxNumDims} at most")
            if any(stride % array.itemsize for stride in array.strides):
                raise ArgumentValueError(
                    name, f"has strides {array.strides}, which are no multiples of its elements' bytes"
                )
        shape = self._shape_of(arrays, names)
        reduced = self._reduced_shape(arrays, num_results, shape)
        if self._structure.has_rows and not self._by_rows(shape, reduced):
            goes = [size for size, one in zip(shape, reduced, strict=True) if one != size]
            if not self._reduces_alone or 0 in goes or not goes:
                raise ArgumentValueError(
                    names[0], f"and all others broadcast to {shape}; rows have 1 to {kMaxRow} elements"
                )
        for k, (array, name) in enumerate(zip(arrays, names, strict=True)):
            if k < num_results and not array.flags.writeable:
                raise ArgumentValueError(name, "is read-only")
            wanted = reduced if self._is_reduced[k] else shape
            if k < num_results and array.shape != wanted:
                raise ArgumentValueError(name, f"has shape {array.shape}; it must be {wanted}")
            if self._is_reduced[k] and np.broadcast_shapes(array.shape, reduced) != reduced:
                raise ArgumentValueError(name, f"has shape {array.shape}; it must broadcast to {reduced}")
        for k in range(num_results):
            for j, other in enumerate(arrays):
                may_be = j == k or (j >= num_results and _is_same(arrays[k], other))
                if not may_be and np.may_share_memory(arrays[k], other):
                    raise ArgumentValueError(
                        names[k], "overlaps", Argument(names[j]), "and is not the same elements in the same order"
                    )
        return shape

    def _shape_of(self, arrays: tuple[Any, ...], names: Sequence[str]) -> Dims:
        """The shape that all arrays broadcast to: that of the first result, where there are no rows."""
        shape: Dims = arrays[0].shape
        has_rows = self._structure.has_rows
        for array, name in zip(arrays, names, strict=True):
            try:
                joined = np.broadcast_shapes(shape, array.shape)
            except ValueError:
                joined = None
            if joined is None or (not has_rows and joined != shape):
                raise ArgumentValueError(name, f"has shape {array.shape}, which does not broadcast to {shape}")
            shape = joined
        return shape

    def _reduced_shape(self, arrays: tuple[Any, ...], num_results: int, shape: Dims) -> Dims:
        """The shape of a launch with 1 along the axes that go: those where a reduced result has that."""
        for array, is_reduced in zip(arrays[:num_results], self._is_reduced, strict=False):
            if is_reduced and array.ndim == len(shape):
                return tuple(1 if size == 1 else whole for size, whole in zip(array.shape, shape, strict=True))
        return (*shape[:-1], 1) if shape else ()

    def _by_rows(self, shape: Dims, reduced: Dims) -> bool:
        """Whether what goes is the last axis alone, and short."""
        return bool(shape) and reduced == (*shape[:-1], 1) and 0 < shape[-1] <= kMaxRow


def _is_same(one: Any, other: Any) -> bool:
    """Whether two arrays are the same elements in the same order."""
    place, layout = one.__array_interface__["data"][0], (one.shape, one.strides, one.itemsize)
    same: bool = place == other.__array_interface__["data"][0]
    return same and layout == (other.shape, other.strides, other.itemsize)


def _plain(array: Any, dtype: np.dtype[Any]) -> Any:
    """The array as the entry takes it: an ndarray, of the dtype object that a DataType has."""
    plain = array if type(array) is np.ndarray else array.view(np.ndarray)
    return plain if plain.dtype is dtype else plain.view(dtype)


@register_primitive_factory(DeviceType.kCPU, ExpressionFactory)
class ExpressionFactoryImpl(ExpressionFactory):
    def Select(self, request: Request) -> Expression:
        return ExpressionImpl(request)
