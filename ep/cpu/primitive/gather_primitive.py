"""The base class of Gather and BatchGather on the CPU: the move engine, by rows that indices select."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.primitive import signatures
from ep.common.primitive.gather_view import as_gather_sizes
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.move.gather_state import GatherState
from ep.cpu.engine.move.size_class import SIZE_CLASSES, size_class
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.include.primitive.primitive import Request


class GatherPrimitive(CpuPrimitive):
    """Gather is BatchGather of one batch."""

    signature, state_record = signatures.BATCH_GATHER, GatherState

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.params_type, self.indices_type = request.dtypes or ()

    def _compile(self) -> Launcher:
        from ep.cpu.engine.move.entry import gather_launcher

        return gather_launcher(self._state, self.indices_type)

    def _compile_variants(self) -> None:
        for of_class in SIZE_CLASSES:
            self._need_mover(of_class)

    def _need_mover(self, of_class: int) -> None:
        if not self._words[GatherState.movers + of_class]:
            self._compiling(lambda: self._set_mover(of_class))

    def _set_mover(self, of_class: int) -> None:
        from ep.cpu.engine.move.gather_rows import mover

        self._words[GatherState.movers + of_class] = mover(self.indices_type, of_class)

    def _checked_numbers(self, *numbers: Any) -> tuple[int, ...]:
        return as_gather_sizes(*numbers)

    def _launch_numbers(self, stream: Any, numbers: tuple[int, ...], buffers: Sequence[Any]) -> None:
        _, _, gather, inner, _, _ = numbers
        *_, num_out = counts = self.signature.counts(numbers)
        buffers = self._checked(stream, buffers, counts)
        if num_out == 0:
            return
        if gather == 0:  # no index selects a row
            self._fill(stream, buffers[-1], 0, num_out)
            return
        self._need_mover(size_class(inner * self.params_type.itemsize))
        self._run(stream, None, *numbers, *buffers)
