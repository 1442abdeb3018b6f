"""Writes the support table of the README from the registry: `python -m tools.support_table`, or with `--check`."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from ep.cli.data_types import in_groups, in_words
from ep.include.primitive import Entry, registered
from tools.generated import update

NAME: Final = "support table"


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
    """The data types of the entries of an op on a device: `8 integer types → bool`."""
    if not entries:
        return "-"
    return in_words(entries[0].interface, [entry.dtypes for entry in entries], in_groups).replace("->", "→")


def main() -> int:
    """Rewrite the table, or with `--check` say whether it is up to date; return the exit code."""
    return update("README.md", NAME, table(), "tools.support_table")


if __name__ == "__main__":
    raise SystemExit(main())
