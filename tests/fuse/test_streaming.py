"""Fused launches with non-temporal stores read only their operands, whatever values are on the stack."""

import pytest

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


BEGIN = """
import ml_dtypes
import numpy as np
import ep
from ep.cpu.kernels import row_expression
from ep.cpu.machine import caches
from ep.cpu.machine.calibration import KINDS, NEVER, Calibration, everywhere

device = ep.DeviceManagerRegistry.GetDevice(ep.DeviceType.kCPU, 0)
caches.last_level_caches = lambda num_threads: 0
row_expression.last_level_caches = caches.last_level_caches
rng = np.random.default_rng(0)
"""
"""Caches have no room, so that all results are written past them."""
ROWS = """
@ep.fuse
def normalised(x, w):
    total = x * w
    d = total - ep.ops.mean(total, -1, keepdims=True)
    return d * ep.ops.rsqrt(ep.ops.mean(d * d, -1, keepdims=True) + 1e-5), total, ep.ops.softmax(d), ep.ops.max(d, -1)

for dtype in (np.float32, np.float64, ml_dtypes.bfloat16):
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
SOFTMAXES = """
def read_again(x, w):
    shares = ep.ops.softmax(x * w)
    return shares, shares * x

def of_a_result(x, w):
    scores = x + w
    return ep.ops.log_softmax(scores), scores

functions = [lambda x, w: (ep.ops.softmax(x * 0.125 + w),), lambda x, w: (ep.ops.log_softmax(x - w),)]
for function in (*functions, read_again, of_a_result):
    fused = ep.fuse(function)
    for dtype, lengths in ((np.float32, (515, 2053, 4099)), (np.float64, (1051,)), (ml_dtypes.bfloat16, (2049,))):
        for length in lengths:
            x, w = rng.normal(size=(13, length)).astype(dtype), rng.normal(size=length).astype(dtype)
            num_results = len(function(x, w))
            device.force_calibration(everywhere(NEVER))
            expected = [one.tobytes() for one in fused(x, w)]
            alone = [fused(x[row : row + 1], w) for row in range(13)]
            assert [np.concatenate(one).tobytes() for one in zip(*alone)] == expected
            device.force_calibration(everywhere(0))
            for skip in (0, x.itemsize, 1):  # within an element, too
                memory = [np.full(x.nbytes + 200, 7, np.uint8) for _ in range(num_results)]
                out = tuple(one[skip:][: x.nbytes].view(dtype).reshape(x.shape) for one in memory)
                fused(x, w, out=out)
                assert [one.tobytes() for one in out] == expected, (dtype, length, skip)
                assert all((one[:skip] == 7).all() and (one[skip + x.nbytes :] == 7).all() for one in memory)
            y = x.copy()
            fused(y, w, out=(y, *[None] * (num_results - 1)))
            assert y.tobytes() == expected[0]
print("done")
"""
MAPS = """
functions = [lambda x, y, w: x * w + y, lambda x, y, w: ep.ops.gelu(x + w) * y]
for function in functions:
    fused = ep.fuse(function)
    for dtype in (np.float32, ml_dtypes.bfloat16, np.complex64, np.uint8)[: 4 if function is functions[0] else 1]:
        for rows, columns in ((1, 4099), (13, 4096), (7, 1051), (101, 31), (1, 3)):
            x, y = (rng.integers(0, 9, (2, rows, columns))).astype(dtype)
            w = rng.integers(0, 9, columns).astype(dtype)
            device.force_calibration(everywhere(NEVER))
            expected = fused(x, y, w).tobytes()
            for ahead in (0, 4096):
                device.force_calibration(Calibration((0,) * KINDS, (0,) * KINDS, ahead))
                for begin in (0, 1, 3):
                    memory = np.full(rows * columns * x.itemsize + 200, 7, np.uint8)
                    for skip in (begin * x.itemsize, begin):  # within an element, too
                        memory[:] = 7
                        out = memory[skip:][: x.nbytes].view(dtype).reshape(x.shape)
                        fused(x, y, w, out=out)
                        assert out.tobytes() == expected, (dtype, rows, columns, skip)
                        assert (memory[:skip] == 7).all() and (memory[skip + x.nbytes :] == 7).all()
                z = x.copy()
                fused(z, y, w, out=z)
                assert z.tobytes() == expected
print("done")
"""


@pytest.mark.ep_long
@pytest.mark.parametrize("code", [ROWS, SOFTMAXES, MAPS], ids=["rows", "softmaxes", "maps"])
def test_they_have_the_same_bits(code):
    assert run(BEGIN + code) == "done\n"
