"""Show one primitive: its contract, the attributes of its ops, and which data types each device supports."""

from __future__ import annotations

import inspect
from argparse import Namespace
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from ep.cli import data_types, names, output, text
from ep.cli.parser import Parser
from ep.include.device_type import DeviceType, load_all_providers
from ep.include.primitive import Entry, implemented, registered
from ep.include.primitive.op_table import attributes_of

_LINE: Final = 100


def add_arguments(parser: Parser) -> None:
    """Add the arguments of `ep show`."""
    parser.add_argument("primitive", type=names.primitive, help="such as Gather, in any case; below are all")
    parser.epilog = "\n\n".join(f"{clause[0].upper()}{clause[1:]}." for clause in names.interfaces_in_words())


def without_keys(interface: type[Any]) -> str:
    """Return a text that names the devices that implement an interface without listing keys of it."""
    load_all_providers()
    factory = names.factory_of(interface)
    tags = [one.tag for one in DeviceType if factory in implemented(one)]
    if not tags:
        return f"No device implements {interface.__name__} yet: NewPrimitive returns None for it."
    return f"{interface.__name__} on {', '.join(tags)}: for whatever New takes; there are no keys to list."


def run(arguments: Namespace) -> int:
    """Print the description of one interface."""
    interface = arguments.primitive
    print(_contract(interface))
    entries = [entry for entry in registered() if entry.interface is interface]
    _print_attributes(entries)
    print()
    if not entries:
        output.paragraph(without_keys(interface))
        return 0
    by_device: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_device[entry.device_type.tag].append(entry)
    devices_of: dict[tuple[tuple[str, str], ...], list[str]] = defaultdict(list)
    for tag, found in by_device.items():
        devices_of[support(found)].append(tag)
    for rows, tags in devices_of.items():
        _print_support(interface, text.listed(tags), rows)
    used = data_types.legend(types for rows in devices_of for types, _ in rows)
    if used:
        output.facts(used)
    return 0


def _contract(interface: type[Any]) -> str:
    """Return the docstrings of the interface, of New and of Launch, as in the source if the terminal is wide enough."""
    factory = names.factory_of(interface)
    aliases = [name for name, value in names.INTERFACES.items() if value is interface and name != interface.__name__]
    also = f" (also {', '.join(aliases)})" if aliases else ""
    return "\n".join(
        [
            *text.wrap(f"{interface.__name__}{also}", _columns()),
            _documentation(interface),
            "",
            *_method(f"NewPrimitive({factory.__name__}, device_type, ", factory.New),
            "",
            *_method("Launch(", interface.Launch),
        ]
    )


def _method(opening: str, function: Any) -> list[str]:
    parameters = [
        parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default!r}"
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "self"
    ]
    call = opening.rstrip(" ,") if not parameters else opening + ", ".join(parameters)
    return [*text.wrap(f"{call})", min(_LINE, _columns()), more="    "), _documentation(function)]


def _documentation(documented: Any) -> str:
    return text.documentation(inspect.getdoc(documented) or "")


def _columns() -> int:
    """Return the most columns of a line: 1000 for a pipe, which has no width."""
    return text.width() if text.is_terminal() else 1000


def _print_attributes(entries: Sequence[Entry]) -> None:
    rows = [
        (op.name, *(f"{a.name} = {'(required)' if a.default is None else format(a.default, 'g')}" for a in attributes))
        for op in dict.fromkeys(entry.op for entry in entries)
        if op is not None and (attributes := attributes_of(op))
    ]
    if rows:
        print()
        output.table(
            ("op", "attr0", "attr1"), [(*row, "")[:3] for row in rows], title="Attributes, with their defaults"
        )


def support(entries: Sequence[Entry]) -> tuple[tuple[str, str], ...]:
    """Return rows about a device's keys of an interface: data types in words, and the ops that support them."""
    keys: dict[Any, list[Any]] = defaultdict(list)
    for entry in entries:
        keys[entry.op].append(entry.dtypes)
    ops_of: dict[str, list[str]] = defaultdict(list)
    for op, dtypes in keys.items():
        ops_of[data_types.in_words(entries[0].interface, dtypes, data_types.in_groups)].append(op.name if op else "")
    return tuple((types, ", ".join(ops)) for types, ops in ops_of.items())


def _print_support(interface: type[Any], tags: str, rows: Sequence[tuple[str, str]]) -> None:
    """Print a row for the ops that support the same data types; empty columns are left out."""
    heading = (data_types.parameters(interface) or "data types", "ops")
    kept = [position for position in range(2) if any(row[position] for row in rows)]
    title = f"{interface.__name__} on {tags}"
    if not kept:
        print(f"{title}: supported")
        return
    output.table([heading[at] for at in kept], [[row[at] for at in kept] for row in rows], title)
    print()
