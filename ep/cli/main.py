# PYTHON_ARGCOMPLETE_OK
"""The entry point of `ep`: it finds the command, and turns errors into one line and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from ep.cli import text
from ep.cli.parser import CommandError, Parser, in_words
from ep.common.environment import VARIABLES
from ep.include.errors import DeviceUnavailableError, EnvironmentVariableError, UnsupportedPrimitiveError
from ep.include.suggest import did_you_mean
from ep.version import __version__

COMMANDS: Final = {
    "demo": ("ep.cli.demo", "run every primitive and check the results: a good first command"),
    "list": ("ep.cli.list_", "list what is registered: primitives, ops, data types, devices"),
    "show": ("ep.cli.show", "show a primitive's contract, attributes and data types"),
    "devices": ("ep.cli.devices", "list the devices, and why one is not available"),
    "ops": ("ep.cli.ops", "list the operators, or show one and its kernels"),
    "kernels": ("ep.cli.kernels", "show which kernel of an operator is chosen, and why"),
    "sbp": ("ep.cli.sbp", "choose how the tensors of an operator lie on several ranks"),
    "run": ("ep.cli.run", "run an operator, or an ONNX model, on .npy files"),
    "onnx": ("ep.cli.onnx", "show what an ONNX model has, and what of it is not served"),
    "coverage": ("ep.cli.coverage", "list the primitives that models need, and those that a device lacks"),
    "bench": ("ep.cli.bench", "time primitives beside NumPy, or a model beside ONNX Runtime"),
    "cache": ("ep.cli.cache", "show, fill or clear the cache of compiled kernels"),
    "doctor": ("ep.cli.doctor", "check the installation, and say what it found"),
}
"""The commands: name -> module with `add_arguments(parser)` and `run(arguments)`, and a description."""

_HELP_COMMAND: Final = {"help": "show this help, or with a COMMAND that of the command"}
_VARIABLES: Final = "variables"
_COMPLETION: Final = "_ARGCOMPLETE"  # set by the shell while it completes a command line

_INTERRUPTED: Final = 130  # the exit code that shells report for SIGINT
_BROKEN_PIPE: Final = 141  # the exit code that shells report for SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command in `argv` (without the program's name), and return the exit code.

    0: done; 1: it failed; 2: the command line is wrong.
    """
    _replace_closed_streams()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = _dispatch(sys.argv[1:] if argv is None else list(argv))
        sys.stdout.flush()  # a closed pipe is noticed here, not while the interpreter exits
        return code
    except OSError as error:
        # else the interpreter would write the rest of the buffer at exit, and fail again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return _BROKEN_PIPE
        print(f"ep: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED


def _replace_closed_streams() -> None:
    """Replace streams that the shell closed (`>&-`): else the next file that is opened would become stdout.

    Writing to stdout then fails, as it should; output to stderr is lost.
    """
    if sys.stdout is not None and sys.stderr is not None:
        return
    while (descriptor := os.open(os.devnull, os.O_RDONLY)) <= 2:
        pass
    os.close(descriptor)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _dispatch(argv: list[str]) -> int:
    if _COMPLETION in os.environ:
        from ep.cli.completion import complete

        complete(COMMANDS)
    name, *rest = argv or ["help"]
    if name in ("-h", "--help") or (name == "help" and not rest):
        print(_help())
        return 0
    if name in ("-V", "--version"):
        print(f"ep {__version__}")
        return 0
    if name == "help" and rest[0] == _VARIABLES:
        print(text.definitions({one.name: one.meaning for one in VARIABLES}, text.width()))
        return 0
    if name == "help":
        name, rest = rest[0], [*rest[1:], "--help"]
    if name not in COMMANDS:
        kind = "option" if name.startswith("-") else "command"
        hint = did_you_mean(name, COMMANDS) or f"; the commands are {', '.join(COMMANDS)}"
        print(f"ep: error: there is no {kind} {name!r}{hint}", file=sys.stderr)
        return 2
    command = import_module(COMMANDS[name][0])
    other = command.instead(rest) if hasattr(command, "instead") else None
    command = import_module(other) if other else command
    parser = Parser(prog=f"ep {name}", description=command.__doc__)
    command.add_arguments(parser)
    try:
        arguments = parser.parse_args(rest)
    except SystemExit as stop:  # --help, and errors that argparse has printed
        return int(stop.code or 0)
    try:
        return int(command.run(arguments))
    except (CommandError, DeviceUnavailableError, EnvironmentVariableError, UnsupportedPrimitiveError) as error:
        print(in_words(getattr(arguments, "prog", parser.prog), error), file=sys.stderr)
        return error.code if isinstance(error, CommandError) else 1


def _help() -> str:
    """Return the help of all commands: on a terminal of 80 columns, a screen of 24 lines."""
    columns = text.width()
    commands = {name: what for name, (_, what) in COMMANDS.items()} | _HELP_COMMAND
    about = "Execution-provider primitives: gather, expand, elementwise and more."
    more = (
        "Options: -h, --help; -V, --version. 'ep COMMAND --help' describes a command, 'ep help variables' the "
        "environment variables, and 'ep doctor' says what they are set to."
    )
    return "\n".join(
        [
            *text.wrap("usage: ep COMMAND [OPTIONS]", columns),
            "",
            *text.wrap(about, columns),
            *("", "commands:", text.definitions(commands, columns, "  "), ""),
            *text.wrap(more, columns),
        ]
    )


def _show_warning(message: Warning | str, *where: object, **more: object) -> None:
    """Print a warning as one line; only developers need its place in the code."""
    print(f"ep: warning: {message}", file=sys.stderr)
