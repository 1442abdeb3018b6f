"""The explanation of a program for users: as text, and as a drawing."""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Collection, Hashable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from ep.expressions.group import Group
from ep.expressions.layers import Edge, Layout, longest_paths
from ep.expressions.schedule import Schedule
from ep.expressions.trace import Node
from ep.include.shown import Lines
from ep.run.steps import VALUES, Check, Step, Temporary, Value, sources, values_in

_CHARACTER: Final = 7.3  # the width of a character in the widest monospaced fonts, at 12 pixels
_LINE: Final = 16.0
_MARGIN: Final = 12.0
_MOST_CHARACTERS: Final = 40  # the height of a line
_STYLE: Final = (
    ".ep-kernels text{font:12px ui-monospace,monospace;fill:#1c2833} .ep-kernels .t{font-weight:600} "
    ".ep-kernels .why{fill:#a93226} .ep-kernels rect{stroke-width:1.5;rx:6} "
    ".ep-kernels .array{fill:#eaf2fb;stroke:#2e6da4} .ep-kernels .kernel{fill:#fdf3e3;stroke:#b9770e} "
    ".ep-kernels .alone{fill:#f4f6f7;stroke:#839192} .ep-kernels .op{fill:#eafaf1;stroke:#1e8449} "
    ".ep-kernels .read{fill:#fff;stroke:#aab7b8} .ep-kernels path{stroke:#445;stroke-width:1.5;fill:none}"
)


class Part(NamedTuple):
    """What one group of values becomes in the plan.

    kind: the kind of kernel, or "operator", or "view". read, written: bytes. work: its launches, if there are several,
    and the bytes of the temporary values between them. cuts: as of `Schedule.cuts`.
    """

    group: Group
    kind: str
    read: int
    written: int
    work: str
    cuts: Mapping[int, str]


