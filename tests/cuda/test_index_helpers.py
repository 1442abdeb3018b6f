"""NdIndexOffsetHelper and FastIntegerMath inside CUDA kernels, run from their PTX."""

import math

import numpy as np
import pytest

from ep.common.fast_integer_math import FastIntegerMath, quotient
from ep.common.primitive.nd_index_offset_helper import nd_index_to_offset, offset_to_nd_index
from ep.common.primitive.strides import contiguous_strides
from ep.cuda.compile.numba_cuda import _compiling_for, device_function, num_threads, thread_index
from tests.cuda.ptx_machine.machine import Program, address_range

to_offset, to_index, divide = map(device_function, (nd_index_to_offset, offset_to_nd_index, quotient))


def round_trip(offsets, dims, strides, indices, back):
    for i in range(thread_index(), offsets.size, num_threads()):
        to_index(offsets[i], dims, dims.size, indices[i])
        back[i] = to_offset(indices[i], strides, dims.size)


def divided(numbers, multiplier, shift, result):
    for i in range(thread_index(), numbers.size, num_threads()):
        result[i] = divide(numbers[i], multiplier, shift)


def launch(function, *arguments):
    """Run a kernel on host arrays and integers, passed as Numba does: an array as the words of its structure."""
    from numba import cuda
    from numba.cuda import types
    from numba.cuda.np.numpy_support import from_dtype

    arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
    signature, words = [], []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            signature.append(types.Array(from_dtype(argument.dtype), argument.ndim, "C"))
            words += [0, 0, argument.size, argument.itemsize, argument.ctypes.data, *argument.shape, *argument.strides]
        else:
            signature.append(types.int64)
            words.append(argument)
    with _compiling_for((9, 0)):
        code, _ = cuda.compile(function, types.void(*signature), device=False, abi="numba", cc=(9, 0), output="ptx")
    Program(code, function.__name__).launch((2, 1, 1), (32, 1, 1), 0, words, [address_range(each) for each in arrays])


@pytest.mark.parametrize("integer", [np.int32, np.int64])
@pytest.mark.parametrize("dims", [(7,), (2, 3, 5), (1, 4, 1), (2, 3, 1, 2, 1, 3, 2, 2, 5), (70_000, 30_001)], ids=str)
def test_indices_and_offsets(cuda, rng, integer, dims):
    count = math.prod(dims)
    offsets = np.concatenate([[0, count - 1], rng.integers(0, count, 40)]).astype(integer)
    indices, back = np.zeros((offsets.size, len(dims)), integer), np.zeros(offsets.size, integer)
    launch(round_trip, offsets, np.array(dims, integer), np.array(contiguous_strides(dims), integer), indices, back)
    np.testing.assert_array_equal(indices, np.transpose(np.unravel_index(offsets, dims)))
    np.testing.assert_array_equal(back, offsets)


@pytest.mark.parametrize("divisor", [1, 2, 3, 641, 65537, 2**30 + 1, 2**31 - 1])
def test_quotients(cuda, rng, divisor):
    numbers = np.concatenate([[0, divisor - 1, divisor, 2**31 - 1], rng.integers(0, 2**31, 40)])
    numbers = numbers[numbers < 2**31]
    math_of_divisor, result = FastIntegerMath(divisor), np.zeros_like(numbers)
    launch(divided, numbers, math_of_divisor.multiplier, math_of_divisor.shift, result)
    np.testing.assert_array_equal(result, numbers // divisor)
