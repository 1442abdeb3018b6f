"""Lines, numbers and words for people to read, as wide as the terminal."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

_NARROWEST: Final = 20  # a narrower terminal is treated as one of this width
_WIDEST_NAME: Final = 24  # of the first column of a list; a longer name has a line of its own
_ITEM: Final = re.compile(r"\w+(, \w+)*: ")  # the entry of a parameter in a docstring
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_UNITS: Final = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))


def is_terminal() -> bool:
    """Whether the output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def width() -> int:
    """Return the columns of the terminal, or the value of COLUMNS; 80 if there is neither."""
    return max(shutil.get_terminal_size().columns, _NARROWEST)


def without_colours(text: str) -> str:
    """Return `text` without the sequences that set colours of a terminal."""
    return _COLOUR.sub("", text)


def wrap(text: str, columns: int, indent: str = "", more: str | None = None) -> list[str]:
    """Return `text` in lines of at most `columns`, broken between words only; `more` indents all but the first."""
    return textwrap.wrap(
        text,
        columns,
        initial_indent=indent,
        subsequent_indent=indent if more is None else more,
        break_long_words=False,
        break_on_hyphens=False,
    )


def reflow(text: str, columns: int) -> str:
    """Return a docstring in lines of at most `columns`, broken between words only; unchanged if its lines fit.

    Prose, which is not indented, is filled paragraph by paragraph, and so is the entry of a parameter. Other lines,
    such as examples, stay lines of their own.
    """
    lines = text.splitlines()
    if all(len(line) <= columns for line in lines):
        return text
    units: list[list[str]] = []
    for line in lines:
        indented, begun = line[:1].isspace(), bool(units and units[-1][0])
        is_item = begun and _ITEM.match(units[-1][0]) is not None
        continues = begun and line and not _ITEM.match(line) and (indented == is_item) and not units[-1][0][0].isspace()
        if continues:
            units[-1].append(line.strip())
        else:
            units.append([line])
    filled: list[str] = []
    for first, *rest in units:
        indent = first[: len(first) - len(first.lstrip())]
        hanging = bool(indent) or _ITEM.match(first)
        filled += wrap(" ".join([first.strip(), *rest]), columns, indent, indent + "    " * bool(hanging)) or [""]
    return "\n".join(filled)


def documentation(documented: str) -> str:
    """Return a docstring, indented, in lines as wide as the terminal; as it is in the source if there is none."""
    indent = "  "
    return textwrap.indent(reflow(documented, width() - len(indent)) if is_terminal() else documented, indent)


def definitions(pairs: Mapping[str, str], columns: int | None = None, indent: str = "") -> str:
    """Return one `name  value` entry for each pair, the values aligned, in lines of at most `columns` if given."""
    room = max((len(name) for name in pairs if len(name) <= _WIDEST_NAME), default=0)
    lines = []
    for name, value in pairs.items():
        opening, margin = f"{indent}{name}", len(indent) + room + 2
        if columns is None:
            lines.append(f"{opening:<{margin}}{value}".rstrip())
            continue
        margin = min(margin, columns // 2)
        if len(opening) + 2 > margin:
            lines += [opening, *wrap(value, columns, " " * margin)]
        else:
            lines += wrap(value, columns, f"{opening:<{margin}}", " " * margin) or [opening]
    return "\n".join(lines)


def column(seconds: Sequence[float]) -> tuple[str, list[str]]:
    """Return the unit that suits most of some times, and each time in it: "ms", and `0.0123`, `80.1`."""
    middle = sorted(seconds)[len(seconds) // 2] if seconds else 0.0
    unit, size = next((unit for unit in _UNITS if middle >= unit[1]), _UNITS[-1])
    return unit, [_three_digits(value / size) for value in seconds]


def duration(seconds: float) -> str:
    """Return one time: `12.3 us`, `1.23 ms`, `1.23 s`."""
    unit, (value,) = column([seconds])
    return f"{value} {unit}"


def _three_digits(value: float) -> str:
    exponent = int(f"{value:.2e}".partition("e")[2])  # of the rounded value
    return f"{value:,.{max(2 - exponent, 0)}f}"


def megabytes(size: int) -> str:
    """Return a number of bytes in words."""
    for unit, step in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= step:
            return f"{size / step:.1f} {unit}"
    return f"{size} bytes"


def plural(number: int, noun: str) -> str:
    """Return a number with a noun: `1 file`, `1,236 files`, `2 processes`."""
    return f"{number:,} {noun}{'' if number == 1 else 'es' if noun.endswith('s') else 's'}"


def listed(words: Sequence[str]) -> str:
    """Return words as a list: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
