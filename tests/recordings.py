"""A check of recorded launches: they compute what Python has computed, in memory with other contents."""

import numpy as np

from ep.expressions.program import Program
from ep.expressions.repetition import Repetition
from ep.include.device_type import DeviceType

_RECORDED, _COMPUTED = Repetition._recorded, Program.computed
_POISON = 0xA5


def _recorded(self, base, given, arena, launched):
    """Record a call. On the CPU, launches that are not all that the call does fail here."""
    found = _RECORDED(self, base, given, arena, launched)
    if self.recorded is None or base.device_type is not DeviceType.kCPU:
        return found
    written = [base.empty(*one) for one in self.recorded.written]
    expected = [_bytes(one) for one in _COMPUTED(self._program, base, given, (), arena)]
    for one in (*written, *arena.blocks):
        one.reshape(-1).view(np.uint8)[...] = _POISON
    repeated = self.recorded.run(given, written)
    # launches are refused for indices that Python must look at
    assert repeated is None or [_bytes(one) for one in repeated] == expected
    assert [_bytes(one) for one in found] == expected
    return found


def _bytes(array):
    return array.tobytes()


def check_recordings(patch):
    """Check each recording from now on. patch: a MonkeyPatch, whose end is that of the checks."""
    patch.setattr(Repetition, "_recorded", _recorded)
