"""Random and special values of every data type."""

import numpy as np

from ep.include import DataType


def samples(rng: np.random.Generator, data_type: DataType, count: int) -> np.ndarray:
    """`count` values of `data_type`: every magnitude and both signs, with the special values of the type among them."""
    dtype = data_type.dtype
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        small = rng.integers(max(info.min, -9), 10, count)
        wide = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
        values = np.where(rng.random(count) < 0.5, small.astype(dtype), wide)
        return _sprinkle(rng, values, [info.min, info.max, 0, 1])
    if dtype.kind == "c":
        part = DataType.kFloat if data_type is DataType.kComplex64 else DataType.kDouble
        result = np.empty(count, dtype)
        result.real, result.imag = finite(rng, part, count), finite(rng, part, count)
        return result
    return _sprinkle(rng, finite(rng, data_type, count), [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0])


def finite(rng: np.random.Generator, data_type: DataType, count: int) -> np.ndarray:
    """`count` finite floating-point values between 1e-3 and 1e3 in magnitude, of both signs."""
    magnitude = np.exp(rng.uniform(np.log(1e-3), np.log(1e3), count))
    return (magnitude * rng.choice([-1.0, 1.0], count)).astype(data_type.dtype)


def _sprinkle(rng: np.random.Generator, values: np.ndarray, special: list) -> np.ndarray:
    for value in special[: len(values)]:
        values[rng.integers(len(values))] = value
    return values
