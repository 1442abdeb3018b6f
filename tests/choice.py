"""The choice of the cases of a run: some cases of each test, in rotation."""

from __future__ import annotations

import hashlib
import itertools
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

STRUCTURES = ("expression", "draw")
"""The parameters that name an expression, or number a random one: no other case shares its kernels."""

COMPILED = ("key", "op", "name", "scalar_type", "dtype", "capability", "chunk", *STRUCTURES)
"""The parameters that determine the kernels of a case; most of its time is compilation."""


@dataclass(frozen=True)
class Choice:
    """The numbers of cases of a run.

    cases: the most cases of a test; keys, structures: the most keys, or expressions, that they compile kernels for.
    long: the cases of all tests marked `ep_long` together.
    examples: the examples of a property test.
    turn: a name that determines the choice.
    """

    cases: int
    keys: int
    structures: int
    long: int
    examples: int
    turn: str

    def __str__(self) -> str:
        return (
            f"at most {self.cases} cases of each test, with {self.keys} keys or {self.structures} expressions, "
            f"{self.examples} examples of property tests, {self.long} cases marked ep_long, by --ep-turn {self.turn} "
            "(all: --ep-every-case)"
        )

    def chosen(self, items: Iterable[pytest.Item]) -> set[str]:
        """Return the names of the cases that a run has.

        Tests of one primitive run with the same keys, if they have them, so that they share kernels.
        """
        tests, long = defaultdict(list), []
        for item in items:
            if item.get_closest_marker("ep_long"):
                long.append(item.nodeid)
            else:
                tests[item.nodeid.partition("[")[0]].append(item)
        names = set(self._first(long)[: self.long])
        for cases in tests.values():
            names.update(self._of_one_test(cases))
        return names

    def _of_one_test(self, items: list[pytest.Item]) -> list[str]:
        """Return one case of each key, then a second one of each, until there are enough."""
        by_key = defaultdict(list)
        for item in items:
            by_key[_compiled(item)].append(item.nodeid)
        limit = self.keys if _parameters(items[0]).keys().isdisjoint(STRUCTURES) else self.structures
        columns = [self._first(by_key[key]) for key in self._first(by_key)[:limit]]
        turns = itertools.zip_longest(*columns)
        return [case for turn in turns for case in turn if case is not None][: self.cases]

    def _first(self, names: Iterable[str]) -> list[str]:
        """Return names in the order of digests of their cases without the test, which is the same in all tests."""
        return sorted(names, key=lambda name: hashlib.sha256(f"{self.turn} {_case(name)}".encode()).digest())


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
