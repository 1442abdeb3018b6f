"""The values of the tests of Scan, its launches, and the check of its results."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.include import DataType
from ep.include.primitive import ScanFactory, ScanOp
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.references.scan import scan

Key = tuple[Any, DataType]

_SUMS = (ScanOp.kSum, ScanOp.kSumToEnd)
_EPSILON = {DataType.kBFloat16: 2.0**-7, DataType.kFloat16: 2.0**-10}


def draw(rng: np.random.Generator, key: Key, shape: tuple[int, ...]) -> np.ndarray:
    """Return elements of both signs whose sums and products are numbers of the type."""
    op, data_type = key
    if data_type.dtype.kind in "iu":
        info = np.iinfo(data_type.dtype)
        integers: np.ndarray = rng.integers(info.min, info.max, shape, data_type.dtype, endpoint=True)
        return integers
    x: Any = rng.standard_normal(shape)
    if op not in _SUMS:
        x = np.sign(x) * np.exp(x / np.sqrt(max(shape[1], 4)))
    drawn: np.ndarray = (x * np.exp(1j * x) if data_type.dtype.kind == "c" else x).astype(data_type.dtype)
    return drawn


def launch(device: DeviceUnderTest, key: Key, src: np.ndarray, in_place: bool = False) -> np.ndarray:
    """Launch, and return the result. in_place: whether it replaces the elements."""
    buffer = device.guarded(src)
    dst = buffer if in_place else device.filled(src.size + 3, key[1])
    device.require(ScanFactory, *key).Launch(device.stream, *src.shape, buffer, dst)
    return device.written(dst, src.shape)


def check(device: DeviceUnderTest, key: Key, src: np.ndarray, in_place: bool = False) -> None:
    """Launch, and raise AssertionError for a result that is not right."""
    check_close(key, launch(device, key, src, in_place), src)


def check_close(key: Key, got: np.ndarray, src: np.ndarray) -> None:
    """Raise AssertionError if a result differs by more than one rounding, and one of float64 for each element."""
    (op, data_type), want = key, scan(key[0], src)
    if data_type.dtype.kind in "iu":
        assert got.tobytes() == want.tobytes()
        return
    wide = np.clongdouble if data_type.dtype.kind == "c" else np.longdouble
    epsilon = _EPSILON.get(data_type) or np.finfo(data_type.dtype).eps
    scale = np.abs(src.astype(np.complex128)).sum(1, keepdims=True) if op in _SUMS else np.abs(want)
    bound = 0.7 * epsilon * np.abs(want) + 2.0**-51 * src.shape[1] * scale + 2.0**-1074
    error = np.abs(got.astype(np.complex128 if data_type.dtype.kind == "c" else np.float64).astype(wide) - want)
    assert (error <= bound).all()
