"""The types of indices that primitives read, after `Arrays.resolved`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

_INT32: Final = np.dtype(np.int32)
_INT64: Final = np.dtype(np.int64)


def resolved_type(dtype: np.dtype[Any], size: int, mode: str) -> np.dtype[Any]:
    """Return the type of what `Arrays.resolved` returns for indices of `dtype`: int32 or int64 if negative ones are
    replaced, and else the same.

    size: of the axis. mode: of `gather`.
    """
    if mode != "wrap_negative" or dtype.kind == "u":
        return dtype
    # size may be more than the type holds
    narrow = dtype.itemsize <= _INT32.itemsize and size <= np.iinfo(_INT32).max
    return _INT32 if narrow else _INT64
