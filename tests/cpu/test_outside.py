"""Nothing is read or written outside the buffers: the pages before or after them end the process at any access."""

import sys

import pytest

from tests.subprocesses import run

PRELUDE = """
import ctypes, mmap
import numpy as np
from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.cpu.machine.calibration import NEVER, everywhere
from ep.include.primitive import *

K = DeviceType.kCPU
device = DeviceManagerRegistry.GetDevice(K)
stream, rng = device.CreateStream(), np.random.default_rng(1)
protect = ctypes.CDLL(None, use_errno=True).mprotect
kept = []

def beside(array, at_end):
    size = -(-array.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    kept.append(mmap.mmap(-1, size + 2 * mmap.PAGESIZE))
    whole = np.frombuffer(kept[-1], np.uint8)
    begin = whole.ctypes.data
    for page in (begin, begin + mmap.PAGESIZE + size):
        assert protect(ctypes.c_void_p(page), mmap.PAGESIZE, 0) == 0
    first = mmap.PAGESIZE + (size - array.nbytes if at_end else 0)
    result = whole[first : first + array.nbytes].view(array.dtype)
    result[...] = array.reshape(-1)
    return result

def each(expected, launch, src):
    for past in (NEVER, 0):
        device.force_calibration(everywhere(past))
        for at_end in (False, True):
            dst = beside(np.zeros(expected.shape, expected.dtype), at_end)
            launch(beside(src, at_end), dst)
            assert (dst == expected.reshape(-1)).all()

def pad(dims, before, after):
    src = rng.integers(0, 99, dims).astype(dtype)
    primitive = RequirePrimitive(ConstantPadFactory, K, dtype)
    each(np.pad(src, list(zip(before, after)), constant_values=3),
         lambda x, y: primitive.Launch(stream, dims, x, before, after, 3, y), src)

def permute(dims, permutation):
    src = rng.integers(0, 99, dims).astype(dtype)
    primitive = RequirePrimitive(PermuteFactory, K, 4)
    each(src.transpose(permutation), lambda x, y: primitive.Launch(stream, dtype, dims, x, permutation, y), src)

def cast(dims):
    src = rng.integers(0, 99, dims).astype(dtype)
    primitive = RequirePrimitive(BroadcastElementwiseUnaryFactory, K, UnaryOp.kCast, dtype, np.int64, 2)
    each(src.T.astype(np.int64), lambda x, y: primitive.Launch(stream, dims[::-1], x, dims[::-1], y, (1, dims[1])), src)
"""
CALLS = [
    "pad((3, 5, 6, 7), (0, 0, 1, 1), (0, 0, 1, 1))",
    "pad((2, 30, 14), (0, 1, 0), (0, 0, 1))",
    "pad((40, 70), (0, 3), (0, 0))",
    "permute((67, 131), (1, 0))",
    "permute((17, 16), (1, 0))",
    "permute((5, 9, 35), (0, 2, 1))",
    "permute((90, 3), (1, 0))",
    "permute((9, 8, 70), (1, 0, 2))",
    "cast((67, 131))",
    "cast((16, 17))",
]


@pytest.mark.skipif(sys.platform != "linux", reason="protects pages by Linux's mprotect")
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_pages_beside_the_buffers_stay_untouched(dtype):
    run("\n".join([PRELUDE, f"dtype = np.{dtype}", *CALLS]))
