"""The tasks of ArgSort, which are compiled when a plan first needs them."""

from __future__ import annotations

from typing import Any

from ep.common.primitive.sort_keys import key_words
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.reduce.sort_plan import SortPlan, SortState
from ep.cpu.primitive.cpu_primitive import PlannedPrimitive
from ep.include.data_type import DataType
from ep.include.primitive.primitive import Request


class SortPrimitive(PlannedPrimitive):
    """The base class of ArgSort, which has its compiled code."""

    state_record, _in_parts = SortState, True

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._key_words = key_words(request.op, self._types[0])  # type: ignore[arg-type]
        self._tasks: set[bool] = set()  # those that the state has: for one place, and for several

    def _data_types(self, request: Request) -> Any:
        return (*(request.dtypes or ()), DataType.kInt64)

    def _compile(self) -> Launcher:
        from ep.cpu.kernels.arg_sort import arg_sort_launcher

        return arg_sort_launcher()

    def _compile_variants(self) -> None:
        super()._compile_variants()
        for finds_one in (True, False):
            self._set_task(finds_one)

    def _set_task(self, finds_one: bool) -> None:
        from ep.cpu.kernels.arg_sort import set_task

        set_task(self._state, self._types[0], finds_one)
        self._tasks.add(finds_one)

    def _has_parts(self, plan: SortPlan) -> bool:  # type: ignore[override]
        return plan.finds_one in self._tasks

    def _make_ready(self, plan: SortPlan) -> None:  # type: ignore[override]
        if not self._has_parts(plan):
            self._compiling(lambda: self._set_task(plan.finds_one))
