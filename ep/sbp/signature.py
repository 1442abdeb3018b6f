"""Signatures: how the inputs of an operator may lie, and how its outputs lie then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ep.include.data_type import DataType
from ep.sbp.sbp import Broadcast, PartialMax, PartialMin, Sbp, parse_many

Dims = tuple[int, ...]


class Problem(NamedTuple):
    """One use of an operator, along one axis of a mesh.

    shapes, types: of the inputs, whole.
    out_shapes: of the outputs, whole.
    attributes: by name, as the operator has resolved them.
    ranks: how many there are along the axis of the mesh.
    """

    shapes: Sequence[Dims]
    types: Sequence[DataType]
    out_shapes: Sequence[Dims]
    out_type: DataType
    attributes: Mapping[str, Any]
    ranks: int


class Signature(NamedTuple):
    """The distributions of inputs and outputs along one axis of a mesh."""

    inputs: tuple[Sbp, ...]
    outputs: tuple[Sbp, ...]

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.inputs))} -> {', '.join(map(str, self.outputs))}"


class HasSignatures(Protocol):
    """The part of an operator that concerns placements."""

    @property
    def name(self) -> str:
        """The operator's."""

    def signatures(self, problem: Problem) -> list[Signature]:
        """Return the possible distributions of inputs and outputs along one axis of a mesh."""

    def local_attributes(self, problem: Problem, signature: Signature, rank: int) -> Mapping[str, Any]:
        """The attributes with which a rank works on its pieces."""


def parse_signature(text: str) -> Signature:
    """Return what `text` says, such as "S(0), B -> P"; ValueError for what is no signature."""
    inputs, arrow, outputs = text.partition("->")
    if not arrow:
        raise ValueError(f"{text!r} is no signature; it must be as S(0), B -> P: inputs, an arrow, and outputs")
    return Signature(parse_many(inputs), parse_many(outputs))


def all_broadcast(problem: Problem) -> Signature:
    """Return the signature that every operator has: each rank does everything."""
    return Signature((Broadcast(),) * len(problem.shapes), (Broadcast(),) * len(problem.out_shapes))


def follows_from(signature: Signature, listed: Iterable[Signature]) -> Signature | None:
    """Return the listed signature from which another one follows at no cost, as B is PMax and PMin as it is.

    None for none.
    """
    return next((one for one in listed if _follows(signature, one)), None)


def _follows(signature: Signature, listed: Signature) -> bool:
    given = zip(signature.inputs, listed.inputs, strict=True)
    gives = zip(listed.outputs, signature.outputs, strict=True)
    return all(_is_as(*pair) for pair in (*given, *gives))


def _is_as(source: Sbp, target: Sbp) -> bool:
    """Return whether what lies as `source` lies as `target`, too."""
    return source == target or (isinstance(source, Broadcast) and isinstance(target, PartialMax | PartialMin))
