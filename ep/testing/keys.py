"""Which keys a test runs with: those that the device registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import pytest

from ep.include import DeviceType
from ep.include.primitive import Factory, registered

FlatKey: TypeAlias = tuple[Any, ...]
"""The op, where the primitive has one, and the data types: the first arguments of New."""


def registered_keys(device_type: DeviceType, factory: type[Factory[Any]]) -> list[FlatKey]:
    """Return what a device type registers for the contract `factory`, in order."""
    return [
        entry.dtypes if entry.op is None else (entry.op, *entry.dtypes)
        for entry in registered(device_type)
        if entry.interface is factory.primitive
    ]


def every_key(factory: type[Factory[Any]]) -> pytest.MarkDecorator:
    """Mark a test that takes `key`: it runs once for each key that the device registers."""
    return pytest.mark.ep_keys(factory, ())


def some_key(factory: type[Factory[Any]], *preferred: FlatKey) -> pytest.MarkDecorator:
    """Mark a test that takes `key` and that one key is enough for.

    It runs with those of the `preferred` keys that the device registers, and where it has none of them with its first.
    """
    return pytest.mark.ep_keys(factory, preferred)


def needs(factory: type[Factory[Any]], *key: Any) -> pytest.MarkDecorator:
    """Mark a test, or one of its parameter sets, that is about one key: it is left out where that is not registered."""
    return pytest.mark.ep_needs(factory, key)


def chosen(factory: type[Factory[Any]], preferred: Sequence[FlatKey], device_type: DeviceType) -> list[FlatKey]:
    """Return the keys that a test marked by `every_key` or `some_key` runs with."""
    keys = registered_keys(device_type, factory)
    return [key for key in preferred if key in keys] or (keys[:1] if preferred else keys)


def asked_for(item: pytest.Item) -> Iterator[tuple[type[Factory[Any]], FlatKey | None]]:
    """What a collected test needs the device to have; None in the place of a key that it does not have."""
    for mark in item.iter_markers("ep_needs"):
        yield mark.args
    keys = item.get_closest_marker("ep_keys")
    if keys is not None:
        yield keys.args[0], item.callspec.params["key"]  # type: ignore[attr-defined]


def key_name(key: FlatKey | None) -> str:
    """How reports spell a key."""
    return "none" if key is None else "-".join(part.name for part in key)
