"""The tasks of Reduce, which are compiled when a plan first needs them."""

from __future__ import annotations

from collections.abc import Iterable

from ep.cpu.engine.form import Launcher
from ep.cpu.engine.loop_nest import LoopNest
from ep.cpu.engine.reduce.plan import Part, ReduceLoops, parts_of
from ep.cpu.primitive.window_reductions import WindowReductions
from ep.include.primitive.primitive import Request


class ReducePrimitive(WindowReductions):
    """The base class of Reduce, which has its compiled code."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._parts: set[Part] = set()  # those that the state has
        self._kinds: set[tuple[int, int]] = set()  # of plans whose parts the state has

    def _compile(self) -> Launcher:
        from ep.cpu.engine.reduce.entry import reduce_launcher

        return reduce_launcher(self._state, self.op, self.data_type)

    def _compile_variants(self) -> None:
        super()._compile_variants()
        self._set_parts(Part)

    def _set_parts(self, parts: Iterable[Part]) -> None:
        from ep.cpu.engine.reduce.kernel import set_reduction

        set_reduction(self._state, self.op, self.data_type, parts)
        self._parts.update(parts)

    _in_parts = True

    def _has_parts(self, plan: LoopNest) -> bool:
        words = plan.words
        return (words[ReduceLoops.by_columns], words[ReduceLoops.plain_rows]) in self._kinds

    def _make_ready(self, plan: LoopNest) -> None:
        if self._has_parts(plan):
            return
        needed, words = parts_of(plan.words, self.op, self.data_type), plan.words
        if not self._parts.issuperset(needed):
            self._compiling(lambda: self._set_parts(needed))
        self._kinds.add((int(words[ReduceLoops.by_columns]), int(words[ReduceLoops.plain_rows])))
