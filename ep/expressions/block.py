"""lazy: a block of assignments to arrays, computed at its end in few kernels."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ep.common.bounded_cache import BoundedCache
from ep.expressions.array import LazyArray
from ep.expressions.explanation import Explanation
from ep.expressions.program import Program
from ep.expressions.trace import Trace
from ep.include.arrays import ArrayLike, Arrays
from ep.ops.devices import arrays_of

_PROGRAMS: Final = BoundedCache()  # programs of blocks, by the recorded operators


def lazy(*, round_each: bool = False) -> Block:
    """Return a block of assignments: `with ep.lazy() as lazy:`, in which `lazy.view(array)` returns a lazy array that
    can be assigned to.

    round_each: as for `fuse`.

    Assignments take effect in the order of the lines: reading a view gives the value that was assigned to it before.
    Everything is computed at the end of the block, and nothing if the block ends with an exception.
    """
    return Block(round_each)


class Block:
    """The context manager that `lazy` returns."""

    def __init__(self, round_each: bool) -> None:
        self._round_each, self._state = round_each, "has not begun"
        self._trace: Any = None
        self._views: list[tuple[Any, Any, LazyArray]] = []  # the given object, its array, and its view

    def __enter__(self) -> Block:
        if self._state != "has not begun":
            raise RuntimeError(f"the block {self._state}; each needs an ep.lazy() of its own")
        self._state = "is open"
        return self

    def view(self, array: ArrayLike) -> Any:
        """Return a lazy array that reads `array` when the block ends, and can be assigned to; nothing is copied.

        array: an array on the same device as the earlier views, with any strides.
        """
        if self._state != "is open":
            raise RuntimeError(f"the block {self._state}; views are made in it")
        base: Any = arrays_of((array,), ("array",))
        if not isinstance(base, Arrays):
            raise TypeError(f"array is on {base.place}, where nothing is written in place; use ep.fuse")
        if self._trace is not None and base.place != self._trace.base.place:
            raise TypeError(f"array is on {base.place}, the views before are on {self._trace.base.place}")
        evenly = not isinstance(array, np.ndarray) or all(stride % array.itemsize == 0 for stride in array.strides)
        if not evenly:
            raise ValueError(f"array has strides {array.strides}, which are not multiples of its elements' bytes")
        buffer: Any = base.as_view(array, "array")
        if buffer is not array and getattr(getattr(buffer, "flags", None), "owndata", False):
            raise TypeError(
                f"array ({type(array).__qualname__}) can only be read as a copy; a view needs an array in memory, in "
                f"native byte order, which DLPack exports C-contiguous"
            )
        if self._trace is None:
            self._trace = Trace(base, "a block", LazyArray, numbers_vary=True)
        for _, other, view in self._views:
            if other is buffer or base.is_same(buffer, other):
                return view
        made: LazyArray = self._trace.give(buffer, tuple(buffer.shape), buffer.dtype)
        made.view = made.node.position
        self._views.append((array, buffer, made))
        return made

    def explain(self) -> Explanation:
        """Return the kernels of the assignments so far, as `Fused.explain` does."""
        program = self._program()
        if program is None:
            return Explanation((), (), (), {})
        names = {view.view: f"view {k}" for k, (_, _, view) in enumerate(self._views) if view.view is not None}
        return program.schedule.explain(names)

    def __exit__(self, kind: Any, *error: Any) -> None:
        self._state = "has ended"
        trace = self._trace
        if trace is None:
            return
        try:
            program = self._program() if kind is None else None
            if program is not None:
                self._run(trace, program)
        finally:
            trace.end()
            self._views.clear()

    def _assigned(self) -> list[tuple[int, Any, LazyArray]]:
        """Return the number of each view that was assigned to, its array, and the view itself."""
        return [(k, array, view) for k, (_, array, view) in enumerate(self._views) if view.node.position != view.view]

    def _program(self) -> Program | None:
        assigned = self._assigned()
        if self._trace is None or not assigned:
            return None
        trace, results = self._trace, [view.node.position for _, _, view in assigned]
        key = trace.base.place, trace.key, tuple(results), self._round_each
        return _PROGRAMS.keep(key, lambda: Program(trace, results, self._round_each))

    def _run(self, trace: Any, program: Program) -> None:
        base, into = trace.base, dict[int, tuple[str, Any]]()
        assigned = self._assigned()
        numbers = {k for k, _, _ in assigned}
        for k, array, view in assigned:
            for j, (_, other, _) in enumerate(self._views):  # each two views once
                if (j < k or j not in numbers) and j != k and base.may_share_memory(array, other):
                    raise ValueError(f"view {k} is assigned to and overlaps view {j}; copy one of them")
            into.setdefault(view.node.position, (f"view {k}", array))
        given = {k: base.number(one) if k in trace.numbers else one for k, one in trace.given.items()}
        # read again, after the work that other libraries have queued in the block
        given.update({view.view: base.as_view(array, "array") for array, _, view in self._views})
        program.run(base, given, into)
        for _, array, view in assigned:  # of several views with one value, the first was written above
            written = into[view.node.position][1]
            if written is not array:
                base.delivered(written, array)
