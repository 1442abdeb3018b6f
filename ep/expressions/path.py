"""The paths of blocks: what they have recorded, so that a block that records the same again does not trace it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from ep.common.arrays.checks import NUMBERS
from ep.common.bounded_cache import BoundedCache
from ep.ops.operands import numbers_of

_MOST: Final = 2**14
"""The number of paths that are kept. Beyond it, all are dropped, and begin anew."""


class Path(dict[Hashable, Any]):
    """A sequence of recorded values, shared by all blocks that record the same values in the same order.

    The items of the dict are what is known of the next calls and views, by their keys: in each block that is at this
    path, they record the same.

    before: the path before the last call, view or number; None if nothing is recorded. key: of that one in the trace.
    nodes: its values. num_values: of all recorded values.
    programs: of blocks that end here, by the positions of what their views have.
    """

    __slots__ = ("_next", "before", "key", "nodes", "num_values", "programs")

    def __init__(self, before: Path | None = None, key: Hashable = None, nodes: Sequence[Any] = ()) -> None:
        super().__init__()
        self.before, self.key, self.nodes = before, key, nodes
        self.num_values: int = len(nodes) + (0 if before is None else before.num_values)
        self.programs = BoundedCache()
        self._next: dict[Hashable, Path] = {}

    def after(self, key: Hashable, nodes: Sequence[Any]) -> Path:
        """Return the path after values are recorded; key: theirs in the trace."""
        found = self._next.get(key)
        if found is None:
            _KNOWN.count += 1
            found = self._next[key] = Path(self, key, nodes)
        return found

    def inputs_since(self, before: Path | None) -> list[Any]:
        """Return the values after an earlier path that are inputs: numbers."""
        return [node for path in self.since(before) for node in path.nodes if not node.inputs]

    def since(self, before: Path | None) -> list[Path]:
        """Return the paths after an earlier one, up to this one."""
        paths = list[Path]()
        path: Path | None = self
        while path is not before and path is not None:
            paths.append(path)
            path = path.before
        return paths[::-1]


def known_call(
    before: Path, trace: Any, given: Sequence[Any], names: Sequence[str], results: Sequence[Any]
) -> Callable[[Sequence[Any], Any], list[Any]] | None:
    """Return the function (given, out) that records a call again, in any block at the same path; None if none can.

    before: the path before the call. given, names: its operands. results: lazy arrays.
    """
    after = trace.path
    places = [k for k, one in enumerate(given) if type(one) in NUMBERS]
    numbers = after.inputs_since(before)
    if len(numbers) != len(places) or len(places) > 1 or len(given) > len(names):
        return None  # a number that follows from shapes is recorded as one of the caller's is
    lazy, *others = (k for k in range(len(given)) if k not in places)
    make, nodes = type(given[lazy]), [one.node for one in results]
    each = zip(places, numbers, strict=True)
    pairs = [(place, node.position, numbers_of(node.data_type).array) for place, node in each]

    def call(given: Sequence[Any], out: Any) -> list[Any]:
        trace = given[lazy].trace
        for k in others:
            if given[k].trace is not trace:
                trace.as_buffer(given[k], names[k])  # raises an error
        for place, position, convert in pairs:
            trace.given[position] = convert(given[place], names[place])
        trace.path = after
        return [make(trace, one) for one in nodes]

    return call


class _Paths:
    def __init__(self) -> None:
        self.count, self.roots = 0, dict[Hashable, Path]()

    def root(self, key: Hashable) -> Path:
        if self.count > _MOST:
            self.count, self.roots = 0, {}
        found = self.roots.get(key)
        if found is None:
            found = self.roots[key] = Path()
        return found


_KNOWN: Final = _Paths()


def root(key: Hashable) -> Path:
    """Return the path of blocks that have recorded nothing; key: what else distinguishes them."""
    return _KNOWN.root(key)
