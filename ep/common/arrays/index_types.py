"""The types of indices after negative ones are replaced."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

_INT32: Final = np.dtype(np.int32)
_INT64: Final = np.dtype(np.int64)


def wrapped_type(dtype: np.dtype[Any], size: int) -> np.dtype[Any]:
    """Return the type of indices of an axis of `size` elements, without negative ones: int32 or int64, if `dtype` is
    signed."""
    if dtype.kind == "u":
        return dtype
    # size may be more than the type holds
    narrow = dtype.itemsize <= _INT32.itemsize and size <= np.iinfo(_INT32).max
    return _INT32 if narrow else _INT64
