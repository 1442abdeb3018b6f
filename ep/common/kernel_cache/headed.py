"""Records in files: a text in JSON, and the bytes that it describes behind it.

The type of a record, a NamedTuple, says what each field may be: numbers, which are places and sizes and so not
negative, texts, other records, and tuples and dicts of these. The reader refuses all else.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

R = TypeVar("R")
_LENGTH: Final = 8  # the bytes of the number of the header's bytes


class DamagedError(ValueError):
    """Raised for contents of a file that this version of ep has not written."""


def with_header(header: Any, *parts: bytes) -> bytes:
    """Return contents: a record, and the parts one after another."""
    text = json.dumps(header).encode()
    return b"".join((len(text).to_bytes(_LENGTH, "little"), text, *parts))


def header_of(kind: type[R], contents: bytes) -> tuple[R, int]:
    """Return the record of contents that `with_header` made, and where the first part begins. Raises DamagedError."""
    begin = _LENGTH + int.from_bytes(contents[:_LENGTH], "little")
    return record_of(kind, contents[_LENGTH:begin]), begin


def record_of(kind: Any, text: bytes) -> Any:
    """Return the value of a text in JSON. kind: its type. Raises DamagedError."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"it is no JSON: {error}") from None
    return _reader(kind)(value)


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """Return the function that checks and converts what JSON has for a value of a type."""
    parts = get_args(kind)
    if hasattr(kind, "_fields"):
        hints = get_type_hints(kind)
        return lambda value: kind._make(_each([hints[name] for name in kind._fields], value))
    if get_origin(kind) is dict:
        of_value = _reader(parts[1])
        return lambda value: {name: of_value(one) for name, one in _checked(dict, value).items()}
    if get_origin(kind) is tuple and parts[1:] == (...,):
        of_one = _reader(parts[0])
        return lambda value: tuple([of_one(one) for one in _checked(list, value)])
    if get_origin(kind) is tuple:
        return lambda value: tuple(_each(parts, value))
    if parts:
        return lambda value: _any(parts, value)
    return lambda value: _checked(kind, value)


def _each(kinds: Any, value: Any) -> list[Any]:
    if len(_checked(list, value)) != len(kinds):
        raise DamagedError(f"{value} has {len(value)} parts, expected {len(kinds)}")
    return [_reader(kind)(one) for kind, one in zip(kinds, value, strict=True)]


def _any(kinds: Any, value: Any) -> Any:
    """Return the value as one of several types."""
    for kind in kinds:
        try:
            return _reader(kind)(value)
        except DamagedError:
            continue
    raise DamagedError(f"{value} is none of {kinds}")


def _checked(kind: type[Any], value: Any) -> Any:
    if type(value) is not kind or (kind is int and value < 0):
        raise DamagedError(f"{value} is no {kind.__name__} of a record")
    return value
