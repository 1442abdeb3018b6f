"""The keys that a test runs with: those that the device registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

import hypothesis
import pytest

from ep.include import DeviceType
from ep.include.primitive import Factory, registered

FlatKey: TypeAlias = tuple[Any, ...]
"""The op, if the primitive has one, and the data types: the first arguments of New."""

Test = TypeVar("Test", bound=Callable[..., Any])


def registered_keys(device_type: DeviceType, factory: type[Factory[Any]]) -> list[FlatKey]:
    """Return the keys that a device type registers for the contract `factory`, in order."""
    return [
        entry.dtypes if entry.op is None else (entry.op, *entry.dtypes)
        for entry in registered(device_type)
        if entry.interface is factory.primitive
    ]


def every_key(factory: type[Factory[Any]]) -> pytest.MarkDecorator:
    """Mark a test with the argument `key`: it runs once for each key that the device registers."""
    return pytest.mark.ep_keys.with_args(factory, None, None)


def few_keys(factory: type[Factory[Any]], suits: Callable[[FlatKey], bool] = lambda key: True) -> pytest.MarkDecorator:
    """Mark a property test with the argument `key` that is not about keys: it runs with a few from the whole table.

    With more keys, most of the time would be spent in the compiler.
    """
    return pytest.mark.ep_keys.with_args(factory, _spread, suits)


def few_examples(test: Test) -> Test:
    """Decorate a property test that runs with several keys: it has fewer examples with each of them."""
    return hypothesis.settings(max_examples=min(20, hypothesis.settings().max_examples))(test)


def some_key(
    factory: type[Factory[Any]], *preferred: FlatKey, suits: Callable[[FlatKey], bool] = lambda key: True
) -> pytest.MarkDecorator:
    """Mark a test with the argument `key` for which any one key is enough, so that it runs on every device.

    It runs with those of the `preferred` keys that the device registers; if there are none, with the first that
    `suits`.
    """
    return pytest.mark.ep_keys.with_args(factory, preferred, suits)


def those_keys(factory: type[Factory[Any]], *keys: FlatKey) -> pytest.MarkDecorator:
    """Mark a test with the argument `key` that is about `keys`: it runs with those that the device registers."""
    return pytest.mark.ep_keys.with_args(factory, keys, lambda key: False)


def needs(factory: type[Factory[Any]], *key: Any) -> pytest.MarkDecorator:
    """Mark a test that is about one key: it is left out if the device does not register it."""
    return pytest.mark.ep_needs.with_args(factory, key)


def needs_one_of(factory: type[Factory[Any]], *keys: FlatKey) -> pytest.MarkDecorator:
    """Mark a test that draws from `keys`: it is left out if the device registers none of them.

    Without `keys`, it is left out if the device registers nothing for the contract.
    """
    return pytest.mark.ep_needs.with_args(factory, *keys)


def chosen(
    device_type: DeviceType,
    factory: type[Factory[Any]],
    preferred: Sequence[FlatKey] | Callable[[list[FlatKey]], list[FlatKey]] | None,
    suits: Callable[[FlatKey], bool],
) -> list[FlatKey]:
    """Return the keys that a test with one of the marks above runs with."""
    keys = registered_keys(device_type, factory)
    if preferred is None:
        return keys
    if callable(preferred):
        return preferred(list(filter(suits, keys)) or keys[:1])
    return [key for key in preferred if key in keys] or list(filter(suits, keys))[:1]


def _spread(keys: list[FlatKey]) -> list[FlatKey]:
    count = min(9, len(keys))  # odd: tables of keys have 14 or 16 columns, so each key is from another column
    return [keys[place * len(keys) // count] for place in range(count)]


def asked_for(item: pytest.Item) -> Iterator[tuple[type[Factory[Any]], list[FlatKey | None]]]:
    """Yield contracts and keys that a collected test needs: the device must register one of the keys, or any if empty.

    None stands for a key that no device has.
    """
    for mark in item.iter_markers("ep_needs"):
        factory, *keys = mark.args
        yield factory, keys
    if (chosen_keys := item.get_closest_marker("ep_keys")) is not None:
        yield chosen_keys.args[0], [item.callspec.params["key"]]  # type: ignore[attr-defined]


def key_name(key: FlatKey | None) -> str:
    """Return the name of a key in reports."""
    return "none" if key is None else "-".join(part.name for part in key)
