"""Show one primitive: its contract, the attributes of its ops, and which data types each device supports."""

from __future__ import annotations

import inspect
import textwrap
from argparse import Namespace
from collections import defaultdict
from collections.abc import Sequence
from enum import Enum
from typing import Any, Final

from ep.cli import names, output
from ep.cli.parser import Parser
from ep.include.data_type import DataType
from ep.include.primitive import Entry, registered
from ep.include.primitive.op_table import attributes_of

_SHORT: Final = {DataType.kBFloat16: "bf16", DataType.kBool: "bool", DataType.kChar: "char"}
_LINE: Final = 100


def add_arguments(parser: Parser) -> None:
    """Add the arguments of `ep show`."""
    parser.add_argument("primitive", type=names.primitive, help="such as Gather, in any case")


def run(arguments: Namespace) -> int:
    """Print what there is to know of one interface."""
    interface = arguments.primitive
    print(_contract(interface))
    entries = [entry for entry in registered() if entry.interface is interface]
    _print_attributes(entries)
    if not entries:
        print(f"\nNo device implements {interface.__name__} yet: NewPrimitive answers None for it.")
    for device_type in dict.fromkeys(entry.device_type for entry in entries):
        _print_matrix([entry for entry in entries if entry.device_type is device_type])
    return 0


def _contract(interface: type[Any]) -> str:
    """The docstrings of the interface, of New and of Launch, as in the source."""
    factory = names.factory_of(interface)
    aliases = [name for name, value in names.INTERFACES.items() if value is interface and name != interface.__name__]
    also = f" (also {', '.join(aliases)})" if aliases else ""
    return "\n".join(
        [
            f"{interface.__name__}{also}",
            textwrap.indent(inspect.getdoc(interface) or "", "  "),
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
    lines = textwrap.wrap(f"{call})", _LINE, subsequent_indent="    ", break_long_words=False)
    return [*lines, textwrap.indent(inspect.getdoc(function) or "", "  ")]


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


def _print_matrix(entries: Sequence[Entry]) -> None:
    """A row for each op, with what it takes beside the first data type; a column for each first data type."""
    interface, tag = entries[0].interface, entries[0].device_type.tag
    if not entries[0].dtypes:
        ops = ", ".join(entry.op.name for entry in entries if entry.op)
        print(f"\n{interface.__name__} on {tag}: {ops or 'supported'}")
        return
    parameters = [name for name in inspect.signature(names.factory_of(interface).New).parameters if "type" in name]
    supported: dict[str, set[DataType]] = defaultdict(set)
    for op in dict.fromkeys(entry.op for entry in entries):
        keys = [entry.dtypes for entry in entries if entry.op is op]
        same_type = all(len(set(key)) == 1 for key in keys)
        for first, *rest in sorted(keys, key=lambda key: [*map(names.kind_order, key[1:])]):
            supported[_row_name(op, [] if same_type else rest, parameters[1:])].add(first)
    columns = sorted(set().union(*supported.values()), key=names.kind_order)
    headings = [_short(data_type) for data_type in columns]
    rows = [(name, *("x" if column in marked else "." for column in columns)) for name, marked in supported.items()]
    print()
    output.table(("", *headings), rows, title=f"{interface.__name__} on {tag}, by {parameters[0]}")


def _row_name(op: Enum | None, rest: Sequence[DataType], parameters: Sequence[str]) -> str:
    """`kRelu`, `kIsNan -> kBool`, `indices_type kInt32`."""
    if op is not None:
        return " -> ".join((op.name, *(data_type.name for data_type in rest)))
    return (
        ", ".join(f"{name} {data_type.name}" for name, data_type in zip(parameters, rest, strict=False)) or "supported"
    )


def _short(data_type: DataType) -> str:
    """Four letters at most: f32, bf16, c128."""
    return _SHORT.get(data_type) or f"{data_type.dtype.kind}{8 * data_type.itemsize}"
