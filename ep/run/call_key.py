"""The key of a call: what a plan for arguments depends on, in a form that is found quickly."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Final

import numpy as np

from ep.common.arrays.checks import NUMBERS
from ep.include.arrays import Keyed

_NDARRAY: Final = np.ndarray
_VARYING: Final = NUMBERS - {bool}
"""The types of numbers that may change from call to call. True and False do not: like strings, they select a plan."""
_SELECTING: Final = frozenset([bool, str, type(None)])


def call_key(arguments: Iterable[Any]) -> Hashable:
    """Return the key of a call: the shapes, dtypes and strides of its arrays, and the types of its numbers.

    Returns None if there is an argument that is no ndarray, no array of a device, no number, no string, and not None.
    """
    key: Any = ()
    for one in arguments:
        kind = type(one)
        if kind is _NDARRAY:
            key = key, one.shape, one.dtype
            if not one.flags.c_contiguous:
                key = key, one.strides
        elif kind in _VARYING:
            key = key, kind
        elif kind in _SELECTING:
            key = key, kind, one
        elif issubclass(kind, Keyed):
            key = key, one.call_key
        else:
            return None
    found: Hashable = key
    return found
