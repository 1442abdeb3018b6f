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


ROWS = """
import numpy as np
import ep
from ep.cpu.kernels import row_expression
from ep.cpu.machine.calibration import NEVER, everywhere

device = ep.DeviceManagerRegistry.GetDevice(ep.DeviceType.kCPU, 0)
row_expression.last_level_caches = lambda num_threads: 0

@ep.fuse
def normalised(x, w):
    total = x * w
    d = total - ep.ops.mean(total, -1, keepdims=True)
    return d * ep.ops.rsqrt(ep.ops.mean(d * d, -1, keepdims=True) + 1e-5), total, ep.ops.softmax(d), ep.ops.max(d, -1)

rng = np.random.default_rng(0)
for dtype in (np.float32, np.float64):
    for columns in (1024, 1051):
        x, w = rng.random((67, columns + 1)).astype(dtype)[:, 1:], rng.random(columns).astype(dtype)
        memory = [np.full((67, columns + 9), 7, dtype) for _ in range(3)] + [np.full((1, 67), 7, dtype)]
        device.force_calibration(everywhere(NEVER))
        expected = [one.tobytes() for one in normalised(x, w)]
        device.force_calibration(everywhere(0))
        for begin in (0, 1):
            out = [one.reshape(-1)[begin : begin + 67 * columns].reshape(67, columns) for one in memory[:3]]
            out = (*out, memory[3][0])
            normalised(x, w, out=out)
            assert [one.tobytes() for one in out] == expected
            assert all((one.reshape(-1)[begin + 67 * columns :] == 7).all() for one in memory[:3])
        y = np.ascontiguousarray(x)
        assert normalised(y, w, out=(y, None, None, None))[0] is y
        assert y.tobytes() == expected[0]
print("done")
"""


def test_rows_have_the_same_bits():
    assert run(ROWS) == "done\n"
