"""The paths of blocks: what they have recorded, so that a block that records the same again does not trace it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from ep.common.arrays.checks import NUMBERS
from ep.common.bounded_cache import BoundedCache
from ep.ops.operands import numbers_of

_MOST: Final = 2**14
"""The number of paths that are kept. Beyond it, all are dropped, and begin anew."""


class Path(dict[Hashable, Any]):
    """A sequence of recorded values, shared by all blocks that record the same values in the same order.

    The items of the dict are what is known of the next calls and views, by their keys: in each block that is at this
    path, they record the same.

    num_values, num_keys: of all recorded values, and of the keys in the trace for them.
    programs: of blocks that end here, by what they assign. arrays: for the path of a first view, the arrays of earlier
    blocks, by the identity of the first.
    """

    __slots__ = ("_next", "arrays", "num_keys", "num_values", "programs")

    def __init__(self, num_keys: int = 0, num_values: int = 0) -> None:
        super().__init__()
        self.num_keys, self.num_values = num_keys, num_values
        self.programs, self.arrays = BoundedCache(), BoundedCache()
        self._next: dict[Hashable, Path] = {}

    def after(self, key: Hashable, num_values: int) -> Path:
        """Return the path after values are recorded; key: their key in the trace."""
        found = self._next.get(key)
        if found is None:
            _KNOWN.count += 1
            found = self._next[key] = Path(self.num_keys + 1, self.num_values + num_values)
        return found


class Known(NamedTuple):
    """What a call or a view records: the path after it, and for the trace its values and their keys."""

    path: Path
    values: Sequence[Any]
    keys: Sequence[tuple[Hashable, Any]]


def known_between(before: Path, trace: Any) -> Known:
    """Return what a trace has recorded since it was at a path."""
    path = trace.path
    keys = [*islice(reversed(trace.recorded().items()), path.num_keys - before.num_keys)]
    return Known(path, trace.nodes[before.num_values :], keys[::-1])


def known_call(
    before: Path, trace: Any, given: Sequence[Any], names: Sequence[str], result: Any
) -> Callable[[Sequence[Any], Any], Any] | None:
    """Return the function (given, out) that records a call again, in any block at the same path; None if none can.

    before: the path before the call. given, names: its operands. result: one lazy array, or a list of them.
    """
    known = known_between(before, trace)
    places = [k for k, one in enumerate(given) if type(one) in NUMBERS]
    numbers = [node for node in known.values if not node.inputs]
    if len(numbers) != len(places) or len(places) > 1 or len(given) > len(names):
        return None  # a number that follows from shapes is recorded as one of the caller's is
    lazy, *others = (k for k in range(len(given)) if k not in places)
    many, node = isinstance(result, list), getattr(result, "node", None)
    nodes = [one.node for one in result] if many else []
    make = type(given[lazy])

    def call(given: Sequence[Any], out: Any) -> Any:
        trace = given[lazy].trace
        for k in others:
            if given[k].trace is not trace:
                trace.as_buffer(given[k], names[k])  # raises an error
        trace.follow(known)
        return [make(trace, one) for one in nodes] if many else make(trace, node)

    if not places:
        return call
    (place,), (number,) = places, numbers
    position, convert, name = number.position, numbers_of(number.data_type).array, names[place]

    def call_with_number(given: Sequence[Any], out: Any) -> Any:
        given[lazy].trace.follow_number(position, convert(given[place], name))
        return call(given, out)

    return call_with_number


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
