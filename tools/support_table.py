"""Writes the support tables from the registry: `python -m tools.support_table`.

docs/support.md lists every op and its data types, the README lists the primitives of each device.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from ep.cli.data_types import in_groups, in_words
from ep.include.device_type import DeviceType
from ep.include.primitive import Entry, implemented
from ep.include.primitive import registered as registered_on
from tools.generated import updated, write

DEVICES: Final = DeviceType.kCPU, DeviceType.kCUDA
"""The devices of this package: the tables do not depend on what else is installed."""


def registered() -> list[Entry]:
    """Return what the devices of this package register."""
    return [entry for device_type in DEVICES for entry in registered_on(device_type)]


def files() -> dict[str, str]:
    """Return the contents of the files with the tables."""
    return updated(("README.md", "support table", _short()), ("docs/support.md", "support table", _long()))


def _short() -> str:
    """Return one row for devices that support the same keys: each primitive with the number of its keys."""
    found: dict[str, dict[str, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for entry in sorted(registered(), key=lambda entry: entry.interface.__name__):
        found[entry.interface.__name__][entry.device_type.tag].append(entry)
    rows: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for primitive, by_device in found.items():
        alike: dict[str, list[str]] = defaultdict(list)
        for device, entries in sorted(by_device.items()):
            ops = {entry.op for entry in entries if entry.op}
            alike[f"{primitive} {len(entries)}" + f" ({len(ops)} ops)" * (len(ops) > 1)].append(device)
        for what, devices in alike.items():
            rows[tuple(devices)].append(what)
    for primitive, devices in _without_keys().items():
        rows[tuple(devices)].append(f"{primitive} (of any ops)")
    lines = ["| devices | primitives, and how many keys each has |", "|---|---|"]
    return "\n".join(lines + [f"| {', '.join(devices)} | {', '.join(words)} |" for devices, words in rows.items()])


def _long() -> str:
    """Return every op: those with the same data types share a row, and devices with the same rows a column."""
    entries_by_device = sorted(registered(), key=lambda entry: entry.device_type.tag)  # not by order of import
    devices = list(dict.fromkeys(entry.device_type.tag for entry in entries_by_device))
    by_op: dict[tuple[str, str], dict[str, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries_by_device:
        by_op[entry.interface.__name__, entry.op.name if entry.op else ""][entry.device_type.tag].append(entry)
    rows: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (primitive, op), entries in by_op.items():
        rows[primitive, tuple(_types(entries[device]) for device in devices)].append(op)
    columns: dict[tuple[str, ...], list[str]] = defaultdict(list)  # the devices, by the keys that they support
    for position, device in enumerate(devices):
        columns[tuple(types[position] for _, types in rows)].append(device)
    lines = [f"| primitive | ops | {' | '.join(map(', '.join, columns.values()))} |", "|---" * (2 + len(columns)) + "|"]
    for ((primitive, _), ops), *cells in zip(rows.items(), *columns, strict=True):
        lines.append(f"| {primitive} | {', '.join(ops)} | {' | '.join(cells)} |")
    for primitive, tags in _without_keys().items():
        cells = ["of any ops, on their types" if set(group) <= set(tags) else "-" for group in columns.values()]
        lines.append(f"| {primitive} |  | {' | '.join(cells)} |")
    return "\n".join(lines)


def _without_keys() -> dict[str, list[str]]:
    """Return the primitives whose factories list no keys, each with the devices that have one."""
    with_keys, found = {(entry.interface, entry.device_type) for entry in registered()}, defaultdict(list)
    for device_type in DEVICES:
        for factory in implemented(device_type):
            if (factory.primitive, device_type) not in with_keys:
                found[factory.primitive.__name__].append(device_type.tag)
    return found


def _types(entries: list[Entry]) -> str:
    """Return the data types of the entries of an op on a device: `8 integer types → bool`."""
    if not entries:
        return "-"
    return in_words(entries[0].interface, [entry.dtypes for entry in entries], in_groups).replace("->", "→")


if __name__ == "__main__":
    write(files())
