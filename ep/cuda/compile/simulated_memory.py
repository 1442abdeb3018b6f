"""The twins of `device_memory` for Numba's simulator, where device memory is memory of the host.

They fail where the device would: at an address that is no multiple of what is moved.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np

from ep.common.scalar import convert_scalar
from ep.include.data_type import DataType

_NARROW = (DataType.kFloat16, DataType.kBFloat16)


def _at(address: int, index: int, size: int, alignment: int) -> int:
    place = int(address) + int(index) * size
    if place % alignment:
        raise ValueError(f"address {place:#x} is no multiple of {alignment}")
    return place


def _alignment(data_type: DataType, count: int, aligned: bool) -> int:
    parts = 2 if data_type.dtype.kind == "c" else 1
    return data_type.itemsize * count if aligned else data_type.itemsize // parts


def loader(data_type: DataType, count: int, aligned: bool) -> Any:
    size, alignment = data_type.itemsize * count, _alignment(data_type, count, aligned)
    dtype = np.dtype(np.uint8) if data_type is DataType.kBool else data_type.dtype

    def load(address: int, index: int) -> tuple[Any, ...]:
        pack = np.frombuffer(ctypes.string_at(_at(address, index, size, alignment), size), dtype)
        if data_type in _NARROW:
            pack = pack.astype(np.float32)
        return tuple(pack != 0 if data_type is DataType.kBool else pack)

    return load


def storer(data_type: DataType, count: int, aligned: bool) -> Any:
    size, alignment = data_type.itemsize * count, _alignment(data_type, count, aligned)

    def store(address: int, index: int, pack: tuple[Any, ...]) -> None:
        contents = _convert(np.array(pack), data_type).tobytes()
        ctypes.memmove(_at(address, index, size, alignment), contents, size)

    return store


def _convert(pack: np.ndarray[Any, Any], data_type: DataType) -> np.ndarray[Any, Any]:
    kind = data_type.dtype.kind
    if kind == "b":
        return pack != 0
    twice = data_type in _NARROW and (pack.dtype.itemsize == 8 or pack.dtype.kind in "iu")  # NumPy would round twice
    if twice or (pack.dtype.kind == "f" and kind in "iu"):
        return np.array([convert_scalar(number, data_type, "element") for number in pack], data_type.dtype)
    return pack.astype(data_type.dtype)


def value_reader(scalar_type: type[np.generic]) -> Any:
    def read(word0: int, word1: int) -> Any:
        return np.frombuffer(struct.pack("2q", word0, word1), scalar_type, 1)[0]

    return read
