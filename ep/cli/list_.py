"""List the registry: every primitive, op and data type that a device implements.

Nothing is compiled, and the device need not be present.
"""

from __future__ import annotations

from argparse import Namespace
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ep.cli import output, text
from ep.cli.data_types import by_name, in_words
from ep.cli.filters import add_filters, chosen
from ep.cli.parser import Parser
from ep.include.data_type import DataType
from ep.include.primitive import Entry

_COLUMNS = ("primitive", "op", "dtypes", "device")


def add_arguments(parser: Parser) -> None:
    """Add the options of `ep list`."""
    add_filters(parser)
    output.add_format(parser, "table", "json", "csv")


def run(arguments: Namespace) -> int:
    """Print the registered keys."""
    entries = chosen(arguments)
    if arguments.format == "json":
        output.as_json([_as_dict(entry) for entry in entries])
    elif arguments.format == "csv":
        rows = (_as_dict(entry) for entry in entries)
        output.as_csv(
            _COLUMNS, ([row["primitive"], row["op"] or "", " ".join(row["dtypes"]), row["device"]] for row in rows)
        )
    elif entries:
        _print_tables(entries)
    return 0


def _as_dict(entry: Entry) -> dict[str, Any]:
    return {
        "primitive": entry.interface.__name__,
        "op": entry.op and entry.op.name,
        "dtypes": [data_type.name for data_type in entry.dtypes],
        "device": entry.device_type.tag,
    }


def _print_tables(entries: Sequence[Entry]) -> None:
    """Print one row for each op: a table for each primitive on a terminal, else one table that grep can search."""
    tables: dict[tuple[type[Any], str], dict[str, list[tuple[DataType, ...]]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        op = entry.op.name if entry.op else "-"
        tables[entry.interface, entry.device_type.tag][op].append(entry.dtypes)
    rows = [
        (interface.__name__, op, device, in_words(interface, keys, by_name))
        for (interface, device), ops in tables.items()
        for op, keys in ops.items()
    ]
    if not text.is_terminal():
        output.table(("primitive", "op", "device", "dtypes"), rows)
        return
    for (interface, device), ops in tables.items():
        print()
        number = text.plural(sum(map(len, ops.values())), "key")
        of_primitive = [(op, dtypes) for name, op, tag, dtypes in rows if (name, tag) == (interface.__name__, device)]
        output.table(("op", "dtypes"), of_primitive, title=f"{interface.__name__} on {device}: {number}")
