"""The part of Expression on the CPU for launches that differ from the previous one: checks and plans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ep.common.bounded_cache import BoundedCache
from ep.common.native.object_layout import data_address
from ep.common.primitive.expression_arrays import ExpressionArrays, ExpressionDims
from ep.common.primitive.strides import span
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.cpu.shared.context import NO_MEMORY, NO_MEMORY_TEXT
from ep.cpu.shared.listed import STRIDED, Listed
from ep.include.errors import ArgumentTypeError, ArgumentValueError
from ep.include.primitive.expression import Expression
from ep.include.primitive.primitive import Request, kMaxNumDims
from ep.include.primitive.structure import Structure


class ExpressionPrimitive(CpuPrimitive, Expression):
    """An Expression with an entry of its own, which checks launches of arrays with strides."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        structure: Any = request.options["structure"]
        self._structure: Structure = structure
        self._expected = ExpressionArrays(structure)
        self._plans = BoundedCache()
        self._plan: Any = None  # of the previous launch; the next one tries it first
        self._entry: Callable[..., int] = lambda *args: 1  # until it is compiled

    def _data_types(self, request: Request) -> Any:
        return ()  # the plan has them

    def _set_launcher(self, launcher: Any) -> None:
        """Do nothing: the entry has a compiled check of its own."""

    def _compile(self) -> Any:
        from ep.cpu.engine.map.strided import strided_entry

        self._entry = strided_entry()

    def _enter(self, plan: Any, *args: Any) -> bool:
        refused = self._entry(self._words, plan, *args)
        if refused == NO_MEMORY:
            raise MemoryError(NO_MEMORY_TEXT)
        return refused != 0

    def _launch_arrays(self, stream: Any, arrays: tuple[Any, ...], num_results: int) -> None:
        """Check a launch in Python, then do it. arrays: results first."""
        self._expected.check_number(num_results, len(arrays) - num_results)
        for position, array in enumerate(arrays):
            self._check_array(position, array)
        dims = self._expected.dims([array.shape for array in arrays])
        if 0 in dims.whole or (num_results and 0 in arrays[0].shape):
            return
        self._check_overlaps(arrays)
        plain = tuple(map(_plain, arrays, self._expected.data_types))
        key = tuple((array.shape, array.strides) for array in arrays)
        plan = self._plans.get(key)
        if plan is None:
            self._expected.check_distinct(
                [(array.shape, tuple(stride // array.itemsize for stride in array.strides)) for array in arrays]
            )
            plan = self._plans.keep(key, lambda: self._made(plain, dims))
        self._plan = plan
        self._run(stream, plan, plain)

    def listed(self, plan: Any, args: tuple[Any, ...]) -> Listed | None:
        (arrays,) = args
        count = self._expected.num_results
        in_place = any(np.may_share_memory(one, other) for one in arrays[:count] for other in arrays[count:])
        places = np.array([data_address(array) for array in arrays])
        given, all_places = (self._state.address, plan.address, int(in_place)), range(len(arrays))
        return Listed(STRIDED, given, places, all_places, all_places)

    def _check_array(self, position: int, array: Any) -> None:
        """Raise TypeError or ValueError for anything but an array that the entry can receive."""
        name, dtype = self._expected.names[position], self._expected.data_types[position].dtype
        if not isinstance(array, np.ndarray):
            raise ArgumentTypeError(name, f"must be a numpy.ndarray, not {type(array).__qualname__}")
        if array.dtype != dtype:
            raise ArgumentTypeError(name, f"has dtype {array.dtype}; it must be {dtype}")
        if array.ndim > kMaxNumDims:
            raise ArgumentValueError(name, f"has {array.ndim} dims; it may have {kMaxNumDims} at most")
        if any(stride % array.itemsize for stride in array.strides):
            raise ArgumentValueError(
                name, f"has strides {array.strides}, which are not multiples of its elements' bytes"
            )
        if position in self._expected.contiguous and not array.flags.c_contiguous:
            raise ArgumentValueError(name, f"has strides {array.strides}; it must be C-contiguous")
        if position < self._expected.num_results and not array.flags.writeable:
            raise ArgumentValueError(name, "is read-only")

    def _check_overlaps(self, arrays: tuple[Any, ...]) -> None:
        addresses = [data_address(array) for array in arrays]
        layouts = [(array.shape, array.strides, array.itemsize) for array in arrays]
        places = []
        for address, (shape, strides, itemsize) in zip(addresses, layouts, strict=True):
            first, last = span(shape, strides)
            places.append((address + first, address + last + itemsize))
        self._expected.check_overlaps(places, lambda k, j: (addresses[k], layouts[k]) == (addresses[j], layouts[j]))

    def _made(self, arrays: tuple[Any, ...], dims: ExpressionDims) -> Any:
        """Return the plan of a launch, and the compiled launcher that it calls."""
        made: list[Any] = []

        def make() -> None:
            from ep.cpu.kernels.expression_plan import expression_plan

            made.append(expression_plan(self._structure, arrays, dims))

        self._compiling(make)
        return made[0]


def _plain(array: Any, data_type: Any) -> Any:
    """Return the array in the form that the entry receives: an ndarray with the DataType's own dtype object."""
    plain = array if type(array) is np.ndarray else array.view(np.ndarray)
    return plain if plain.dtype is data_type.dtype else plain.view(data_type.dtype)
