"""Arrays that operators make on the host, and the elements of others at places that are known there."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep import ops
from ep.ops.devices import arrays_of


def placed(array: np.ndarray[Any, Any], like: Any) -> Any:
    """Return an array of the host on the device of another array."""
    arrays: Any = arrays_of((like,), ("x",))
    return array if isinstance(like, np.ndarray) else arrays.copy_from_host(array)


def taken(x: Any, order: np.ndarray[Any, Any], axis: int) -> Any:
    """Return the elements of x at places along an axis that are known on the host."""
    return ops.gather(x, placed(order.astype(np.int64, copy=False), x), axis)


def places(size: int, axis: int, rank: int, like: Any, step: int = 1) -> Any:
    """Return the numbers from 0 to `size` - 1, times a step, along one of `rank` axes, on the device of another
    array."""
    numbers = np.arange(size, dtype=np.int64) * step
    return placed(numbers.reshape([-1 if k == axis else 1 for k in range(rank)]), like)
