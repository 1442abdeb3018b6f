"""What is printed: tables for people, in colour on a terminal and plain elsewhere, JSON and CSV for programs.

rich is imported for a terminal only.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from ep.cli.parser import Parser

_LONGEST_NAME: Final = 32  # what is longer, such as a path, may be broken on a narrow terminal


def is_terminal() -> bool:
    """Whether a person looks at the output."""
    return sys.stdout is not None and sys.stdout.isatty()


def add_format(parser: Parser, *formats: str) -> None:
    """Add `--format`; the first format is the default."""
    parser.add_argument("--format", choices=formats, default=formats[0], help=f"default: {formats[0]}")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "", right: Sequence[str] = ()) -> None:
    """Print a table. `right`: the columns whose cells are set to the right."""
    rows = [list(row) for row in rows]
    if is_terminal():
        _rich_table(columns, rows, title, right)
    else:
        _plain_table(columns, rows, title, right)


def _rich_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str, right: Sequence[str]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    grid = Table(
        box=SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        title=title or None,
        title_justify="left",
        title_style="bold",
    )
    for position, (column, *cells) in enumerate(zip(columns, *rows, strict=True)):
        longest_word = max(len(word) for cell in (column, *cells) for word in cell.split() or [""])
        grid.add_column(
            column,
            justify="right" if column in right else "left",
            min_width=min(longest_word, _LONGEST_NAME),
            overflow="fold",
            style="cyan" if position == 0 else None,
        )
    for row in rows:
        grid.add_row(*map(_escaped, row))
    Console(highlight=False).print(grid)


def _escaped(cell: str) -> Any:
    from rich.text import Text

    style = {"yes": "green", "ok": "green", "pass": "green", "no": "dim", "fail": "bold red"}.get(
        cell.split(":")[0], ""
    )
    return Text(cell, style=style)


def _plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str, right: Sequence[str]) -> None:
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    if title:
        print(title)
    for row in (columns, *rows):
        cells = (
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, cell, width in zip(columns, row, widths, strict=True)
        )
        print("  ".join(cells).rstrip())


def facts(pairs: Mapping[str, str]) -> None:
    """Print one `name  value` line for each pair."""
    width = max(map(len, pairs))
    for name, value in pairs.items():
        print(f"{name:<{width}}  {value}")


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
    """Show how far work has come: a bar on a terminal, a line at every tenth elsewhere. Yields what advances it."""
    if is_terminal():
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, transient=True) as bar:
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


@contextmanager
def status(what: str) -> Iterator[None]:
    """Say on a terminal, while something takes its time, what it is."""
    if not is_terminal():
        yield
        return
    from rich.console import Console

    with Console().status(what):
        yield


def megabytes(size: int) -> str:
    """A number of bytes as people say it."""
    for unit, step in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= step:
            return f"{size / step:.1f} {unit}"
    return f"{size} bytes"


def plural(number: int, noun: str) -> str:
    """`1 file`, `1,236 files`, `2 processes`."""
    return f"{number:,} {noun}{'' if number == 1 else 'es' if noun.endswith('s') else 's'}"
