"""Nested tuples, lists and dicts with leaves: arrays, numbers and other values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def form_of(value: Any, leaves: list[Any]) -> Any:
    """Return the structure of nested tuples, lists and dicts as a key; append their leaves to `leaves`, in order."""
    if isinstance(value, tuple | list):
        return type(value), tuple(form_of(one, leaves) for one in value)
    if isinstance(value, dict):
        return tuple((name, form_of(one, leaves)) for name, one in value.items())
    leaves.append(value)
    return None


def leaves_of(value: Any) -> list[Any]:
    """Return the leaves of a value, in order."""
    leaves: list[Any] = []
    form_of(value, leaves)
    return leaves


def name_leaves(value: Any, name: str, names: list[str]) -> None:
    """Add the names of the leaves of a value that is called `name`: "w['first'][0]"."""
    if isinstance(value, tuple | list | dict):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            name_leaves(one, f"{name}[{key!r}]", names)
    else:
        names.append(name)


def replaced(value: Any, rest: Iterator[Any]) -> Any:
    """Return the same structure with the leaves replaced by those from `rest`, in order."""
    if isinstance(value, tuple | list):
        made = [replaced(one, rest) for one in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if isinstance(value, dict):
        return {name: replaced(one, rest) for name, one in value.items()}
    return next(rest)


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Return the same structure with a function applied to each leaf."""
    return replaced(value, map(function, leaves_of(value)))
