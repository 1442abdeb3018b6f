"""Split, Broadcast and the three Partials, and how they are written and parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from ep.common.checks import as_integer


class Sbp:
    """The layout of a tensor along one axis of a mesh. Equal layouts compare equal."""

    def check(self, shape: tuple[int, ...], name: str) -> None:
        """Raise ValueError if a tensor of `shape` cannot have this SBP; name: the tensor's."""


@dataclass(frozen=True)
class Split(Sbp):
    """A tensor split along `axis`, counted from the front: the first `n mod ranks` pieces are one larger."""

    axis: int

    def __post_init__(self) -> None:
        if as_integer(self.axis, "axis") < 0:
            raise ValueError(f"axis is {self.axis}; that of a Split is counted from the front")

    def check(self, shape: tuple[int, ...], name: str) -> None:
        if self.axis >= len(shape):
            raise ValueError(f"{name} of shape {shape} has no axis {self.axis} to be split along, as {self} says")

    def __str__(self) -> str:
        return f"S({self.axis})"


@dataclass(frozen=True)
class Broadcast(Sbp):
    """A tensor of which each rank has the whole."""

    def __str__(self) -> str:
        return "B"


@dataclass(frozen=True)
class Partial(Sbp):
    """A tensor of which each rank has one of the whole shape; the value is the reduction of all of them."""

    letter: ClassVar[str]

    def __str__(self) -> str:
        return self.letter


@dataclass(frozen=True)
class PartialSum(Partial):
    """A tensor whose value is the sum over the ranks. Sums of bool are PartialMax."""

    letter = "P"


@dataclass(frozen=True)
class PartialMax(Partial):
    """A tensor whose value is the maximum over the ranks; of bool, whether any is true."""

    letter = "PMax"


@dataclass(frozen=True)
class PartialMin(Partial):
    """A tensor whose value is the minimum over the ranks; of bool, whether all are true."""

    letter = "PMin"


_NAMES: Final = {"b": Broadcast(), "p": PartialSum(), "psum": PartialSum(), "pmax": PartialMax(), "pmin": PartialMin()}
_SPLIT: Final = re.compile(r"s\((\d+)\)")


def parse(text: str) -> Sbp:
    """Return the SBP that `text` names: S(0), B, P, PMax or PMin, in any case; ValueError for anything else."""
    given = text.strip()
    folded = given.casefold()
    split = _SPLIT.fullmatch(folded)
    if split:
        return Split(int(split[1]))
    if folded not in _NAMES:
        raise ValueError(f"{given!r} is not an SBP; it must be S(axis), such as S(0), B, P, PMax or PMin")
    return _NAMES[folded]


def parse_many(text: str) -> tuple[Sbp, ...]:
    """Return one SBP for each axis of a mesh, from a text with commas between them: S(0),B."""
    return tuple(map(parse, text.split(",")))
