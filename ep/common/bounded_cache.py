"""What a primitive keeps for its later launches, up to a limit."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

from ep.common.checks import are_integers

_KEPT: Final = 256

V = TypeVar("V")


class BoundedCache(dict[Hashable, Any]):
    """What a primitive keeps for later launches, by dims or by number; the oldest goes where it would be too much."""

    def find(self, *dims: Any) -> Any:
        """The value that is kept for dims, strides or positions, as Launch is given them; None where there is none.

        Only tuples of integers, or None, are looked up: True and 1.0 are the same key as 1, and have to be refused.
        """
        try:
            return self.get(dims) if are_integers(*dims) else None
        except TypeError:  # dims in a list
            return None

    def keep(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return the value of `key`, made with `make` where there is none."""
        value = self.get(key)
        if value is None:
            value = make()
            # without a lock, which a forked child could find taken for ever
            self[key] = value
            if len(self) > _KEPT:
                for oldest in list(self)[:-_KEPT]:
                    self.pop(oldest, None)
        return value
