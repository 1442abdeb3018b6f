"""Writes the support table of the README from the registry: `python -m tools.support_table`, or with `--check`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from ep.include import DataType
from ep.include.number_kind import ALL, BOOL, CHAR, COMPLEXES, FLOATS, INTEGERS
from ep.include.primitive import Entry, registered
from tools.generated import update

NAME: Final = "support table"
_GROUPS = (
    ("all 16 types", ALL),
    ("bool", BOOL),
    ("char", CHAR),
    ("8 integer types", INTEGERS),
    ("4 floating types", FLOATS),
    ("2 complex types", COMPLEXES),
)


def table() -> str:
    """The table, as Markdown: ops with the same data types share a row, and each device has a column."""
    devices = sorted({entry.device_type.tag for entry in registered()})
    by_op: dict[tuple[str, str], dict[str, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for entry in registered():
        by_op[entry.interface.__name__, entry.op.name if entry.op else ""][entry.device_type.tag].append(entry)
    rows: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (primitive, op), entries in by_op.items():
        rows[primitive, tuple(_types(entries[device]) for device in devices)].append(op)
    lines = [f"| primitive | ops | {' | '.join(devices)} |", "|---" * (2 + len(devices)) + "|"]
    for (primitive, types), ops in rows.items():
        lines.append(f"| {primitive} | {', '.join(ops)} | {' | '.join(types)} |")
    return "\n".join(lines)


def _types(entries: list[Entry]) -> str:
    """The data types of entries in words: `8 integer types → bool`, `all 16 types by 8 integer types`."""
    combinations = {entry.dtypes for entry in entries}
    if not combinations:
        return "-"
    firsts, lasts = ({types[end] for types in combinations} for end in (0, -1))
    if all(types[0] is types[-1] for types in combinations):
        return _in_words(firsts)
    if len(combinations) != len(firsts) * len(lasts):
        raise ValueError(f"the data types of {entries[0]} have no short form yet")
    return f"{_in_words(firsts)} {'→' if entries[0].op else 'by'} {_in_words(lasts)}"


def _in_words(types: Iterable[DataType]) -> str:
    remaining, words = set(types), []
    for name, group in _GROUPS:
        if remaining.issuperset(group):
            words.append(name)
            remaining -= set(group)
    return ", ".join([*words, *(member.name for member in DataType if member in remaining)])


def main() -> int:
    """Rewrite the table, or with `--check` say whether it is up to date; return the exit code."""
    return update("README.md", NAME, table(), "tools.support_table")


if __name__ == "__main__":
    raise SystemExit(main())
