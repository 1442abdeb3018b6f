"""Random and special values of every data type, and the sizes of samples."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.include import DataType
from ep.include.number_kind import INTEGERS
from ep.testing.arrays import Rng
from ep.testing.device_under_test import DeviceUnderTest


def sized(device: DeviceUnderTest, count: int, simulated: int) -> int:
    """Return `count`, or `simulated` if an element takes the device microseconds: only this function reduces sizes."""
    return simulated if device.simulated else count


def other_types(data_type: DataType) -> list[DataType]:
    """Return types that a launch made for `data_type` refuses: one of another size, one of the same if there is one."""
    of_another_size = DataType.kInt32 if data_type.itemsize == 8 else DataType.kDouble
    of_the_same = [t for t in INTEGERS if t.itemsize == data_type.itemsize and t.dtype != data_type.dtype]
    return [of_another_size, *of_the_same[:1]]


def samples(rng: np.random.Generator, data_type: DataType, count: int) -> np.ndarray:
    """Return `count` values of `data_type`: every magnitude and both signs, including special values of the type."""
    dtype = data_type.dtype
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        small = rng.integers(max(info.min, -9), 10, count)
        wide = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
        values = np.where(rng.random(count) < 0.5, small.astype(dtype), wide)
        return _sprinkle(rng, values, [info.min, info.min + 1, info.max, info.max - 1, 0, 1])
    if dtype.kind == "c":
        part = DataType.kFloat if data_type is DataType.kComplex64 else DataType.kDouble
        result = np.empty(count, dtype)
        result.real, result.imag = finite(rng, part, count), finite(rng, part, count)
        return result
    return _sprinkle(rng, finite(rng, data_type, count), [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0])


def finite(rng: np.random.Generator, data_type: DataType, count: int) -> np.ndarray:
    """Return `count` finite floating-point values between 1e-3 and 1e3 in magnitude, of both signs."""
    magnitude = np.exp(rng.uniform(np.log(1e-3), np.log(1e3), count))
    return np.asarray(magnitude * rng.choice([-1.0, 1.0], count)).astype(data_type.dtype)


def operands(rng: Rng, op: Any, src_type: DataType, count: int) -> Any:
    """Return samples for both sides, with pairs that are equal or nearly so, and y in the range of the forward op."""
    a, b = samples(rng, src_type, count), samples(rng, src_type, count)
    equal = rng.random(count) < 0.2
    if (
        "Backward" in op.name and src_type.dtype.kind != "c"
    ):  # the formula does not define an infinite dy times a slope below the smallest number
        a = finite(rng, src_type, count)
        a[rng.integers(count)] = np.nan
    return a, np.where(equal, a, b).astype(src_type.dtype)


def _sprinkle(rng: np.random.Generator, values: np.ndarray, special: list[Any]) -> np.ndarray:
    for value in special[: len(values)]:
        values[rng.integers(len(values))] = value
    return values


# Where the two branches of the function meet, and where e^x, e^(x^2) and similar terms overflow or vanish.
CORNERS = [0.5, 0.25, 1, 1.5, 1.7, 2, 2.2, 3, 0.3, 6, 8, 9.2, 10, 13, 14.5, 16.6, 20, 27.2, 36.7, 37.6, 38.5]
CORNERS += [66.7, 88.37, 88.72, 87.34, 103.97, 104, 128, 149, 708.4, 709.78, 744.4, 745.2, 1022, 1024, 1074]

_SEED = 20240607


@cache
def dense(scalar_type: Any, count: int) -> np.ndarray:
    """Return numbers of both signs: evenly in the exponent, evenly around 0, at and near corners, and special."""
    random = np.random.default_rng(_SEED)
    info = np.finfo(scalar_type)
    low, high = np.log2(float(info.smallest_subnormal)), np.log2(float(info.max))
    magnitudes = np.concatenate(
        [
            2.0 ** random.uniform(low, high, count),
            2.0 ** random.uniform(-12, 12, count),
            random.uniform(0, 4, count),
            random.uniform(0, 40, count),
            random.uniform(0, 1.1 * float(np.log(info.max)), count),
            np.sqrt(random.uniform(0, 2.2 * float(np.log(info.max)), count)),
            np.abs(1 + 2.0 ** random.uniform(-20, 0, count) * random.choice([-1, 1], count)),
        ]
    ).astype(scalar_type)
    corners = np.array(CORNERS, scalar_type)
    corners = np.concatenate([corners, np.nextafter(corners, 0), np.nextafter(corners, info.max)])
    special = np.array([0, np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal], scalar_type)
    integers = np.arange(1, 171).astype(scalar_type)
    halves = (integers - scalar_type(0.5)).astype(scalar_type)
    positive = np.concatenate([magnitudes, corners, special, integers, halves])
    return np.concatenate([positive, -positive])
