"""The exceptions of the framework that are not plain TypeError, ValueError or IndexError."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any


class Argument(str):
    """The name of an argument in an ArgumentError, or of a part of one: `src`, `axes[1]`, `a_dims[:-2]`."""

    __slots__ = ()

    @property
    def whole(self) -> str:
        """The name of the whole argument, if this is a part of one."""
        return self.split("[", 1)[0].split(".", 1)[0]

    def renamed(self, names: Mapping[str, str]) -> Argument:
        """Return the name of the same argument in another function. names: the names that differ, by argument."""
        whole = self.whole
        return Argument(names.get(whole, whole) + self[len(whole) :])


class ArgumentError(Exception):
    """An argument that cannot be used; it is raised as ArgumentTypeError, ArgumentValueError or ArgumentIndexError.

    It records which words of its message are names of arguments. So a function that passes its arguments on under other
    names can replace them with its own:

        try:
            primitive.Launch(stream, x, out, count)
        except ArgumentError as error:
            error.rename({"src": "x", "dst": "out"})
            raise
    """

    def __init__(self, argument: str, word: Any, *words: Any) -> None:
        """Make the message about `argument`, the given and the expected value: "dst", "overlaps", Argument("src").

        words: texts and values, joined by blanks, as `print` writes them. An `Argument` among them is another argument
            of the same call.
        """
        super().__init__(Argument(argument), *(one if type(one) is Argument else str(one) for one in (word, *words)))

    @property
    def argument(self) -> Argument:
        """The argument, or the part of one, that the error is about."""
        one: Argument = self.args[0]
        return one

    def rename(self, names: Mapping[str, str]) -> None:
        """Rename arguments in the message. names: the names that differ; parts of an argument are renamed with it."""
        self.args = tuple(one.renamed(names) if type(one) is Argument else one for one in self.args)

    def __str__(self) -> str:
        return " ".join(self.args)


class ArgumentTypeError(ArgumentError, TypeError):
    """Raised if an argument has a type, or elements of a type, that the call does not accept."""


class ArgumentValueError(ArgumentError, ValueError):
    """Raised if an argument has a value, a shape or a place in memory that the call does not accept."""


class ArgumentIndexError(ArgumentError, IndexError):
    """Raised if an argument holds an index out of range."""


class UnsupportedPrimitiveError(LookupError):
    """Raised if no factory makes a required primitive. The message has the nearest ones and the reason."""

    def __init__(self, message: str | Callable[[], str]) -> None:
        """message: the text, or a function that returns it: another device may compute instead, and nobody reads it."""
        super().__init__(message)

    @property
    def reasons(self) -> Sequence[Any]:
        """The texts, or what has them, for each kernel that is missing."""
        return (self,)

    def __str__(self) -> str:
        self._find()
        return super().__str__()

    def __repr__(self) -> str:
        self._find()
        return super().__repr__()

    def __reduce__(self) -> Any:
        self._find()
        return super().__reduce__()

    def _find(self) -> None:
        if callable(self.args[0]):
            self.args = (self.args[0](),)


class LackingError(UnsupportedPrimitiveError):
    """Raised for a graph that needs kernels which its device lacks: the message lists all of them.

    operators: the reasons by the operators of a file that need the kernels, where there is a file.
    """

    operators: Mapping[str, Sequence[str]] = MappingProxyType({})

    def __init__(self, tag: str, lacking: Iterable[str | UnsupportedPrimitiveError]) -> None:
        """lacking: reasons, and errors that have reasons."""
        each = chain.from_iterable((one,) if isinstance(one, str) else one.reasons for one in lacking)
        super().__init__(tag)
        self.args = tag, [*dict.fromkeys(map(str, each))]  # what a copy is made of

    @property
    def reasons(self) -> Sequence[str]:
        found: Sequence[str] = self.args[1]
        return found

    def __str__(self) -> str:
        head = f'{self.args[0]} lacks kernels; with otherwise="cpu", the CPU computes what needs them:'
        return "\n  ".join([head, *self.reasons])


class DeviceUnavailableError(RuntimeError):
    """Raised if a device type is unknown, or its hardware, driver or package is missing. The message names it."""


class EnvironmentVariableError(ValueError):
    """Raised for an invalid value of an environment variable.

    The message has the variable, its value and the valid ones.
    """


class DuplicateRegistrationError(ValueError):
    """Raised if two factories, device types or device managers claim the same place in a registry."""
