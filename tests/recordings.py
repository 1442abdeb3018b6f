"""A check of recorded launches: they compute what Python has computed, in memory with other contents."""

import numpy as np

from ep.expressions.program import Program
from ep.expressions.repetition import Repetition
from ep.include.device_type import DeviceType

_COMPUTED, _IN_PYTHON = Repetition.computed, Program.computed
_POISON = 0xA5


def _computed(self, base, given, lowered, arena=None, launched=None):
    """Compute a call, and record it, even if it is the first one. On the CPU, launches that are not all that the call
    does fail here."""
    before, self._has_run = self.recorded, self._has_run or arena is None
    found = _COMPUTED(self, base, given, lowered, arena, launched)
    if self.recorded in (None, before) or base.device_type is not DeviceType.kCPU:
        return found
    expected = [
        _bytes(one) for one in _IN_PYTHON(self._program, base, given, (), lowered, arena.arrays if arena else ())
    ]
    empty = self._empty

    def poisoned(*shape_and_dtype):
        array = empty(*shape_and_dtype)
        array.reshape(-1).view(np.uint8)[...] = _POISON
        return array

    for one in arena.blocks if arena is not None else ():
        one.reshape(-1).view(np.uint8)[...] = _POISON
    self._empty = poisoned
    repeated = self.repeated(base, *given.values())
    self._empty = empty
    # launches are refused for indices that Python must look at
    assert repeated is None or [_bytes(one) for one in repeated] == expected
    assert [_bytes(one) for one in found] == expected
    return found


def _bytes(array):
    return array.tobytes()


def check_recordings(patch):
    """Check each recording from now on. patch: a MonkeyPatch, whose end is that of the checks."""
    patch.setattr(Repetition, "computed", _computed)
