"""The README's picture: the ratio of each case of all primitives in float32, as an SVG."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from typing import Final
from xml.sax.saxutils import escape

from benchmarks.instructions import HOST, ISAS
from benchmarks.options import SETS
from tools.performance.records import Record

_LEAST, _MOST = -1.0, 3.0  # powers of two
_LEFT, _RIGHT, _TOP, _ROW, _BOTTOM = 122, 104, 82, 30, 34
_WIDTH: Final = 600
_LANES: Final[Mapping[str, tuple[str, float, str]]] = {
    HOST: ("host", -6.0, "all instructions"),
    "avx2": ("avx2", 6.0, "AVX2 only"),
}
"""For each set of instructions: the class of its marks, their distance from the middle of a row, and its name."""
_STYLE: Final = (
    "text{font:15px system-ui,sans-serif;fill:#1c2833} .small{font-size:13px;fill:#445} .host{fill:#2e6da4} "
    ".avx2{fill:#b9770e} circle{opacity:.35} rect.mean{stroke:#fff} path{stroke:#d5d8dc;fill:none} "
    "path.one{stroke:#1c2833;stroke-width:1.5}"
)


def picture(records: Mapping[str, Record]) -> str:
    """Return the picture of the records of one machine, by set of instructions.

    A dot is a case, a bar the geometric mean of a primitive's cases.
    """
    records = {isa: records[isa] for isa in ISAS if isa in records}
    rows = [name for name in SETS if any(_ratios(record, name) for record in records.values())]
    height = _TOP + _ROW * len(rows) + _BOTTOM
    processor, threads = (record := records[HOST]).processor, record.document["threads"]
    title = f"Time of the fastest other library divided by that of ep, {processor}, {threads} threads, float32"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect fill="#fff" width="{_WIDTH}" height="{height}"/>',
        f'<text x="12" y="24">Time of the fastest other library / time of ep, {threads} threads, float32</text>',
        f'<text class="small" x="12" y="44">{escape(processor)}. A dot is a case, a bar the mean.</text>',
        *_legend(records),
        *_axis(height - _BOTTOM),
    ]
    for row, name in enumerate(rows):
        parts += _row(name, _TOP + _ROW * (row + 0.5), records)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _ratios(record: Record, name: str) -> list[float]:
    return [result["ratio"] for result in record.primitives("float32") if result["set"] == name]


def _place(ratio: float) -> float:
    """Return the x of a ratio; cases outside of the axis are drawn at its ends."""
    share = (min(max(math.log2(ratio), _LEAST), _MOST) - _LEAST) / (_MOST - _LEAST)
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _legend(records: Mapping[str, Record]) -> Iterator[str]:
    x = _LEFT
    for kind, _, name in (_LANES[isa] for isa in records):
        yield f'<rect class="{kind}" x="{x}" y="56" width="12" height="12"/><text x="{x + 18}" y="67">{name}</text>'
        x += 180


def _axis(bottom: float) -> Iterator[str]:
    for power in range(int(_LEAST), int(_MOST) + 1):
        x = _place(2.0**power)
        kind = ' class="one"' if power == 0 else ""
        yield f'<path{kind} d="M{x:.1f} {_TOP}V{bottom:.1f}"/>'
        label = f"{2.0**power:g}" + (" and more" if power == _MOST else "")
        yield f'<text class="small" x="{x:.1f}" y="{bottom + 20:.1f}" text-anchor="middle">{label}</text>'


def _row(name: str, y: float, records: Mapping[str, Record]) -> Iterator[str]:
    yield f'<text x="12" y="{y + 5:.1f}">{name}</text>'
    means = []
    for isa, record in records.items():
        kind, lane, _ = _LANES[isa]
        if ratios := _ratios(record, name):
            mean = statistics.geometric_mean(ratios)
            means.append(f'<tspan class="{kind}">{mean:.2f}</tspan>')
            yield from (
                f'<circle class="{kind}" cx="{_place(ratio):.1f}" cy="{y + lane:.1f}" r="3.5"/>' for ratio in ratios
            )
            yield (
                f'<rect class="mean {kind}" x="{_place(mean) - 2:.1f}" y="{y + lane - 6:.1f}" width="4" height="12"/>'
            )
    yield f'<text x="{_WIDTH - 12}" y="{y + 5:.1f}" text-anchor="end">{" ".join(means)}</text>'
