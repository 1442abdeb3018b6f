"""lazy: a block of assignments to arrays, computed at its end in few kernels."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

from ep.common.arrays.checks import DTYPES
from ep.common.bounded_cache import BoundedCache
from ep.expressions.array import LazyArray
from ep.expressions.program import Program
from ep.expressions.trace import Trace
from ep.include.arrays import ArrayLike, Arrays
from ep.ops.devices import arrays_of
from ep.run.explanation import Explanation


def lazy(*, round_each: bool = False) -> Block:
    """Return a block of assignments: `with ep.lazy() as lazy:`, in which `lazy.view(array)` returns a lazy array that
    can be assigned to.

    round_each: as for `fuse`.

    Assignments take effect in the order of the lines: reading a view gives the value that was assigned to it before.
    Everything is computed at the end of the block, and nothing if the block ends with an exception.
    """
    return Block(round_each)


_View = tuple[Any, Any, Any]
"""The object that was given, its array, and the view. A plain tuple, since a block makes one for each view."""


class _Assignments:
    """What blocks that have recorded the same assign.

    inputs: the positions of numbers. numbers: of the views that are assigned to. positions: of their values. is_direct:
    whether kernels write all values in the memory of the views.
    """

    def __init__(self, trace: Trace, views: list[_View], numbers: list[int], round_each: bool) -> None:
        self.numbers, self.positions = numbers, [views[k][2].node.position for k in numbers]
        self.program, self.inputs = Program(trace, self.positions, round_each), [*trace.numbers]
        into = {one: views[k][2].view for k, one in zip(numbers, self.positions, strict=True)}
        self.is_direct = len(into) == len(numbers) and self.program.writes_all(into)


_KNOWN: Final = BoundedCache(lambda assignments: assignments.program.holds)
"""The assignments of blocks, by what they have recorded."""


class Block:
    """The context manager that `lazy` returns."""

    def __init__(self, round_each: bool) -> None:
        self._round_each, self._state = round_each, "has not begun"
        self._trace: Any = None
        self._views: list[_View] = []
        # of all views so far: whether they are C-contiguous ndarrays, and in different memory
        self._are_plain = self._are_apart = True

    def __enter__(self) -> Block:
        if self._state != "has not begun":
            raise RuntimeError(f"the block {self._state}; each needs an ep.lazy() of its own")
        self._state = "is open"
        return self

    def view(self, array: ArrayLike) -> Any:
        """Return a lazy array that reads `array` when the block ends, and can be assigned to; nothing is copied.

        array: an array on the same device as the earlier views, with any strides.
        """
        trace, views = self._trace, self._views
        if trace is None or self._state != "is open":
            trace = self._begin(array)
        is_plain = type(array) is np.ndarray and array.flags.c_contiguous and array.dtype in DTYPES
        buffer = array if is_plain and trace.base.takes_host_arrays else self._read(array, trace)
        for _, other, lazy in views:
            if other is buffer:
                return lazy
            if trace.base.may_share_memory(other, buffer):
                if trace.base.is_same(other, buffer):
                    return lazy
                self._are_apart = False
        made = trace.give(buffer, tuple(buffer.shape), buffer.dtype)
        made.view = made.node.position
        self._are_plain &= is_plain
        views.append((array, buffer, made))
        self._trace = trace
        return made

    def _begin(self, array: ArrayLike) -> Trace:
        """Return a trace with nothing recorded, for the first view."""
        if self._state != "is open":
            raise RuntimeError(f"the block {self._state}; views are made in it")
        base: Any = arrays_of((array,), ("array",))
        return Trace(base, "a block", LazyArray, numbers_vary=True)

    def _read(self, array: ArrayLike, trace: Trace) -> Any:
        """Return the array for a view; raises an error if there is none that can be written."""
        base: Any = arrays_of((array,), ("array",))
        if not isinstance(base, Arrays):
            raise TypeError(f"array is on {base.place}, where nothing is written in place; use ep.fuse")
        if base.place != trace.base.place:
            raise TypeError(f"array is on {base.place}, the views before are on {trace.base.place}")
        evenly = not isinstance(array, np.ndarray) or all(stride % array.itemsize == 0 for stride in array.strides)
        if not evenly:
            raise ValueError(f"array has strides {array.strides}, which are not multiples of its elements' bytes")
        buffer: Any = base.as_view(array, "array")
        if buffer is not array and getattr(getattr(buffer, "flags", None), "owndata", False):
            raise TypeError(
                f"array ({type(array).__qualname__}) can only be read as a copy; a view needs an array in memory, in "
                f"native byte order, which DLPack exports C-contiguous"
            )
        return buffer

    def explain(self) -> Explanation:
        """Return the kernels of the assignments so far, as `Fused.explain` does."""
        assignments = self._assignments()
        if assignments is None:
            return Explanation((), {})
        names = {lazy.view: f"view {k}" for k, (_, _, lazy) in enumerate(self._views) if lazy.view is not None}
        return assignments.program.explain(names)

    def __exit__(self, kind: Any, *error: Any) -> None:
        self._state = "has ended"
        trace = self._trace
        if trace is None:
            return
        try:
            assignments = self._assignments() if kind is None else None
            if assignments is not None:
                self._run(trace, assignments)
        finally:
            trace.end()
            self._views.clear()

    def _assignments(self) -> _Assignments | None:
        """Return what the block assigns; None if it assigns nothing."""
        trace, views = self._trace, self._views
        positions = tuple([lazy.node.position for _, _, lazy in views])
        numbers = [k for k, (_, _, lazy) in enumerate(views) if positions[k] != lazy.view]
        if not numbers:
            return None
        make = partial(_Assignments, trace, views, numbers, self._round_each)
        return _KNOWN.keep((self._round_each, positions, trace.key), make)

    def _run(self, trace: Any, assignments: _Assignments) -> None:
        views, program, base = self._views, assignments.program, trace.base
        if not self._are_apart:
            self._check_overlaps(assignments.numbers)
        given, inputs = trace.given, assignments.inputs
        given.update(zip(inputs, map(base.number, map(given.__getitem__, inputs)), strict=True))
        assigned = [views[k] for k in assignments.numbers]
        if assignments.is_direct and self._are_plain and all(array.flags.writeable for _, array, _ in assigned):
            direct = {one: array for one, (_, array, _) in zip(assignments.positions, assigned, strict=True)}
            program.computed(base, given, direct)
            return
        # read again, after the work that other libraries have queued in the block
        given.update({lazy.view: base.as_view(source, "array") for source, _, lazy in views})
        into = dict[int, tuple[str, Any]]()
        for k, position in zip(assignments.numbers, assignments.positions, strict=True):
            name, target = f"view {k}", views[k][0]
            if into.setdefault(position, (name, target))[1] is not target:
                program.target(base, position, name, target)
        program.run(base, given, into)
        for position, (target, _, _) in zip(assignments.positions, assigned, strict=True):
            written = into[position][1]
            if written is not target:  # of several views with one value, only the first was written above
                base.delivered(written, target)

    def _check_overlaps(self, numbers: list[int]) -> None:
        """Raise ValueError if a view that is assigned to overlaps another one; numbers: those of such views."""
        views, base = self._views, self._trace.base
        for k in numbers:
            for j, (_, other, _) in enumerate(views):  # each two views once
                if (j < k or j not in numbers) and j != k and base.may_share_memory(views[k][1], other):
                    raise ValueError(f"view {k} is assigned to and overlaps view {j}; copy one of them")
