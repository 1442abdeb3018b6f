"""What was used of late: kept up to a limit, beyond which goes what was not asked for meanwhile."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

_KEPT: Final = 256


class Recent(dict[Hashable, Any]):
    """Values by key: the last 256 that were used can be found, and no more than 512 are kept.

    They are in two halves. This dict is the younger one, where `get` finds at once what is used often; `find` looks
    into the older one as well, and takes what it finds there over. Without a lock, which a forked child could find
    taken for ever: where two threads keep values at once, one may be lost.
    """

    def __init__(self) -> None:
        super().__init__()
        self.older: dict[Hashable, Any] = {}

    def find(self, key: Hashable) -> Any:
        """The value of a key; None where there is none."""
        found = self.get(key)
        if found is None:
            found = self.older.get(key)
            if found is not None:
                self.keep(key, found)
        return found

    def keep(self, key: Hashable, value: Any) -> None:
        """Keep a value, which is not None."""
        if len(self) >= _KEPT:
            self.older = dict(self)
            self.clear()
        self[key] = value
