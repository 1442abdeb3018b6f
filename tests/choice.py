"""The choice of the cases of a run: some cases of each test, in rotation."""

from __future__ import annotations

import hashlib
import itertools
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

STRUCTURES = ("expression", "draw")
"""The parameters that name an expression, and number a random one: its kernels are those of no other case."""

COMPILED = ("key", "op", "name", "scalar_type", "dtype", "capability", *STRUCTURES)
"""The parameters that determine the kernels of a case: compilation is most of its time."""


@dataclass(frozen=True)
class Choice:
    """The numbers of cases of a run.

    cases: of a test, at most; keys: that these compile kernels for, at most; structures: expressions, at most.
    long: of all tests marked `ep_long`.
    examples: of a property test.
    turn: the name that the choice follows from.
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

        Tests of one primitive have the same keys, as far as they have them at all: they share kernels.
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
        """Return a case of each key, then another of each, until there are enough."""
        by_key = defaultdict(list)
        for item in items:
            by_key[_compiled(item)].append(item.nodeid)
        limit = self.keys if _parameters(items[0]).keys().isdisjoint(STRUCTURES) else self.structures
        columns = [self._first(by_key[key]) for key in self._first(by_key)[:limit]]
        turns = itertools.zip_longest(*columns)
        return [case for turn in turns for case in turn if case is not None][: self.cases]

    def _first(self, names: Iterable[str]) -> list[str]:
        """Return names in the order of their digests, those of cases without the test: other tests have the same."""
        return sorted(names, key=lambda name: hashlib.sha256(f"{self.turn} {_case(name)}".encode()).digest())


def _case(name: str) -> str:
    return name.partition("[")[2] or name


def _parameters(item: pytest.Item) -> dict[str, object]:
    return item.callspec.params if hasattr(item, "callspec") else {}


def _compiled(item: pytest.Item) -> str:
    """Return what a case compiles kernels for, spelled; nothing if its test does not say."""
    parameters = _parameters(item)
    parts = [parameters[name] for name in COMPILED if name in parameters]
    flat = [one for part in parts for one in (part if isinstance(part, tuple) else (part,))]
    return " ".join(getattr(one, "name", None) or getattr(one, "__name__", None) or str(one) for one in flat)
