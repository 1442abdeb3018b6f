"""NdIndexOffsetHelper and FastIntegerMath inside CUDA kernels: run in the simulator, and compiled for a GPU."""

import math

import numpy as np
import pytest

from ep.common.fast_integer_math import FastIntegerMath
from ep.common.primitive.strides import contiguous_strides
from tests.subprocesses import run

KERNELS = """
import numpy as np
from ep.common.fast_integer_math import quotient
from ep.common.primitive.nd_index_offset_helper import nd_index_to_offset, offset_to_nd_index
from ep.cuda.compile.numba_cuda import device_function, num_threads, thread_index

to_offset, to_index, divide = map(device_function, (nd_index_to_offset, offset_to_nd_index, quotient))

def round_trip(offsets, dims, strides, indices, back):
    for i in range(thread_index(), offsets.size, num_threads()):
        to_index(offsets[i], dims, dims.size, indices[i])
        back[i] = to_offset(indices[i], strides, dims.size)

def divided(numbers, multiplier, shift, result):
    for i in range(thread_index(), numbers.size, num_threads()):
        result[i] = divide(numbers[i], multiplier, shift)
"""


@pytest.fixture
def kernels(cuda):
    """The two kernels for the simulator: `round_trip` and `divided`."""
    if not cuda.simulated:
        pytest.skip("kernels on arrays of the host are the simulator's")
    from ep.cuda.compile.numba_cuda import simulated

    names = {}
    exec(KERNELS, names)
    return {name: simulated(names[name])[2, 32] for name in ("round_trip", "divided")}


@pytest.mark.parametrize("integer", [np.int32, np.int64])
@pytest.mark.parametrize("dims", [(7,), (2, 3, 5), (1, 4, 1), (2, 3, 1, 2, 1, 3, 2, 2, 5), (70_000, 30_001)], ids=str)
def test_indices_and_offsets(kernels, rng, integer, dims):
    count = math.prod(dims)
    offsets = np.concatenate([[0, count - 1], rng.integers(0, count, 40)]).astype(integer)
    indices, back = np.zeros((offsets.size, len(dims)), integer), np.zeros(offsets.size, integer)
    kernels["round_trip"](offsets, np.array(dims, integer), np.array(contiguous_strides(dims), integer), indices, back)
    np.testing.assert_array_equal(indices, np.transpose(np.unravel_index(offsets, dims)))
    np.testing.assert_array_equal(back, offsets)


@pytest.mark.parametrize("divisor", [1, 2, 3, 641, 65537, 2**30 + 1, 2**31 - 1])
def test_quotients(kernels, rng, divisor):
    numbers = np.concatenate([[0, divisor - 1, divisor, 2**31 - 1], rng.integers(0, 2**31, 40)])
    numbers = numbers[numbers < 2**31]
    math_of_divisor, result = FastIntegerMath(divisor), np.zeros_like(numbers)
    kernels["divided"](numbers, math_of_divisor.multiplier, math_of_divisor.shift, result)
    np.testing.assert_array_equal(result, numbers // divisor)


COMPILE = """
from numba import cuda
from numba.cuda import types
from ep.cuda.compile.numba_cuda import _current_device

words = types.Array(types.int64, 1, "C")
rows = types.Array(types.int64, 2, "C")
signatures = {
    round_trip: types.void(words, words, words, rows, words),
    divided: types.void(words, types.int64, types.int64, words),
}
with _current_device((9, 0)):
    for kernel, signature in signatures.items():
        code, _ = cuda.compile(kernel, signature, device=False, abi="numba", cc=(9, 0), output="ptx")
        print(kernel.__name__, ".visible .entry" in code)
"""


def test_they_compile_for_a_gpu(cuda):
    """In a process of its own: the simulator cannot compile."""
    assert run(KERNELS + COMPILE, NUMBA_ENABLE_CUDASIM="0").splitlines() == ["round_trip True", "divided True"]
