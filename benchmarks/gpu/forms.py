"""The forms of kernels that the environment variables EP_CUDA_GRID and EP_CUDA_STORES choose, timed in turns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Final

import numpy as np

from benchmarks.gpu.kinds import kind_of
from benchmarks.gpu.measure import SEED, Bench, Result, in_turn
from benchmarks.gpu.peers import Call
from ep import DeviceType, RequirePrimitive
from ep.bench.all_cases import SETS
from ep.bench.case import Case
from ep.cli.names import factory_of
from ep.common.environment import CUDA_GRID, CUDA_STORES, set_meanwhile

FORMS: Final = {
    "resident, cached": ("resident", "cached"),
    "one pass, cached": ("pass", "cached"),
    "resident, streaming": ("resident", "streaming"),
    "one pass, streaming": ("pass", "streaming"),
}
"""The values of the two variables; the first form is the usual one."""

_CASES: Final = {
    "unary": ("relu", "gelu"),
    "binary": ("add, same shape", "add, row"),
    "expand": ("leading axis", "last axis"),
    "copy_nd": None,
}
"""Names of the core cases by set; None for all."""


def form_cases(size: int, dtype: np.dtype[Any]) -> Iterator[Case]:
    """Yield the cases for which forms are compared: elements, a row that is added, repeated data, and copies."""
    for name, wanted in _CASES.items():
        for case in SETS[name](size, dtype):
            if case.core and (wanted is None or case.name in wanted):
                yield case


class FormBench(Bench):
    """A bench that compares the forms of ep's kernels with each other."""

    def measure(self, case: Case, size: int) -> Result:
        """Return the times of a case in each form; `wrong` names the forms with other results than the usual one."""
        arrays = [np.ascontiguousarray(array) for array in case.make(np.random.default_rng(SEED))]
        sets = self._sets(case, arrays, True)
        out, wrong = sets[0][1].buffer, dict[str, str]()
        calls: dict[str, Call] = {}
        usual: Any = None
        for name, (grid, stores) in FORMS.items():
            with ExitStack() as stack:  # the first launch compiles the kernels
                stack.enter_context(set_meanwhile(CUDA_GRID.name, grid))
                stack.enter_context(set_meanwhile(CUDA_STORES.name, stores))
                primitive = RequirePrimitive(factory_of(case.primitive), DeviceType.kCUDA, *case.key)
                bound = [
                    case.bind(primitive, self._stream, [operand.buffer for operand in inputs], result.buffer)
                    for inputs, result in sets
                ]
                computed = self._computed(bound[0], out)
            if usual is None:
                usual = computed
                if not self._is_right(case, arrays, usual):
                    return self._of_forms(case, {}, {"ep": "differs from NumPy"})
            if np.array_equal(usual.view(np.uint8), computed.view(np.uint8)):
                calls[name] = in_turn(bound)
            else:
                wrong["ep"] = f"{name} differs from the usual form"
        return self._of_forms(case, calls, wrong)

    def _of_forms(self, case: Case, calls: dict[str, Call], wrong: dict[str, str]) -> Result:
        times = self._time(calls, True)
        copied = times.pop("copy", None)
        speed = self._speed(copied) if copied else None
        seconds = {name: found.device.median for name, found in times.items()}
        shares = {name: case.bytes_moved / taken / speed for name, taken in seconds.items()} if speed else {}
        return {"case": case.name, "kind": kind_of(case), "seconds": seconds, "share_of_copy": shares, "wrong": wrong}
