"""Keys that tell apart values that compare equal but are not the same."""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum
from types import EllipsisType, NoneType
from typing import Any, Final

import numpy as np

from ep.common.scalar import number_key

_WHOLE: Final = frozenset([str, NoneType, EllipsisType])
_TYPES: Final = frozenset([bool, int, float, complex])
_INTEGERS: Final = frozenset([int, NoneType])
_MOST: Final = 64


class Inexact(Exception):
    """Raised for a value without an exact key: it may differ from a value that equals it, or change."""


def exact(value: Any) -> Hashable:
    """Return a key of a value. Values that a call could distinguish have different keys.

    True, 1 and 1.0 have different keys; so do the two zeros, and tuples and lists that hold them. A NaN has a key.
    Supported are numbers and their types, dtypes, text, None, `...`, enumerators, ranges, and slices, tuples and lists
    of these with up to 64 elements. Raises Inexact for other values.
    """
    kind = type(value)
    if kind is int or kind is bool or kind in _WHOLE:  # the usual ones first
        return kind, value
    if kind is slice:
        start, stop, step = value.start, value.stop, value.step
        if type(start) in _INTEGERS and type(stop) in _INTEGERS and type(step) in _INTEGERS:
            return kind, start, stop, step
        return kind, exact(start), exact(stop), exact(step)
    if kind is range:
        return kind, value.start, value.stop, value.step
    if kind is tuple or kind is list:
        if len(value) > _MOST:
            raise Inexact
        return kind, *[exact(one) for one in value]
    if kind is float or kind is complex:
        return number_key(value)
    if isinstance(value, Enum):
        return kind, value
    if isinstance(value, np.number | np.bool_):
        return number_key(value)
    if isinstance(value, np.dtype) or (kind is type and (value in _TYPES or issubclass(value, np.generic))):
        return kind, value
    raise Inexact
