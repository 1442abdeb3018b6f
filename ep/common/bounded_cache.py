"""A bounded cache of the values that are kept for later calls, such as plans."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final, TypeVar

from ep.common.checks import are_integers

KEPT: Final = 256
"""The number of values that are kept. Beyond it, a new generation begins and the older generation is dropped."""

MOST_BYTES: Final = 2**28
"""The most bytes of a generation of plans, beside those of its largest one. Arrays that several share count once."""

MOST_IDLE: Final = 64
"""The most pieces of memory for intermediate values that are kept, of one graph, while no thread uses them."""

V = TypeVar("V")


class BoundedCache(dict[Hashable, Any]):
    """A bounded cache of values that are kept for later calls, by dims, by number, or by all that a call depends on.

    It has two generations: the items of the dict itself are the younger one, `older` is the other. A value found in the
    older one moves to the younger one. When the younger one is full, it replaces the older one: after KEPT values, or
    MOST_BYTES.
    A lookup of a young value costs no more than in a dict, and nothing is sorted. There is no lock, since a
    forked child could find it held for ever. At worst, a race between threads loses a value, which is then made again.
    """

    older: dict[Hashable, Any]

    def __init__(self, holds: Callable[[Any], Mapping[Hashable, int]] | None = None) -> None:
        """holds: returns the bytes of all that a value keeps in memory, each by a key that is the same for values which
        share it. Without it, values are small."""
        super().__init__()
        self.older = {}
        self._holds, self._held, self._largest = holds, dict[Hashable, int](), 0

    def __missing__(self, key: Hashable) -> Any:
        """Return the value of a key that is not in the younger generation, or None if it is in neither."""
        value = self.older.get(key)
        if value is not None:
            self.put(key, value)
        return value

    # as `self[key]`: the value of a key, or None
    get = dict.__getitem__  # type: ignore[assignment]

    def find(self, *dims: Any) -> Any:
        """Return the value that is kept for dims, strides or positions, as given to Launch, or None.

        Only tuples of integers, and None, are looked up: True and 1.0 are the same key as 1, but Launch must refuse
        them.
        """
        try:
            return self.get(dims) if are_integers(*dims) else None
        except TypeError:  # dims is a list
            return None

    def keep(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return the value of `key`; if there is none, make it with `make`."""
        value: V | None = self.get(key)
        if value is None:
            value = make()
            self.put(key, value)
        return value

    def put(self, key: Hashable, value: Any) -> None:
        """Set the value of `key`, in place of any earlier one."""
        self[key] = value
        if len(self) > KEPT or (self._holds is not None and self._exceeds(self._holds(value))):
            self.older = dict(self)
            self.clear()
            self._held, self._largest = {}, 0

    def _exceeds(self, held: Mapping[Hashable, int]) -> bool:
        """Count what one more value keeps in memory; return whether it is too much."""
        self._held.update(held)
        self._largest = max(self._largest, sum(held.values()))
        return sum(self._held.values()) > self._largest + MOST_BYTES
