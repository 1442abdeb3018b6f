"""Matrix products in a wider type, or modulo 2^64, and the check of a launch within the tolerances."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.include import DataType
from ep.include.primitive import BlasTransposeType
from ep.testing.arrays import Array, Rng

N, T = BlasTransposeType
TRANSPOSES = [(N, N), (N, T), (T, N), (T, T)]


def wide(array: Array) -> Any:
    """Return an array in a type with more digits than the arithmetic of a launch: integers modulo 2^64."""
    dtype = array.dtype
    if dtype.kind in "iu":
        return array.astype(np.uint64)
    if dtype.kind == "c":
        return array.astype(np.clongdouble if dtype.itemsize == 16 else np.complex128)
    return array.astype(np.longdouble if dtype.itemsize == 8 else np.float64)


def transposed(array: Array, transpose: Any) -> Any:
    """Return the operand of the product: for a complex matrix that is transposed, the conjugate."""
    return np.conj(np.swapaxes(array, -1, -2)) if transpose is T else array


def matrices(rng: Rng, data_type: DataType, *dims: Any) -> Any:
    """Return normal numbers of both signs, so that sums lose digits; none of them is special.

    Integers are any of their type.
    """
    if data_type.dtype.kind in "iu":
        info = np.iinfo(data_type.dtype)
        return rng.integers(info.min, info.max, dims, data_type.dtype, endpoint=True)
    values = rng.standard_normal(dims)
    if data_type.dtype.kind == "c":
        values = values + 1j * rng.standard_normal(dims)
    return values.astype(data_type.dtype)


def stored(dims: Any, transpose: Any) -> Any:
    """Return the dims of a matrix in memory."""
    return (*dims[:-2], dims[-1], dims[-2]) if transpose is T else tuple(dims)


def summed(array: Array, dims: Any) -> Any:
    """Return the sum over the batch axes of `array` that `dims` has with size 1, or lacks."""
    array = array.sum(axis=tuple(range(array.ndim - len(dims)))) if array.ndim > len(dims) else array
    axes = tuple(axis for axis in range(-len(dims), -2) if dims[axis] == 1 and array.shape[axis] != 1)
    return array.sum(axis=axes, keepdims=True)


def product(alpha: Any, a: Array, b: Array, beta: Any, c: Array, transposes: Any = (N, N)) -> tuple[Array, Array]:
    """Return `alpha op(a) op(b) + beta c`, summed to c's dims, and the sum of the magnitudes of its terms.

    An operand that is multiplied by a zero alpha or beta is not read. Of integers, it is modulo 2^64.
    """
    if c.dtype.kind in "iu":
        alpha, beta = (number % 2**64 for number in (alpha, beta))
    number = wide(np.zeros(0, c.dtype)).dtype.type
    if alpha == 0:
        result, size = np.zeros(c.shape, number), np.zeros(c.shape)
    else:
        left, right = (transposed(wide(one), way) for one, way in zip((a, b), transposes, strict=True))
        with np.errstate(all="ignore"):
            result = number(alpha) * summed(np.matmul(left, right) + np.zeros((*c.shape[:-2], 1, 1), number), c.shape)
            terms = summed(np.matmul(abs(left), abs(right)) + np.zeros((*c.shape[:-2], 1, 1)), c.shape)
            size = abs(number(alpha)) * terms
    if beta != 0:
        result = result + number(beta) * wide(c)
        size = size + abs(number(beta) * wide(c))
    return result, size


def check(got: Array, want: Array, size: Array, num_terms: int) -> None:
    """Raise AssertionError if `got` is farther from `want` than the roundings of `num_terms` terms allow.

    Integers must be equal, modulo the range of their type.
    """
    if got.dtype.kind in "iu":
        np.testing.assert_array_equal(got, want.astype(got.dtype), strict=True)
        return
    part = np.dtype(got.real.dtype) if got.dtype.kind == "c" else got.dtype
    arithmetic = np.float64 if part.itemsize == 8 else np.float32
    bound = np.finfo(arithmetic).eps * (num_terms + 8) * size.astype(np.float64)
    if part.itemsize == 2:  # rounded once more
        digits = 8 if got.dtype == DataType.kBFloat16.dtype else 11
        bound = bound + 2.0**-digits * abs(want).astype(np.float64) * 1.01 + 2.0**-25
    errors = abs(wide(got) - want)
    assert got.shape == want.shape
    if not errors.size:
        return
    worst = np.unravel_index(int(np.argmax(np.nan_to_num(errors - bound, nan=np.inf))), errors.shape)
    assert errors[worst] <= bound[worst], f"{got[worst]!r} at {worst}, exactly {want[worst]!r}: {errors[worst]:.3g} off"
