"""The completion of command lines in a shell, by argcomplete if it is installed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from ep.cli import names
from ep.cli.parser import Parser

_WITH_OPERATORS: Final = frozenset(("kernels", "ops", "run", "sbp"))
"""The commands that take the name of an operator."""


def complete(commands: Mapping[str, tuple[str, str]]) -> None:
    """Complete the command line for the shell, and end the process; do nothing if argcomplete is missing."""
    try:
        import argcomplete
    except ImportError:
        return
    line = os.environ.get("COMP_LINE", "").split()
    parser = Parser(prog="ep")
    chosen = parser.add_commands("command")
    for name, (module, what) in commands.items():
        command = chosen.add_parser(name, help=what)
        if name in line[1:]:  # the other modules need not be imported
            import_module(module).add_arguments(command)
            _add_completers(command)
    hidden = names.not_offered() if _WITH_OPERATORS.intersection(line) else []
    argcomplete.autocomplete(parser, exclude=hidden, validator=names.is_start_of)


def _add_completers(parser: Any) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                _add_completers(inner)
        elif known := getattr(action.type, "known", None):
            action.completer = _completer(known)


def _completer(known: Callable[[], list[str]]) -> Callable[..., list[str]]:
    return lambda **about: known()
