"""Reduce on the CPU: the reduce engine, by rows or by columns; its tasks are compiled when a plan first needs them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.keys import REDUCE
from ep.common.primitive.reduce_shape import as_reduce_shape, check_reduces_something, of_nothing
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.loop_nest import LoopNest
from ep.cpu.engine.reduce.plan import Part, ReduceLoops, parts_of, reduce_plan
from ep.cpu.engine.reduce.state import ReduceState
from ep.cpu.primitive.window_reductions import WindowReductions
from ep.include.device_type import DeviceType
from ep.include.primitive.implements import implements
from ep.include.primitive.op_table import REDUCTIONS
from ep.include.primitive.primitive import Request
from ep.include.primitive.reduce import ReduceFactory


@implements(ReduceFactory, on=DeviceType.kCPU, keys=REDUCE)
class ReduceImpl(WindowReductions):
    signature, state_record, _in_parts = signatures.REDUCE, ReduceState, True

    def __init__(self, request: Request) -> None:
        self.op, (self.data_type,) = request.op, request.dtypes  # type: ignore[assignment, misc]
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

    def _data_types(self, request: Request) -> Any:
        return self.data_type, REDUCTIONS[self.op].result_type(self.data_type)

    def _launch_dims(self, stream: Any, dims: tuple[Any, Any], buffers: Any, data_type: Any = None) -> None:
        shape = as_reduce_shape(*dims, self.request.max_num_dims)
        counts = shape.counts()
        if 0 in counts:
            _, result = self._checked(stream, buffers, counts)
            check_reduces_something(self.op, shape)
            self._fill(stream, result, of_nothing(self.op), counts[1])
            return
        axes = shape.simplified()

        def make() -> LoopNest:
            return reduce_plan(self.signature, self.op, self.data_type, axes, counts)

        self._launch_planned(stream, shape, counts, buffers, make)
