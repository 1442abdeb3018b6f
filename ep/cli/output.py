"""The output of commands: tables for people, in colour on a terminal and plain elsewhere, JSON and CSV for programs.

rich is imported for a terminal only.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from ep.cli import text
from ep.cli.parser import Parser

_LONGEST_NAME: Final = 36  # of an operator; longer ones, such as paths, may be broken on a narrow terminal
_BETWEEN: Final = 2  # blanks between columns

Rows = Sequence[Sequence[str]]


def add_format(parser: Parser, *formats: str) -> None:
    """Add `--format`; the first format is the default."""
    parser.add_argument("--format", choices=formats, default=formats[0], help=f"default: {formats[0]}")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "", right: Sequence[str] = ()) -> None:
    """Print a table. `right`: the columns whose cells are aligned to the right.

    Nothing is ever left out. On a terminal cells are wrapped; if not even their longest words fit side by side,
    each row becomes a list of `column  cell` lines.
    """
    rows = [list(row) for row in rows]
    if not text.is_terminal():
        _plain_table(columns, rows, title, right)
        return
    from rich.text import Text

    console, widths = _console(), _widths(columns, rows, text.width())
    if title:
        console.print(Text(title, style="bold"))
    if widths is None:
        _print_records(console, columns, rows)
    else:
        _print_grid(console, columns, rows, widths, right)


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False, width=text.width())


def _widths(columns: Sequence[str], rows: Rows, available: int) -> list[int] | None:
    """Return the width of each column: the widest ones shrink first; None if the words of all columns do not fit.

    Longer words than a name are broken only if they do not fit.
    """
    natural, words = [], []
    for cells in zip(columns, *rows, strict=True):
        natural.append(max(map(len, cells)))
        words.append(max(map(_longest_word, cells)))
    available -= _BETWEEN * (len(columns) - 1)
    for longest in (available, _LONGEST_NAME):
        least = [min(word, longest) for word in words]
        for level in range(max(natural), -1, -1):
            widths = [min(most, max(fewest, level)) for most, fewest in zip(natural, least, strict=True)]
            if sum(widths) <= available:
                return widths
    return None


def _longest_word(cell: str) -> int:
    """Return the length of the longest word of a cell; that of the first word includes the indentation."""
    indented = len(cell) - len(cell.lstrip())
    return max((len(word) + (0 if number else indented) for number, word in enumerate(cell.split())), default=0)


def _print_grid(console: Any, columns: Sequence[str], rows: Rows, widths: Sequence[int], right: Sequence[str]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    grid = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _BETWEEN - 1, 0, 0))
    for position, (column, width) in enumerate(zip(columns, widths, strict=True)):
        grid.add_column(
            column,
            justify="right" if column in right else "left",
            width=width,
            overflow="fold",
            style="cyan" if position == 0 else None,
        )
    for row in rows:
        grid.add_row(*map(_coloured, row))
    console.print(grid)


def _print_records(console: Any, columns: Sequence[str], rows: Rows) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    widest = max(map(len, columns))
    stacked = widest > console.width // 3  # headings have lines of their own
    for number, row in enumerate(rows):
        if number:
            console.print()
        record = Table.grid(padding=(0, _BETWEEN, 0, 0), pad_edge=False)
        record.add_column(width=_BETWEEN if stacked else widest)
        record.add_column(overflow="fold")
        for position, (column, cell) in enumerate(zip(columns, map(str.strip, row), strict=True)):
            heading, shown = Text(column, style="bold"), Text(cell, style="cyan") if position == 0 else _coloured(cell)
            if stacked:
                console.print(heading)
                console.print(Padding(shown, (0, 0, 0, _BETWEEN)))
            else:
                record.add_row(heading, shown)
        if not stacked:
            console.print(record)


def _coloured(cell: str) -> Any:
    from rich.text import Text

    style = {"yes": "green", "ok": "green", "pass": "green", "no": "dim", "fail": "bold red"}.get(
        cell.split(":")[0], ""
    )
    return Text(cell, style=style)


def _plain_table(columns: Sequence[str], rows: Rows, title: str, right: Sequence[str]) -> None:
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    if title:
        print(title)
    for row in (columns, *rows):
        cells = (
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, cell, width in zip(columns, row, widths, strict=True)
        )
        print("  ".join(cells).rstrip())


def paragraph(words: str) -> None:
    """Print prose, in lines as wide as the terminal if there is one."""
    print("\n".join(text.wrap(words, text.width())) if text.is_terminal() else words, flush=True)


def note(words: str) -> None:
    """Print a remark, which is not a result and no error, on stderr in one line."""
    print(f"ep: note: {words}", file=sys.stderr, flush=True)


def facts(pairs: Mapping[str, str]) -> None:
    """Print one `name  value` line for each pair."""
    print(text.definitions(pairs, text.width() if text.is_terminal() else None))


def as_json(value: Any) -> None:
    """Print a JSON document; an array has one element a line."""
    if isinstance(value, list):
        print("[" + ",".join(f"\n  {json.dumps(element)}" for element in value) + ("\n]" if value else "]"))
    else:
        print(json.dumps(value, indent=2))


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print comma-separated values with a header."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show the progress of work: a bar on a terminal, else a line per tenth. Yields a function that advances it."""
    if text.is_terminal():
        with _bar(None) as bar:
            task = bar.add_task(what, total=total)
            yield lambda number: bar.advance(task, number)
        return
    done = 0

    def advance(number: int) -> None:
        nonlocal done
        tenths, done = 10 * done // total, done + number
        if 10 * done // total > tenths:
            print(f"{done:,} of {total:,} {what}", flush=True)

    yield advance


def _bar(console: Any) -> Any:
    """Return a bar on a console of rich, None for stdout, that disappears at its end."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, transient=True, console=console)


@contextmanager
def status(what: str) -> Iterator[None]:
    """Show a description of the work on a terminal while it goes on."""
    if not text.is_terminal():
        yield
        return
    with _console().status(what):
        yield
