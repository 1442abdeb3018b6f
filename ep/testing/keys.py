"""The keys that a test runs with: those that the device registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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


def spread(keys: Sequence[FlatKey]) -> list[FlatKey]:
    """Return a few keys from all over: for a test that draws one at each example, and is about other things.

    With more, it would be the compiler that is tested.
    """
    count = min(9, len(keys))  # odd: tables of keys have 14 or 16 columns, and each key is of another one
    return [keys[place * len(keys) // count] for place in range(count)]


def every_key(factory: type[Factory[Any]]) -> pytest.MarkDecorator:
    """Mark a test that takes `key`: it runs once for each key that the device registers."""
    return pytest.mark.ep_keys.with_args(factory, None, None)


def some_key(
    factory: type[Factory[Any]], *preferred: FlatKey, suits: Callable[[FlatKey], bool] = lambda key: True
) -> pytest.MarkDecorator:
    """Mark a test that takes `key` and that any one key is enough for, so that it runs on every device.

    It runs with those of the `preferred` keys that the device registers, and if there are none of them, with the
    first that `suits`.
    """
    return pytest.mark.ep_keys.with_args(factory, preferred, suits)


def those_keys(factory: type[Factory[Any]], *keys: FlatKey) -> pytest.MarkDecorator:
    """Mark a test that takes `key` and is about these keys: it runs with those of them that the device registers."""
    return pytest.mark.ep_keys.with_args(factory, keys, lambda key: False)


def needs(factory: type[Factory[Any]], *key: Any) -> pytest.MarkDecorator:
    """Mark a test that is about one key: it is left out where the device does not register it."""
    return pytest.mark.ep_needs.with_args(factory, key)


def needs_one_of(factory: type[Factory[Any]], *keys: FlatKey) -> pytest.MarkDecorator:
    """Mark a test that draws from `keys`: it is left out where the device registers none of them.

    Without `keys`, it is left out where the device registers nothing for the contract.
    """
    return pytest.mark.ep_needs.with_args(factory, *keys)


def chosen(
    device_type: DeviceType,
    factory: type[Factory[Any]],
    preferred: Sequence[FlatKey] | None,
    suits: Callable[[FlatKey], bool],
) -> list[FlatKey]:
    """Return the keys that a test so marked runs with."""
    keys = registered_keys(device_type, factory)
    if preferred is None:
        return keys
    return [key for key in preferred if key in keys] or list(filter(suits, keys))[:1]


def asked_for(item: pytest.Item) -> Iterator[tuple[type[Factory[Any]], list[FlatKey | None]]]:
    """Yield what a collected test needs of the device: one of these keys, or of all if there are none.

    None stands for a key that no device has.
    """
    for mark in item.iter_markers("ep_needs"):
        factory, *keys = mark.args
        yield factory, keys
    if (chosen_keys := item.get_closest_marker("ep_keys")) is not None:
        yield chosen_keys.args[0], [item.callspec.params["key"]]  # type: ignore[attr-defined]


def key_name(key: FlatKey | None) -> str:
    """Return how reports spell a key."""
    return "none" if key is None else "-".join(part.name for part in key)
