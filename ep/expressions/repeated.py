"""Functions of arrays that are called for one step after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ep.common.bounded_cache import BoundedCache
from ep.expressions.folding import FoldingTrace
from ep.expressions.memory import Arena
from ep.expressions.program import Program
from ep.include.arrays import Array, Arrays

Step = Callable[[Sequence[Array], Sequence[Array]], list[Array]]
"""A function that computes one call: (arrays, out). It returns the results, each in its array of `out` if possible."""


class _Traced(NamedTuple):
    """given, results: the positions of the arrays of a call, and of its results. free: functions that nobody uses, each
    after the body that it runs."""

    given: Sequence[int]
    results: Sequence[int]
    program: Program
    free: list[tuple[Any, Step]]


class Repeated:
    """A traced function for many calls with arrays of the same shapes: a call checks nothing and allocates little."""

    def __init__(self, function: Callable[..., Sequence[Any]]) -> None:
        """function: accepts arrays, and returns arrays that it computes."""
        self.function, self._programs = function, BoundedCache()

    @contextmanager
    def steps(self, base: Arrays, arrays: Sequence[Array]) -> Iterator[Step]:
        """Return the function for calls with arrays like the given ones, which one thread may use at a time.

        base: the Arrays of their device. Only arrays that kernels alone read may have other strides than contiguous
        ones. No array of `out` may overlap an array that the call reads.
        """
        key = base.place, *((tuple(one.shape), one.dtype) for one in arrays)
        traced: _Traced = self._programs.keep(key, lambda: self._traced(base, arrays))
        body = traced.program.renewed()
        try:
            of_body, step = traced.free.pop()
        except IndexError:
            of_body = None
        if of_body is not body:
            step = _step(base.kept(), traced)
        yield step
        traced.free.append((body, step))  # not after an error: another call may be under way in its memory

    def _traced(self, base: Arrays, arrays: Sequence[Array]) -> _Traced:
        trace = FoldingTrace(base.kept(), "a step", {})
        try:
            lazy = [trace.give(None, tuple(one.shape), one.dtype) for one in arrays]
            results = [one.node.position for one in self.function(*lazy)]
            program = Program(trace, results, has_memory=True)
            return _Traced([one.node.position for one in lazy], results, program, [])
        finally:
            trace.end()


def _step(base: Arrays, traced: _Traced) -> Step:
    """Return a new function for the calls of a program."""
    given, results, program, _ = traced
    run = program.bound(base, Arena(base))

    def step(arrays: Sequence[Array], out: Sequence[Array]) -> list[Array]:
        found: list[Array] = run(dict(zip(given, arrays, strict=True)), dict(zip(results, out, strict=True)))
        return found

    return step