class Explanation(Lines):
    """A text with each kernel, its operators, the bytes read and written, and why kernels are separate. It can be
    drawn."""

    _parts: Sequence[Part]
    _nodes: Sequence[Node]
    _results: Sequence[int]
    _names: Mapping[int, str]

    def __new__(
        cls, parts: Sequence[Part], nodes: Sequence[Node], results: Sequence[int], names: Mapping[int, str]
    ) -> Explanation:
        """names: the names of the inputs, by position."""
        lines = []
        for k, (group, kind, read, written, work, cuts) in enumerate(parts):
            of = " ".join(operation(nodes[one]) for one in group.values)
            lines.append(f"{k}: {kind} of {of}; reads {read} bytes, writes {written}")
            if work:
                lines.append(f"   {work}")
            if group.why:
                lines.append(f"   alone: {group.why}")
            if group.product is not None:
                own, matrices = nodes[group.product].data_type, [nodes[one] for one in nodes[group.product].inputs]
                types = dict.fromkeys(one.data_type for one in matrices if one.data_type is not own)
                lines += [f"   converts {one.dtype} to {own.dtype} as it reads the matrices" for one in types]
            lines += [f"   cut before {operation(nodes[one])}: {why}" for one, why in cuts.items()]
        made = super().__new__(cls, "\n".join(lines))
        made._parts, made._nodes, made._results, made._names = parts, nodes, results, names
        return made

    def svg(self) -> str:
        """Return a drawing of the graph as SVG: kernels are boxes around their operators."""
        boxes: dict[Hashable, _Box] = {}
        made: dict[int, tuple[Hashable, float]] = {}  # by position: the item of the value, and the place in it
        edges: list[Edge] = []
        inputs = {one for part in self._parts for one in part.group.sources} | {*self._results}
        inputs -= {one for part in self._parts for one in part.group.values}
        for one in sorted(inputs):
            made[one] = ("input", one), 0.0
            boxes["input", one] = _Box("array", [(self._name(one), "t"), (_type(self._nodes[one]), "")])
        for k, part in enumerate(self._parts):
            inner = self._kernel(k, part)
            boxes["kernel", k] = inner
            edges += [
                Edge(made[one][0], ("kernel", k), made[one][1], inner.at["read", one]) for one in part.group.sources
            ]
            for one in part.group.results:
                made[one] = ("kernel", k), inner.at["written", one]
        for k, one in enumerate(self._results):
            boxes["result", k] = _Box("array", [(f"result {k}", "t"), (_type(self._nodes[one]), "")])
            edges.append(Edge(made[one][0], ("result", k), made[one][1]))
        layers = longest_paths(boxes, edges)
        for one in sorted(inputs):  # immediately before the first reader
            layers["input", one] = min(layers[edge.end] for edge in edges if edge.start == ("input", one)) - 1
        drawing = _Box("page", [], boxes, edges, layers)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="ep-kernels" viewBox="0 0 {drawing.width:.0f} '
            f'{drawing.height:.0f}" width="{drawing.width:.0f}" height="{drawing.height:.0f}" role="img">'
            f"\n<title>{_clean(str(self))}</title>\n<style>{_STYLE}</style>\n"
            f"{drawing.drawn(0.0, 0.0)}\n</svg>\n"
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the drawing to a file, as SVG whatever its name is."""
        Path(path).write_text(self.svg(), encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg()

    def _name(self, position: int) -> str:
        node = self._nodes[position]
        if node.constant is not None:
            return _number(node)
        return self._names.get(position, operation(node) if node.inputs else "number")

    def _kernel(self, k: int, part: Part) -> _Box:
        group, nodes = part.group, self._nodes
        inside: dict[Hashable, _Box] = {}
        for one in group.sources:
            lines = [(self._name(one), ""), (_type(nodes[one]), "")]
            inside["read", one] = _Box("read", [*lines, *_why("cut: ", part.cuts.get(one, ""))])
        for one in group.values:
            lines = [(self._operation(one), "t"), (_type(nodes[one]), "")]
            inside["op", one] = _Box("op", lines)
        edges = []
        for value in group.values:
            for one in dict.fromkeys(nodes[value].inputs):
                start = ("op", one) if one in group.values else ("read", one)
                if start in inside:  # constants are part of the name
                    edges.append(Edge(start, ("op", value)))
        layers = longest_paths(inside, edges)
        if group.sources:
            layers.update({name: max(layers[name], 1) for name in inside if name[0] == "op"})  # type: ignore[index]
        last = max(layers.values()) + 1
        for one in group.results:
            inside["written", one] = _Box("", [])
            layers["written", one] = last
            edges.append(Edge(("op", one), ("written", one)))
        title = [(f"{k}: {part.kind}", "t"), (f"reads {part.read} bytes, writes {part.written}", "")]
        title += [(line, "") for line in textwrap.wrap(part.work, _MOST_CHARACTERS)]
        kind = "alone" if group.why else "kernel"
        return _Box(kind, [*title, *_why("alone: ", group.why)], inside, edges, layers)

    def _operation(self, position: int) -> str:
        """Return the name of an operation, with the constants among its operands."""
        node = self._nodes[position]
        constants = [self._nodes[one].constant is not None for one in node.inputs]
        is_one_of_several = node.result or (position + 1 < len(self._nodes) and self._nodes[position + 1].result)
        name = operation(node) + (f"[{node.result}]" if is_one_of_several else "")
        if not any(constants):
            return name
        shown = (_number(self._nodes[one]) if k else "·" for one, k in zip(node.inputs, constants, strict=True))
        return f"{name}({', '.join(shown)})"


class _Box:
    """Lines of text, and below them boxes in layers, in a rectangle.

    at: the distance of the centre of each inner box from the centre of this box.
    """

    def __init__(
        self,
        kind: str,
        lines: Sequence[tuple[str, str]],
        inside: Mapping[Hashable, _Box] | None = None,
        edges: Sequence[Edge] = (),
        layers: Mapping[Hashable, int] | None = None,
    ) -> None:
        """lines: each with its class."""
        self._kind, self._inside = kind, inside or {}
        self._lines = [(_short(text), of) for text, of in lines]
        sizes = {name: (box.width, box.height) for name, box in self._inside.items()}
        self._layout = Layout(sizes, edges, layers or {})
        margin = _MARGIN if kind else 0.0
        widest = max((_width(text) for text, _ in self._lines), default=0.0)
        self.width: float = max(widest, self._layout.width) + 2 * margin
        self._left = (self.width - self._layout.width) / 2
        self._top = margin / 2 + len(self._lines) * _LINE + (margin if self._inside else 0.0)
        # edges of results begin at the lower end of the box
        self.height: float = self._top + self._layout.height + (0.0 if kind in ("kernel", "alone") else margin / 2)
        self.at = {
            name: self._left + self._layout.places[name][0] + box.width / 2 - self.width / 2
            for name, box in self._inside.items()
        }

    def drawn(self, x: float, y: float) -> str:
        """Return the SVG text of the box and all in it, with its upper left corner at (x, y)."""
        if not self._kind:
            return ""
        kind = 'fill="#fff" stroke="none"' if self._kind == "page" else f'class="{self._kind}"'
        made = [f'<rect {kind} x="{x:.1f}" y="{y:.1f}" width="{self.width:.1f}" height="{self.height:.1f}"/>']
        for k, (text, of) in enumerate(self._lines):
            middle, base = x + self.width / 2, y + _MARGIN / 2 + _LINE * k + 12
            kind = f' class="{of}"' if of else ""
            made.append(f'<text{kind} x="{middle:.1f}" y="{base:.1f}" text-anchor="middle">{_clean(text)}</text>')
        left, top = x + self._left, y + self._top
        if self._layout.paths:
            made.append(f'<path transform="translate({left:.1f} {top:.1f})" d="{self._layout.paths}"/>')
        for name, box in self._inside.items():
            to_right, down = self._layout.places[name]
            made.append(box.drawn(left + to_right, top + down))
        return "\n".join(filter(None, made))


def explained(
    schedule: Schedule, steps: Sequence[tuple[int, Step]], returned: Collection[Any], names: Mapping[int, str]
) -> Explanation:
    """Return the explanation of a plan.

    steps: of the plan, with the numbers of their groups. returned: the values that are its results. names: of the
    inputs, by position.
    """
    launches: list[list[str]] = [[] for _ in schedule.groups]
    users = dict[Value, set[int]]()
    for k, step in steps:
        launches[k] += [] if isinstance(step, Check) else [step.name]
        for one in (source for value in values_in(step) for source in sources(value)):
            users.setdefault(one, set()).add(k)
    between = [0] * len(launches)
    for made in users.keys() - {one for one in returned if isinstance(one, VALUES)}:
        if isinstance(made, Temporary) and len(users[made]) == 1:
            between[min(users[made])] += _bytes(made)
    nodes, parts = schedule.nodes, []
    for k, group in enumerate(schedule.groups):
        work = f"launches {', '.join(launches[k])}" if len(launches[k]) > 1 else ""
        work += f"; {between[k]} bytes between them" if work and between[k] else ""
        read, written = (sum(_bytes(nodes[one]) for one in some) for some in (group.sources, group.results))
        for value in group.values if not group.why else ():
            if schedule.is_gather(value) and nodes[value].inputs[0] in group.sources:  # not all rows are read
                read -= max(_bytes(nodes[nodes[value].inputs[0]]) - _bytes(nodes[value]), 0)
        if schedule.is_view(group):
            read = written = 0
        parts.append(Part(group, _kind(schedule, group), read, written, work, schedule.cuts(group)))
    return Explanation(parts, nodes, schedule.results, names)


def _kind(schedule: Schedule, group: Group) -> str:
    if group.structure is None:
        return "view" if schedule.is_view(group) else "operator"
    if group.product is not None:
        return "product kernel"
    return "reduce kernel" if group.gone else "row kernel" if group.structure.has_rows else "map kernel"


def _bytes(array: Node | Temporary) -> int:
    return math.prod(array.shape) * array.dtype.itemsize


def operation(node: Node) -> str:
    """Return the name of the operation that computes a value."""
    return node.name or ("reshape" if node.inputs else "given")


def _type(node: Node) -> str:
    return f"{node.dtype} {node.shape}"


def _number(node: Node) -> str:
    value: Any = np.frombuffer(node.constant or b"", node.dtype)[0]
    return f"{value:.6g}" if isinstance(value, np.floating) else str(value)


def _why(label: str, why: str) -> list[tuple[str, str]]:
    return [(line, "why") for line in textwrap.wrap(label + why, _MOST_CHARACTERS)] if why else []


def _short(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"


def _width(text: str) -> float:
    return _CHARACTER * sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def _clean(text: str) -> str:
    """Return the text for XML: escaped, with the characters that XML does not permit replaced."""
    from html import escape  # not at the top: few programs are drawn, and it has a table of 2,000 characters

    return escape("".join(one if one.isprintable() or one == "\n" else "\N{REPLACEMENT CHARACTER}" for one in text))
