"""Finds the command, and turns what goes wrong into one line and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from ep.cli.parser import CommandError, Parser
from ep.include.errors import DeviceUnavailableError, UnsupportedPrimitiveError
from ep.include.suggest import did_you_mean
from ep.version import __version__

COMMANDS: Final = {
    "demo": ("ep.cli.demo", "run every primitive on real-looking data and check it: a good first command"),
    "list": ("ep.cli.list_", "list what is registered: primitives, ops, data types, devices"),
    "show": ("ep.cli.show", "show one primitive's contract, attributes and supported data types"),
    "devices": ("ep.cli.devices", "list the devices, and why one is not available"),
    "run": ("ep.cli.run", "run one operator on .npy files"),
    "bench": ("ep.cli.bench", "time the primitives against NumPy on this machine"),
    "cache": ("ep.cli.cache", "show, fill or clear the cache of compiled kernels"),
    "doctor": ("ep.cli.doctor", "check the installation, and say what it found"),
}
"""Command -> its module, which has `add_arguments(parser)` and `run(arguments)`, and what it does."""

_HELP: Final = f"""usage: ep COMMAND [OPTIONS]

Execution-provider primitives: gather, expand, elementwise and more behind one registry.

commands:
{chr(10).join(f"  {name:<9}{what}" for name, (_, what) in COMMANDS.items())}

options:
  -h, --help  show this help; 'ep COMMAND --help' shows that of a command
  --version   show the version
"""

_INTERRUPTED: Final = 130  # as a shell reports SIGINT
_BROKEN_PIPE: Final = 141  # as a shell reports SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command in `argv` (without the program's name), and return the exit code.

    0: done; 1: it failed; 2: it was asked for in a wrong way.
    """
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = _dispatch(sys.argv[1:] if argv is None else list(argv))
        sys.stdout.flush()  # a reader that went away is noticed here, not while the interpreter exits
        return code
    except OSError as error:
        # what is still buffered would be written, and fail, once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return _BROKEN_PIPE
        print(f"ep: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        print(_HELP, end="")
        return 0
    if argv[0] == "--version":
        print(f"ep {__version__}")
        return 0
    name, *rest = argv
    if name not in COMMANDS:
        kind = "option" if name.startswith("-") else "command"
        hint = did_you_mean(name, COMMANDS) or f"; the commands are {', '.join(COMMANDS)}"
        print(f"ep: error: there is no {kind} {name!r}{hint}", file=sys.stderr)
        return 2
    command = import_module(COMMANDS[name][0])
    parser = Parser(prog=f"ep {name}", description=command.__doc__)
    command.add_arguments(parser)
    try:
        arguments = parser.parse_args(rest)
    except SystemExit as stop:  # --help, and errors that argparse has printed
        return int(stop.code or 0)
    try:
        return int(command.run(arguments))
    except (CommandError, DeviceUnavailableError, UnsupportedPrimitiveError) as error:
        print(f"{getattr(arguments, 'prog', parser.prog)}: error: {error}", file=sys.stderr)
        return 1


def _show_warning(message: Warning | str, *where: object, **more: object) -> None:
    """One line; where it was raised matters to developers alone."""
    print(f"ep: warning: {message}", file=sys.stderr)
