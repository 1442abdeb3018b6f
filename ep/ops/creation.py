"""New arrays: of one value, of the shape of another array, and of numbers in a sequence."""

from __future__ import annotations

import cmath
from collections.abc import Mapping
from typing import Any

import numpy as np

from ep.common.arrays.checks import as_scalar, is_weak
from ep.common.checks import as_count, as_integer, as_truth, present
from ep.include.arrays import Array, ArrayLike, LaterNumber
from ep.include.data_type import DTypeLike, as_data_type
from ep.include.device_type import DeviceType
from ep.include.errors import ArgumentTypeError, ArgumentValueError
from ep.include.shown import in_short, shown
from ep.ops.composition import composition
from ep.ops.declare.function import FUNCTIONS
from ep.ops.devices import arrays_of, chosen
from ep.ops.full import filled, full
from ep.ops.operands import as_weak


@composition()
def zeros(
    shape: Any, dtype: DTypeLike | None = None, *, device: DeviceType | str | None = None, device_index: int = 0
) -> Array:
    """Return a new array of zeros, as `numpy.zeros`; the arguments are those of `full`, dtype float64 by default."""
    return full(shape, 0, "float64" if dtype is None else dtype, device=device, device_index=device_index)


@composition()
def ones(
    shape: Any, dtype: DTypeLike | None = None, *, device: DeviceType | str | None = None, device_index: int = 0
) -> Array:
    """Return a new array of ones, as `numpy.ones`; the arguments are those of `full`, dtype float64 by default."""
    return full(shape, 1, "float64" if dtype is None else dtype, device=device, device_index=device_index)


@composition()
def full_like(x: ArrayLike, fill_value: complex, dtype: DTypeLike | None = None) -> Array:
    """Return a new array of one number, with the shape of `x` and where it is, as `numpy.full_like`.

    x: array of any type, whose elements are not read. fill_value: a number. dtype: that of `x` by default.

    Raises ValueError for a number that the dtype does not hold.
    """
    data_type = as_data_type(x.dtype if dtype is None else dtype)
    if isinstance(fill_value, LaterNumber):
        return FUNCTIONS["expand"](fill_value.as_array(data_type.dtype, "fill_value"), tuple(x.shape))
    as_weak(fill_value, data_type.dtype, "fill_value")
    return filled(arrays_of((x,), ("x",)), tuple(x.shape), fill_value, data_type)


@composition()
def zeros_like(x: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Return zeros with the shape of `x` and where it is, as `numpy.zeros_like`; `full_like` has the arguments."""
    return full_like(x, 0, dtype)


@composition()
def ones_like(x: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Return ones with the shape of `x` and where it is, as `numpy.ones_like`; `full_like` has the arguments."""
    return full_like(x, 1, dtype)


@composition()
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

    Raises ValueError for a step of 0, for NaN and infinity, and for numbers that an integer type does not hold.
    """
    if stop is None:
        start, stop = 0, start
    numbers = _numbers({"start": start, "stop": stop, "step": step}, "", is_real=True, is_finite=True)
    if numbers[2] == 0:
        raise ArgumentValueError("step", "is 0; it must be another number")
    return _on(np.arange(*numbers), dtype, device, device_index)


@composition()
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

    start, stop: numbers. endpoint: whether `stop` is the last one. device, device_index: as of `full`.
    dtype: float64 by default, complex128 for complex numbers. Integers are rounded toward minus infinity.

    The host computes the numbers. Raises TypeError for a complex number if the dtype is real, ValueError for NaN,
    infinity and numbers that an integer type does not hold.
    """
    kind = "" if dtype is None else as_data_type(dtype).dtype.kind
    is_real, is_finite = kind not in ("", "c"), kind in ("i", "u")
    bounds = _numbers({"start": start, "stop": stop}, f", as dtype is {shown(dtype)}", is_real, is_finite)
    numbers = np.linspace(bounds[0], bounds[1], as_count(num, "num"), as_truth(endpoint, "endpoint"))
    return _on(np.floor(numbers) if kind in ("i", "u") else numbers, dtype, device, device_index)


@composition()
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
    columns = None if n_cols is None else as_count(n_cols, "n_cols")
    return _on(np.eye(as_count(n_rows, "n_rows"), columns, as_integer(k, "k")), dtype, device, device_index)


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
    return chosen(device, device_index).copy_from_host(numbers)


def _numbers(given: Mapping[str, complex], reason: str, is_real: bool, is_finite: bool) -> list[Any]:
    """Return arguments as numbers of Python; TypeError for anything else, and for what no dtype holds.

    is_real, is_finite: whether they must be. reason: the end of the error.
    """
    numbers = []
    for name, value in given.items():
        value = as_scalar(present(value))
        if not is_weak(value):
            raise ArgumentTypeError(name, f"must be a number, not {shown(value)}")
        number = value.item() if isinstance(value, np.generic) else value
        if is_real and isinstance(number, complex):
            raise ArgumentTypeError(name, f"is {in_short(number)}; it must be a real number{reason}")
        if np.asarray(number).dtype == object:
            raise ArgumentValueError(name, f"is {in_short(number)}, which no dtype holds")
        if is_finite and not cmath.isfinite(number):
            raise ArgumentValueError(name, f"is {number}; it must be a finite number{reason}")
        numbers.append(number)
    return numbers
