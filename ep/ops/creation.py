"""New arrays: of one value, of the shape of another array, and of numbers in a sequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.common.arrays.on_device import arrays_on
from ep.common.checks import as_size
from ep.include.arrays import Array, ArrayLike, Arrays
from ep.include.data_type import DTypeLike, as_data_type
from ep.include.device_type import DeviceType
from ep.ops.declare.function import FUNCTIONS, composition
from ep.ops.devices import arrays_of
from ep.ops.full import filled, full
from ep.ops.operands import as_weak


@composition
def zeros(
    shape: Any, dtype: DTypeLike | None = None, *, device: DeviceType | str | None = None, device_index: int = 0
) -> Array:
    """Return a new array of zeros, as `numpy.zeros`; the arguments are those of `full`, dtype float64 by default."""
    return full(shape, 0, "float64" if dtype is None else dtype, device=device, device_index=device_index)


@composition
def ones(
    shape: Any, dtype: DTypeLike | None = None, *, device: DeviceType | str | None = None, device_index: int = 0
) -> Array:
    """Return a new array of ones, as `numpy.ones`; the arguments are those of `full`, dtype float64 by default."""
    return full(shape, 1, "float64" if dtype is None else dtype, device=device, device_index=device_index)


@composition
def full_like(x: ArrayLike, fill_value: complex, dtype: DTypeLike | None = None) -> Array:
    """Return a new array of one number, with the shape of `x` and where it is, as `numpy.full_like`.

    x: array of any type, whose elements are not read. fill_value: a number. dtype: that of `x` by default.

    Raises ValueError for a number that the dtype does not hold.
    """
    arrays = arrays_of((x,), ("x",))
    like = arrays.as_buffer(x, "x")
    data_type = as_data_type(like.dtype if dtype is None else dtype)
    number = as_weak(fill_value, data_type.dtype, "fill_value")
    if isinstance(arrays, Arrays):
        return filled(arrays, tuple(like.shape), fill_value, data_type)
    return FUNCTIONS["expand"](arrays.number(number), tuple(like.shape))


@composition
def zeros_like(x: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Return zeros with the shape of `x` and where it is, as `numpy.zeros_like`; `full_like` has the arguments."""
    return full_like(x, 0, dtype)


@composition
def ones_like(x: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Return ones with the shape of `x` and where it is, as `numpy.ones_like`; `full_like` has the arguments."""
    return full_like(x, 1, dtype)


@composition
def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceType | str | None = None,
    device_index: int = 0,
) -> Array:
    """Return the numbers from `start` to `stop`, which is not included, in steps, as `numpy.arange`.

    start: 0 if it is the only number, which is `stop` then. dtype: by default int64 for integers, else float64.
    device, device_index: as of `full`. The host computes the numbers.

    Raises ValueError for a step of 0, and for numbers that an integer type does not hold.
    """
    if step == 0:
        raise ValueError("step is 0; it must be another number")
    numbers = np.arange(start, step=step) if stop is None else np.arange(start, stop, step)
    return _on(numbers, dtype, device, device_index)


@composition
def linspace(
    start: complex,
    stop: complex,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    endpoint: bool = True,
    device: DeviceType | str | None = None,
    device_index: int = 0,
) -> Array:
    """Return `num` numbers in equal distances from `start` to `stop`, as `numpy.linspace`.

    dtype: float64 by default, complex128 for complex numbers. endpoint: whether `stop` is the last one.
    device, device_index: as of `full`. The host computes the numbers.
    """
    return _on(np.linspace(start, stop, as_size(num, "num"), endpoint), dtype, device, device_index)


@composition
def eye(
    n_rows: int,
    n_cols: int | None = None,
    *,
    k: int = 0,
    dtype: DTypeLike | None = None,
    device: DeviceType | str | None = None,
    device_index: int = 0,
) -> Array:
    """Return a matrix with ones on a diagonal and zeros elsewhere, as `numpy.eye`.

    n_rows, n_cols: its sizes; as many columns as rows by default. k: the diagonal, above the main one if it is > 0.
    dtype: float64 by default. device, device_index: as of `full`. The host computes the matrix.
    """
    columns = None if n_cols is None else as_size(n_cols, "n_cols")
    return _on(np.eye(as_size(n_rows, "n_rows"), columns, k), dtype, device, device_index)


def _on(
    numbers: np.ndarray[Any, Any], dtype: DTypeLike | None, device: DeviceType | str | None, device_index: int
) -> Array:
    """Return numbers of the host in a dtype and on a device; ValueError if an integer type does not hold them."""
    if dtype is not None:
        wanted = as_data_type(dtype).dtype
        made = numbers.astype(wanted)
        for end in (numbers.min(), numbers.max()) if wanted.kind in "iu" and numbers.size else ():
            as_weak(int(end), wanted, "a number of the result")
        numbers = made
    if isinstance(device, str):
        device = DeviceType.FromTag(device)
    return arrays_on(device or DeviceType.kCPU, device_index).copy_from_host(numbers)
