"""The header of a .npy file: what it must say, so that its array can be mapped into memory.

NumPy checks less of it, and its errors name neither the file nor what is wrong. Source: NumPy's NEP 1.
"""

from __future__ import annotations

import ast
import math
import os
import re
from typing import Any, BinaryIO, Final

import numpy as np

_MAGIC: Final = b"\x93NUMPY"
_BYTES_OF_LENGTH: Final = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
_MOST: Final = 10_000  # bytes of a text, as NumPy has it
_MOST_DIMS: Final = 32  # with any NumPy
_KEYS: Final = {"descr", "fortran_order", "shape"}


def check(file: BinaryIO) -> None:
    """Raise ValueError, with what is wrong, unless a regular file is one of an array that can be mapped."""
    begin = file.read(8)
    if begin[:6] != _MAGIC:
        raise ValueError("it does not begin as such a file does")
    version = (*begin[6:], 0, 0)[:2]
    if version not in _BYTES_OF_LENGTH:
        raise ValueError(f"its version is {version[0]}.{version[1]}; versions 1.0 to 3.0 are known")
    length = int.from_bytes(_read(file, _BYTES_OF_LENGTH[version]), "little")
    if length > _MOST:
        raise ValueError(f"its header has {length:,} bytes; at most {_MOST:,} are read")
    found = _fields(_read(file, length).decode("utf-8" if version == (3, 0) else "latin-1"))
    dtype = _dtype(found["descr"])
    if not isinstance(found["fortran_order"], bool):
        raise ValueError(f"its fortran_order is {_shown(found['fortran_order'])}; it must be True or False")
    needed, there = _count(found["shape"]) * dtype.itemsize, os.fstat(file.fileno()).st_size - file.tell()
    if needed > there:
        raise ValueError(
            f"it is cut short: its {found['shape']} elements of {dtype} have {needed:,} bytes, and {there:,} are there"
        )


def _read(file: BinaryIO, count: int) -> bytes:
    found = file.read(count)
    if len(found) < count:
        raise ValueError("it is cut short in its header")
    return found


def _fields(text: str) -> dict[str, Any]:
    """Return the fields of a header. Those of Python 2 may have long integers, such as 3L."""
    try:
        found = ast.literal_eval(re.sub(r"(\d)L\b", r"\1", text).strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ValueError("its header is no dict of plain values") from None
    if not isinstance(found, dict) or found.keys() != _KEYS:
        said = ", ".join(map(str, found)) or "none" if isinstance(found, dict) else type(found).__name__
        raise ValueError(f"its header must have the keys {', '.join(sorted(_KEYS))}; it has {said[:100]}")
    return found


def _dtype(descr: Any) -> np.dtype[Any]:
    try:
        dtype = np.lib.format.descr_to_dtype(descr)
    except Exception:  # anything may be there
        raise ValueError(f"its descr is {_shown(descr)}, which is no dtype") from None
    if dtype.hasobject:
        raise ValueError(f"its elements are Python objects (dtype {dtype}), which are not read")
    return dtype


def _count(shape: Any) -> int:
    """Return the number of elements of a shape."""
    if not isinstance(shape, tuple) or any(type(size) is not int or size < 0 for size in shape):
        raise ValueError(f"its shape is {_shown(shape)}; it must be a tuple of integers that are not negative")
    if len(shape) > _MOST_DIMS:
        raise ValueError(f"its shape has {len(shape)} axes; at most {_MOST_DIMS} are read")
    if max(shape, default=0) >= 2**63:
        raise ValueError(f"its shape is {_shown(shape)}, which is larger than any array")
    return math.prod(shape)


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer of too many digits
        return "too long to be shown"
    return text if len(text) <= 100 else f"{text[:97]}..."
