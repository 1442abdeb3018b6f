"""The types that operators compute in, where they are wider than those of their results."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ep import ops


def wide_of(dtype: Any) -> np.dtype[Any]:
    """Return float32 for 16-bit floating-point types, and other types as they are."""
    found = np.dtype(dtype)
    return np.dtype(np.float32) if found.itemsize == 2 and found.kind not in "iu" else found


def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes 16-bit floating-point numbers, of the dtype of its first array, in float32, and
    rounds its result once.

    Sums, products and powers between could overflow otherwise, although the result does not.
    """

    @functools.wraps(function)
    def call(*inputs: Any, **attributes: Any) -> Any:
        dtype = np.dtype(inputs[0].dtype)
        wide = wide_of(dtype)
        if wide == dtype:
            return function(*inputs, **attributes)
        same = (getattr(one, "dtype", None) == dtype for one in inputs)
        given = [ops.cast(one, wide) if is_same else one for one, is_same in zip(inputs, same, strict=True)]
        return ops.cast(function(*given, **attributes), dtype)

    return call
