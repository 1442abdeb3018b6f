"""Drawings of boxes with lines of text, and with boxes and edges inside, as SVG."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Mapping, Sequence
from typing import Final

from ep.run.layers import Edge, Layout

_CHARACTER: Final = 7.3  # the width of a character in the widest monospaced fonts, at 12 pixels
_LINE: Final = 16.0  # the height of a line
_MARGIN: Final = 12.0
MOST_CHARACTERS: Final = 40
"""The most characters of a line."""
_STYLE: Final = (
    ".ep-kernels text{font:12px ui-monospace,monospace;fill:#1c2833} .ep-kernels .t{font-weight:600} "
    ".ep-kernels .why{fill:#a93226} .ep-kernels rect{stroke-width:1.5;rx:6} "
    ".ep-kernels .array{fill:#eaf2fb;stroke:#2e6da4} .ep-kernels .kernel{fill:#fdf3e3;stroke:#b9770e} "
    ".ep-kernels .alone{fill:#f4f6f7;stroke:#839192} .ep-kernels .op{fill:#eafaf1;stroke:#1e8449} "
    ".ep-kernels .read{fill:#fff;stroke:#aab7b8} .ep-kernels path{stroke:#445;stroke-width:1.5;fill:none}"
)


class Box:
    """Lines of text, and below them boxes in layers, in a rectangle.

    at: the distance of the centre of each inner box from the centre of this box.
    """

    def __init__(
        self,
        kind: str,
        lines: Sequence[tuple[str, str]],
        inside: Mapping[Hashable, Box] | None = None,
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


def page(box: Box, title: str) -> str:
    """Return the SVG text of a drawing."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ep-kernels" viewBox="0 0 {box.width:.0f} '
        f'{box.height:.0f}" width="{box.width:.0f}" height="{box.height:.0f}" role="img">'
        f"\n<title>{_clean(title)}</title>\n<style>{_STYLE}</style>\n"
        f"{box.drawn(0.0, 0.0)}\n</svg>\n"
    )


def _short(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def _width(text: str) -> float:
    return _CHARACTER * sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def _clean(text: str) -> str:
    """Return the text for XML: escaped, with the characters that XML does not permit replaced."""
    from html import escape  # not at the top: few programs are drawn, and it has a table of 2,000 characters

    return escape("".join(one if one.isprintable() or one == "\n" else "\N{REPLACEMENT CHARACTER}" for one in text))
