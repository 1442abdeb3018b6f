"""Repeated calls of operators on plain C-contiguous arrays. All launches of a call are one step: a list of launches
(`launch_list.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.native.fields import Int64
from ep.common.native.known_calls import Known, KnownCalls, Step, finding, known_call
from ep.common.native.object_layout import data_address
from ep.common.native.objects import ArrayObject
from ep.cpu.compile.compiler import compile_function
from ep.cpu.compile.jit import jit
from ep.cpu.engine.repeat.launch_list import ListHeader, are_expected, is_free
from ep.cpu.engine.repeat.recording import CpuRecording
from ep.include.arrays import PlannedCall
from ep.include.recording import MOST_TEMPORARY, Repeat

_MOST_ARRAYS: Final = 72  # of a call: operands, results and temporary values


class CpuCallFinder(KnownCalls):
    """The finder of calls on the CPU."""

    def __init__(self) -> None:
        """Compile the function that all finders share, unless this has been done."""
        super().__init__(_finding())

    def known(self, call: PlannedCall, operands: Sequence[Any]) -> Known | None:
        repeat = _repeat(call, operands)
        if repeat is None:
            return None
        launches: Any = repeat.run
        num_operands, num_results, written = len(operands), len(repeat.results), repeat.written
        made = range(1 + len(written) - num_results)  # what the list returns, and the temporary values
        fixed: list[Any] = [*made, *(one for array in written for one in (array.shape, array.dtype))]
        end = len(fixed) + num_operands + num_results
        places = [*range(end - 1, end - 1 - num_results, -1), *made[1:]]
        steps: list[Step] = [
            (np.empty, (shape, shape + 1), place)
            for place, shape in zip(places, range(len(made), len(fixed), 2), strict=True)
        ]
        steps = steps[1 if "out" in call.names else 0 :]
        steps.append((launches, [*range(len(fixed), len(fixed) + num_operands), *places], 0))
        words = launches.__self__.a_words
        words[ListHeader.num_compared] = 0  # `find` compares the operands, and results are made for the list
        of_device = data_address(words), num_operands
        return known_call(call, num_operands, of_device, fixed, made, steps, launches)


def _repeat(call: PlannedCall, operands: Sequence[Any]) -> Repeat | None:
    """Return the launches of a plan; None if a list cannot have them, or if they need too many arrays."""

    def function(arrays: Any, inputs: Any, values: Any) -> Any:
        outputs = [arrays.empty(shape, call.plan.dtype) for shape in call.plan.shapes]
        call.plan(arrays, inputs, outputs)
        return outputs

    if len(operands) + len(call.plan.shapes) > _MOST_ARRAYS:
        return None
    recording = CpuRecording(computes=False)
    repeat = recording.record(function, [np.empty(one.shape, one.dtype) for one in operands], (), (), ())
    temporary = sum(one.nbytes for one in repeat.written[len(call.plan.shapes) :])
    if repeat.run is None or temporary > MOST_TEMPORARY or len(operands) + len(repeat.written) > _MOST_ARRAYS:
        return None
    return repeat


@jit
def _fits(of_device: Int64, operands: Int64, out: ArrayObject) -> bool:
    launches, num_operands = ListHeader.at(of_device[0]), of_device[1]
    if not are_expected(launches, operands, num_operands):
        return False
    return out == 0 or is_free(launches, operands, num_operands, out)


@cache
def _finding() -> int:
    return compile_function("find", finding(jit, _fits), 4)
