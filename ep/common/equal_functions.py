"""Which functions are equal: those with the same code that refer to equal objects.

The makers of kernels make the same helpers again and again. Equal ones have one compiled function (`deferred.py`).
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import singledispatch
from types import CellType, FunctionType
from typing import Any, Final

from ep.common.global_names import names_in

_PLAIN: Final = bool, int, float, complex, str, bytes
_CHANGING: Final = list, dict, set, bytearray


class NotComparable(Exception):
    """A function has no key: something that it refers to may change, is not defined yet, or is the function itself."""


@singledispatch
def key_of(value: Any, within: tuple[FunctionType, ...] = ()) -> Hashable:
    """Return a key that equal functions have in common. Raises NotComparable.

    Numbers, texts and tuples are compared by their contents, functions that other functions made by their code and
    what they refer to; all else is equal only to itself.
    within: the functions that refer to this value.
    """
    if isinstance(value, _CHANGING):
        raise NotComparable
    return (type(value), repr(value)) if isinstance(value, _PLAIN) else _Itself(value)  # 0.0 is not -0.0


@key_of.register
def _(value: tuple, within: tuple[FunctionType, ...] = ()) -> Hashable:  # type: ignore[type-arg]
    return type(value), *(key_of(item, within) for item in value)


@key_of.register
def _(value: FunctionType, within: tuple[FunctionType, ...] = ()) -> Hashable:
    if "<locals>" not in value.__qualname__:
        return _Itself(value)
    if value in within:
        raise NotComparable
    code, known, within = value.__code__, value.__globals__, (*within, value)
    names = tuple(sorted(names_in(code) & known.keys()))
    cells = (_contents(cell) for cell in value.__closure__ or ())
    used = value.__defaults__, tuple((value.__kwdefaults__ or {}).items()), *cells, *(known[name] for name in names)
    return code, names, *(key_of(item, within) for item in used)


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        raise NotComparable from None


class _Itself:
    """A key of one object."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __hash__(self) -> int:
        return id(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and other._value is self._value
