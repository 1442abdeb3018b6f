"""What a primitive keeps for its later launches, up to a limit."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

_KEPT: Final = 256

V = TypeVar("V")


class BoundedCache(dict[Hashable, Any]):
    """What a primitive keeps for later launches, by dims or by number; the oldest goes where it would be too much."""

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
