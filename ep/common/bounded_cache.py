"""A cache of what a primitive keeps for its later launches, up to a limit."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

from ep.common.checks import are_integers

KEPT: Final = 256
"""The number of values that are kept. Once twice as many are there, the less recently used half is dropped."""

V = TypeVar("V")


class BoundedCache(dict[Hashable, Any]):
    """A cache of what a primitive keeps for later launches, by dims or by number; what was used longest ago goes.

    There are two generations: the items of the dict itself, and those that were used before. What is found among the
    older ones moves to the younger ones, and when these are too many, they take the place of the older ones. So to find
    a young one costs no more than in a dict, nothing is sorted, and there is no lock, which a forked child could find
    taken for ever. Threads that meet in between lose a value at worst, which is then made anew.
    """

    older: dict[Hashable, Any]

    def __init__(self) -> None:
        super().__init__()
        self.older = {}

    def __missing__(self, key: Hashable) -> Any:
        """Return the value of a key that is not among the younger ones; None if there is none at all."""
        value = self.older.get(key)
        if value is not None:
            self.put(key, value)
        return value

    # as `self[key]`: the value of a key, None where there is none
    get = dict.__getitem__  # type: ignore[assignment]

    def find(self, *dims: Any) -> Any:
        """Return the value that is kept for dims, strides or positions, as Launch is given them; None if there is none.

        Only tuples of integers, or None, are looked up: True and 1.0 are the same key as 1, and have to be refused.
        """
        try:
            return self.get(dims) if are_integers(*dims) else None
        except TypeError:  # dims in a list
            return None

    def keep(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return the value of `key`, made with `make` if there is none."""
        value: V | None = self.get(key)
        if value is None:
            value = make()
            self.put(key, value)
        return value

    def put(self, key: Hashable, value: Any) -> None:
        """Keep a value, in the place of that which `key` has."""
        self[key] = value
        if len(self) > KEPT:
            self.older = dict(self)
            self.clear()
