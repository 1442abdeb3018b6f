"""The exceptions of the framework that are not plain TypeError, ValueError or IndexError."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Argument(str):
    """The name of an argument in an ArgumentError, or of a part of one: `src`, `axes[1]`, `a_dims[:-2]`."""

    __slots__ = ()

    @property
    def whole(self) -> str:
        """The name of the argument that this is, or is a part of."""
        return self.split("[", 1)[0].split(".", 1)[0]

    def renamed(self, names: Mapping[str, str]) -> Argument:
        """Return the name under which another function has the same; names: that of each argument which differs."""
        whole = self.whole
        return Argument(names.get(whole, whole) + self[len(whole) :])


class ArgumentError(Exception):
    """An argument that cannot be used; it is raised as ArgumentTypeError, ArgumentValueError or ArgumentIndexError.

    It knows which words of its message are names of arguments, so that a function which hands its arguments on under
    other names can put its own into the place of them:

        try:
            primitive.Launch(stream, x, out, count)
        except ArgumentError as error:
            error.rename({"src": "x", "dst": "out"})
            raise
    """

    def __init__(self, argument: str, word: Any, *words: Any) -> None:
        """Say of `argument` what came and what was expected: "dst", "overlaps", Argument("src").

        words: texts and values, between which the message has blanks, as `print` writes them. An `Argument` among them
        is another argument of the same call.
        """
        super().__init__(Argument(argument), *(one if type(one) is Argument else str(one) for one in (word, *words)))

    @property
    def argument(self) -> Argument:
        """The argument, or the part of one, that the error is about."""
        one: Argument = self.args[0]
        return one

    def rename(self, names: Mapping[str, str]) -> None:
        """Call arguments by other names; names: that of each which differs, and parts of it follow."""
        self.args = tuple(one.renamed(names) if type(one) is Argument else one for one in self.args)

    def __str__(self) -> str:
        return " ".join(self.args)


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument is of a type, or has elements of a type, that the call does not take."""


class ArgumentValueError(ArgumentError, ValueError):
    """An argument has a value, a shape or a place in memory that the call does not take."""


class ArgumentIndexError(ArgumentError, IndexError):
    """An argument holds an index out of range."""


class UnsupportedPrimitiveError(LookupError):
    """No registered factory makes the primitive that was required; the message says what is nearest and why."""


class DeviceUnavailableError(RuntimeError):
    """A device type is unknown, or its hardware, driver or package is missing; the message says which."""


class EnvironmentVariableError(ValueError):
    """An environment variable is set to what is not valid; the message says which, to what, and what is valid."""


class DuplicateRegistrationError(ValueError):
    """Two factories, device types or device managers claim the same place in a registry."""
