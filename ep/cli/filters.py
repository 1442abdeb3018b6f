"""The filters that choose among the registered keys."""

from __future__ import annotations

import sys
from argparse import Namespace

from ep.cli import names
from ep.cli.parser import Parser
from ep.include.primitive import Entry, registered

_NAMES = "in any case, with or without the k; may be given more than once"


def add_filters(parser: Parser) -> None:
    """Add the options that `chosen` reads."""
    parser.add_argument("--primitive", type=names.primitive, action="append", help=f"such as Gather ({_NAMES})")
    parser.add_argument("--op", type=names.op, action="append", help="such as kRelu")
    parser.add_argument("--dtype", type=names.data_type, action="append", help="in any position: kFloat or float32")
    parser.add_argument("--device", type=names.device_type, action="append", help="such as cpu")


def chosen(arguments: Namespace) -> list[Entry]:
    """Return the registered keys that pass every filter; print a line on stderr if none does."""
    ops = None if arguments.op is None else [op.name for op in arguments.op]  # kMax names two ops
    entries = [
        entry
        for entry in registered()
        if _passes(entry.interface, arguments.primitive)
        and _passes(entry.op and entry.op.name, ops)
        and (arguments.dtype is None or set(entry.dtypes) & set(arguments.dtype))
        and _passes(entry.device_type, arguments.device)
    ]
    if not entries:
        print(f"{arguments.prog}: nothing is registered that fits", file=sys.stderr)
    return entries


def _passes(value: object, wanted: list[object] | None) -> bool:
    return wanted is None or value in wanted
