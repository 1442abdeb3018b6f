"""The parser of all commands: argparse with suggestions, and errors of one line."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ep.cli import text
from ep.include.suggest import did_you_mean


class CommandError(Exception):
    """Raised if a command cannot do its work; the user sees only the message, in one line."""

    code = 1
    """The exit code of the command."""


class WrongArgumentError(CommandError):
    """A CommandError about an argument that is wrong for the operator, the model or the other arguments."""

    code = 2


def check_once(option: str, names: Iterable[str]) -> None:
    """Raise WrongArgumentError if an option that may be repeated has a name twice; an empty one is that of no name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise WrongArgumentError(f"{option}: {name or 'a value without a name'} is given {_times(count)}")


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


class _Once(argparse.Action):
    """The action of an option with one value, or of an argument without a name."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Store the value; raises ArgumentError for the second one."""
        given = namespace.__dict__.setdefault("given_options", set())
        if option is not None and self.dest in given:
            raise argparse.ArgumentError(self, "is given twice; it takes one value")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


def _names(action: argparse.Action, word: str) -> bool:
    """Return whether a word is a name that an option takes, such as Gather that of --primitive."""
    find = getattr(action.type, "find", None)
    return word in (action.choices or ()) if find is None else find(word) is not None


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """The formatter of help: it keeps paragraphs and examples of a description, and breaks lines at blanks only."""

    def __init__(self, prog: str, **options: Any) -> None:
        columns = text.width()
        super().__init__(prog, **{"max_help_position": min(24, columns // 3), "width": columns - 1, **options})

    def _fill_text(self, words: str, width: int, indent: str) -> str:
        return "\n".join(indent + line for line in text.reflow(words, width - len(indent)).splitlines())

    def _format_usage(self, *parts: Any) -> str:
        usage = super()._format_usage(*parts)
        plain = text.without_colours(usage)  # argparse colours it on a terminal, from Python 3.14 on
        if max(map(len, plain.splitlines())) <= text.width():
            return usage
        return "\n".join(text.wrap(" ".join(plain.split()), text.width(), more="    ")) + "\n\n"

    def _split_lines(self, words: str, width: int) -> list[str]:
        return text.wrap(" ".join(words.split()), width)


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that suggests similar names."""

    def __init__(self, **options: Any) -> None:
        """Make an ArgumentParser without abbreviated options, whose help keeps the lines and words of long texts."""
        options.setdefault("allow_abbrev", False)
        options.setdefault("formatter_class", _HelpFormatter)
        super().__init__(**options)
        self.register("action", None, _Once)
        self._refusal: Callable[[str], str] | None = None
        # argparse reads "-1,3,5" as an option unless it looks like a negative number
        self._negative_number_matcher = re.compile(r"-\d[\d.,-]*$")

    def add_commands(
        self, what: str, meaning: str | None = None, refusal: Callable[[str], str] | None = None
    ) -> argparse._SubParsersAction[Parser]:
        """Let the next argument choose among subparsers, which have their full name as `prog`.

        meaning: what help says of them; those with a help of their own are listed.
        refusal: returns the error for a word that names none of them.
        """
        self._refusal = refusal or self._refusal
        return self.add_subparsers(
            dest=what, metavar=what.upper(), required=True, title=f"{what}s", parser_class=Parser, help=meaning
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as ArgumentParser does; the innermost parser stores its name in the result, for later errors."""
        namespace, rest = super().parse_known_args(args, namespace)
        if not hasattr(namespace, "prog"):
            namespace.prog = self.prog
        if rest:
            self._refuse(rest)
        return namespace, rest

    def _refuse(self, rest: list[str]) -> NoReturn:
        word = rest[0]
        known = [option for action in self._actions for option in action.option_strings]
        meant = [
            f"{one.option_strings[-1]} {word}" for one in self._actions if one.option_strings and _names(one, word)
        ]
        hint = f"; did you mean '{' or '.join(meant)}'?" if meant else did_you_mean(word.partition("=")[0], known)
        options = [one for one in known if one.startswith("--") and one != "--help"]
        if not hint and not word.startswith("-") and options:
            hint = f"; the options are {', '.join(options)}"
        self.error(f"there is no argument {' '.join(rest)}{hint}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            if isinstance(action, argparse._SubParsersAction) and self._refusal is not None:
                raise argparse.ArgumentError(action, self._refusal(value))
            known = [str(choice) for choice in action.choices]
            hint = did_you_mean(str(value), known) or f"; it is one of {', '.join(known)}"
            raise argparse.ArgumentError(action, f"{value!r} is unknown{hint}")

    def error(self, message: str) -> NoReturn:
        """Print the message and a hint at --help, and exit with 2."""
        print(_wrong(self.prog, message), file=sys.stderr)
        raise SystemExit(2)


def in_words(prog: str, error: Exception) -> str:
    """Return what the user sees of an error: a line, and for wrong arguments a hint at --help."""
    if isinstance(error, WrongArgumentError):
        return _wrong(prog, str(error))
    return f"{prog}: error: {error}"


def _wrong(prog: str, message: str) -> str:
    return f"{prog}: error: {message}\nTry '{prog} --help'."
