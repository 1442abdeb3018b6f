"""Fused launches with non-temporal stores read only their operands, whatever values are on the stack."""

from tests.subprocesses import run

LAUNCHES = """
import ctypes
import numpy as np
import ep
from ep.cpu.compile.compiler import compile_task
from ep.common.native.words import load_word, stack_words, store_word
from ep.cpu.machine.calibration import KINDS, Calibration

def litter(context, begin, end):
    words = stack_words(16384)
    for place in range(16384):
        store_word(words, place, 1 << 30)
    store_word(context, 0, load_word(words, begin))

litter = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(compile_task("litter", litter))
found = np.zeros(1, np.int64)

device = ep.DeviceManagerRegistry.GetDevice(ep.DeviceType.kCPU, 0)
device.force_calibration(Calibration((0,) * KINDS, (0,) * KINDS, 4096))

@ep.fuse
def scaled(x, y):
    return ep.ops.exp(x * y) + x

rng = np.random.default_rng(0)
for count in (1009, 70_001, 300_007):
    x, y = rng.random((2, count), np.float32)
    expected = np.exp(x * y) + x
    for _ in range(3):
        litter(found.ctypes.data, 7, 0)
        assert np.allclose(scaled(x, y), expected, rtol=1e-5)
print("done")
"""


def test_a_stack_with_anything_on_it():
    assert run(LAUNCHES) == "done\n"
