"""Functions of arrays that are called for one step after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ep.common.bounded_cache import BoundedCache
from ep.expressions.folding import FoldingTrace
from ep.expressions.memory import Arena
from ep.expressions.program import Program
from ep.include.arrays import Array, Arrays

Step = Callable[[Sequence[Array], Sequence[Array]], list[Array]]
"""A function that computes one call: (arrays, out). It returns the results, each in its array of `out` if possible."""


class Repeated:
    """A traced function for many calls with arrays of the same shapes: a call checks nothing and allocates little."""

    def __init__(self, function: Callable[..., Sequence[Any]]) -> None:
        """function: accepts arrays, and returns arrays that it computes."""
        self.function, self._programs = function, BoundedCache()

    def begin(self, base: Arrays, arrays: Sequence[Array]) -> Step:
        """Return the function for calls with arrays like the given ones, which one thread may use at a time.

        base: the Arrays of their device. Only arrays that kernels alone read may have other strides than contiguous
        ones. No array of `out` may overlap an array that the call reads.
        """
        key = base.place, *((tuple(one.shape), one.dtype) for one in arrays)
        given, results, program = self._programs.keep(key, lambda: self._traced(base, arrays))
        kept = base.kept()
        run = program.bound(kept, Arena(kept))

        def step(arrays: Sequence[Array], out: Sequence[Array]) -> list[Array]:
            found: list[Array] = run(dict(zip(given, arrays, strict=True)), dict(zip(results, out, strict=True)))
            return found

        return step

    def _traced(self, base: Arrays, arrays: Sequence[Array]) -> tuple[list[int], list[int], Program]:
        trace = FoldingTrace(base.kept(), "a step", {})
        try:
            lazy = [trace.give(None, tuple(one.shape), one.dtype) for one in arrays]
            results = [one.node.position for one in self.function(*lazy)]
            return [one.node.position for one in lazy], results, Program(trace, results, has_memory=True)
        finally:
            trace.end()
