"""The choice of the cases of a run: a case of each test, in rotation."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

COMPILED = ("key", "op", "name", "scalar_type", "dtype", "capability", "chunk", "expression", "draw")
"""The parameters that determine the kernels of a case; most of its time is compilation."""


@dataclass(frozen=True)
class Choice:
    """The cases of a run: one of each test, and some of those marked `ep_long`.

    long: the tests marked `ep_long` of which there is a case.
    examples: the examples of a property test.
    turn: a name that determines the choice.
    """

    long: int
    examples: int
    turn: str

    def __str__(self) -> str:
        return (
            f"a case of each test, of {self.long} of those marked ep_long, and {self.examples} examples of property "
            f"tests, by --ep-turn {self.turn} (all: --ep-every-case)"
        )

    def chosen(self, items: Iterable[pytest.Item]) -> set[str]:
        """Return the names of the cases that a run has.

        Tests of one primitive run with the same key, if they have it, so that they share kernels.
        """
        tests: dict[str, list[pytest.Item]] = defaultdict(list)
        long: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            (long if item.get_closest_marker("ep_long") else tests)[item.nodeid.partition("[")[0]].append(item)
        some = (long[name] for name in sorted(long, key=self._digest)[: self.long])
        return {min(cases, key=self._place).nodeid for cases in (*tests.values(), *some)}

    def _place(self, item: pytest.Item) -> tuple[bytes, bytes]:
        """Return the place of a case among those of its test: by its key, then by its other parameters."""
        return self._digest(_compiled(item)), self._digest(_case(item.nodeid))

    def _digest(self, name: str) -> bytes:
        return hashlib.sha256(f"{self.turn} {name}".encode()).digest()


def _case(name: str) -> str:
    return name.partition("[")[2] or name


def _parameters(item: pytest.Item) -> dict[str, object]:
    return item.callspec.params if hasattr(item, "callspec") else {}


def _compiled(item: pytest.Item) -> str:
    """Return the values that determine the kernels of a case, as text; an empty string if its test has none."""
    parameters = _parameters(item)
    parts = [parameters[name] for name in COMPILED if name in parameters]
    flat = [one for part in parts for one in (part if isinstance(part, tuple) else (part,))]
    return " ".join(getattr(one, "name", None) or getattr(one, "__name__", None) or str(one) for one in flat)
