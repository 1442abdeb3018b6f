"""A layered layout: items in rows from top to bottom, and edges between them that cross no item."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

_GAP: Final = 24.0  # between the items of a layer
_BETWEEN: Final = 34.0  # between layers
_SWEEPS: Final = 6


class Edge(NamedTuple):
    """An edge between two items; at_start, at_end: the distances of its ends from the centres of the items."""

    start: Hashable
    end: Hashable
    at_start: float = 0.0
    at_end: float = 0.0


class _Bend(NamedTuple):
    """The place where the edges from one point of an item cross a layer."""

    start: Hashable
    at_start: float
    layer: int


def longest_paths(items: Iterable[Hashable], edges: Iterable[Edge]) -> dict[Hashable, int]:
    """Return the layer of each item: the length of the longest path to it. Items come in topological order."""
    before: dict[Hashable, list[Hashable]] = {}
    for edge in edges:
        before.setdefault(edge.end, []).append(edge.start)
    layers: dict[Hashable, int] = {}
    for item in items:
        layers[item] = max((layers[one] + 1 for one in before.get(item, ())), default=0)
    return layers


class Layout:
    """The places of items, and the paths of edges.

    width, height: the size of the drawing. places: the left end and the top of each item. paths: the SVG text of the
    edges.
    """

    def __init__(
        self, sizes: Mapping[Hashable, tuple[float, float]], edges: Sequence[Edge], layers: Mapping[Hashable, int]
    ) -> None:
        """sizes: the width and the height of each item. layers: an edge goes to a layer below."""
        self._sizes = dict(sizes)
        self._rows: list[list[Hashable]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
        for item in sizes:
            self._rows[layers[item]].append(item)
        self._parts: dict[Edge, None] = {}  # from each layer to the next, without duplicates
        for edge in edges:
            self._divide(edge, layers)
        self._ends: dict[Hashable, list[tuple[Edge, int]]] = {}
        for part in self._parts:
            self._ends.setdefault(part.start, []).append((part, 1))
            self._ends.setdefault(part.end, []).append((part, -1))
        self._left: dict[Hashable, float] = {}
        for row in self._rows:
            self._spread(row, {})
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            for row in self._rows if down else reversed(self._rows):
                self._spread(row, {item: self._wished(item, -1 if down else 1) for item in row})
        self._finish(sizes)

    def _divide(self, edge: Edge, layers: Mapping[Hashable, int]) -> None:
        last, at_last = edge.start, edge.at_start
        for layer in range(layers[edge.start] + 1, layers[edge.end]):
            bend = _Bend(edge.start, edge.at_start, layer)
            if bend not in self._sizes:
                self._sizes[bend] = 0.0, 0.0
                self._rows[layer].append(bend)
            self._parts[Edge(last, bend, at_last)] = None
            last, at_last = bend, 0.0
        self._parts[Edge(last, edge.end, at_last, edge.at_end)] = None

    def _wished(self, item: Hashable, side: int) -> float:
        """Return the centre of an item that makes its edges to one side straight; without such edges, its present
        centre."""
        found = []
        for edge, end in self._ends.get(item, ()):
            if end == side:
                other, there, here = (edge.end, edge.at_end, edge.at_start)
                if side < 0:
                    other, there, here = (edge.start, edge.at_start, edge.at_end)
                found.append(self._centre(other) + there - here)
        return sum(found) / len(found) if found else self._centre(item)

    def _centre(self, item: Hashable) -> float:
        return self._left[item] + self._sizes[item][0] / 2

    def _spread(self, row: list[Hashable], wished: Mapping[Hashable, float]) -> None:
        """Place the items of a layer near their preferred centres, in this order, with gaps between them."""
        row.sort(key=lambda item: wished.get(item, 0.0))
        end, moved = float("-inf"), 0.0
        for item in row:
            wish = wished.get(item, 0.0) - self._sizes[item][0] / 2
            self._left[item] = max(wish, end)
            moved += self._left[item] - wish
            end = self._left[item] + self._sizes[item][0] + _GAP
        for item in row:
            self._left[item] -= moved / len(row)

    def _finish(self, sizes: Mapping[Hashable, tuple[float, float]]) -> None:
        first = min(self._left.values(), default=0.0)
        tops, bottoms, top = dict[Hashable, float](), dict[Hashable, float](), 0.0
        for row in self._rows:
            height = max((self._sizes[item][1] for item in row), default=0.0)
            for item in row:
                self._left[item] -= first
                tops[item], bottoms[item] = top, top + height
            top += height + _BETWEEN
        self.width = max((self._left[item] + self._sizes[item][0] for item in self._left), default=0.0)
        self.height = max(top - _BETWEEN, 0.0)
        self.places = {item: (self._left[item], tops[item]) for item in sizes}
        paths = []
        for edge in self._parts:
            x, y = self._centre(edge.start) + edge.at_start, tops[edge.start] + self._sizes[edge.start][1]
            to_x, to_y = self._centre(edge.end) + edge.at_end, tops[edge.end]
            bottom = bottoms[edge.start]
            middle = (bottom + to_y) / 2
            paths.append(
                f"M{x:.1f} {y:.1f}V{bottom:.1f}C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}"
            )
        self.paths = "".join(paths)
