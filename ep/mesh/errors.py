"""An error of one rank, as the other ranks raise it."""

from __future__ import annotations

import pickle
from typing import NamedTuple

from ep.include.errors import ArgumentError


class RankError(RuntimeError):
    """Raised if another rank has an error whose class cannot be rebuilt from text, or if ranks make different calls.

    The message names the class of the other rank's error.
    """


class Told(NamedTuple):
    """The error of one rank as it is sent to the others: bytes and text, so that any error can be sent.

    kind: the class to rebuild from `words`, pickled, which is its name.
    words: one text; for an ArgumentError, the separate words of its message.
    """

    kind: bytes
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        """The message."""
        return " ".join(self.words)

    def rebuilt(self) -> Exception:
        """Return the error, on a rank that received it."""
        try:
            error: Exception = pickle.loads(self.kind)(*self.words)
        except Exception:  # a class that this rank does not have
            return RankError(self.text)
        return error


def told(error: BaseException, rank: int) -> Told:
    """Return the error as `rank` sends it to the others.

    The class is that of the error if it can be rebuilt from a text, else the nearest base class that can: an `except`
    that catches the error on its own rank catches it on the others. If only Exception is left, it is RankError. An
    ArgumentError names the same argument on all ranks.
    """
    own, text, place = type(error), _text(error), f"(on rank {rank})"
    named = f"{_name(own)}: {text}" if text else _name(own)
    for kind in own.__mro__:
        if issubclass(kind, Exception) and kind is not Exception:
            if kind is own and isinstance(error, ArgumentError):
                one = Told(_pickled(kind), (*error.args, place))
            else:
                one = Told(_pickled(kind), (f"{text if text and kind is own else named} {place}",))
            if _is_made(kind, one):
                return one
    return Told(_pickled(RankError), (f"{named} {place}",))


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as failed:
        return f"its text is missing, for __str__ raises {_name(type(failed))}"


def _name(kind: type[BaseException]) -> str:
    """Return the name of a class as tracebacks show it."""
    return (
        kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    )


def _pickled(kind: type[Exception]) -> bytes:
    """Return the name of a class, pickled, if the class is found by its name; else empty bytes."""
    try:
        return pickle.dumps(kind)
    except Exception:  # a class that a function has made
        return b""


def _is_made(kind: type[Exception], one: Told) -> bool:
    """Whether other ranks can rebuild it, found by rebuilding it here."""
    try:
        made = one.rebuilt()
        return type(made) is kind and one.text in str(made)
    except Exception:
        return False
