"""Signatures: the SBPs that inputs of an operator may have, and those that its outputs have then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ep.include.data_type import DataType
from ep.sbp.sbp import Broadcast, PartialMax, PartialMin, Sbp, parse_many

Dims = tuple[int, ...]


class Problem(NamedTuple):
    """One use of an operator, along one axis of a mesh.

    shapes, types: of the whole inputs.
    out_shapes: of the whole outputs.
    attributes: by name, as the operator has resolved them.
    ranks: the number of ranks along the axis of the mesh.
    """

    shapes: Sequence[Dims]
    types: Sequence[DataType]
    out_shapes: Sequence[Dims]
    out_type: DataType
    attributes: Mapping[str, Any]
    ranks: int


class SbpSignature(NamedTuple):
    """The SBPs of inputs and outputs along one axis of a mesh."""

    inputs: tuple[Sbp, ...]
    outputs: tuple[Sbp, ...]

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.inputs))} -> {', '.join(map(str, self.outputs))}"


class HasSignatures(Protocol):
    """The interface of an operator that has signatures."""

    @property
    def name(self) -> str:
        """The operator's name."""

    def signatures(self, problem: Problem) -> list[SbpSignature]:
        """Return the signatures that are valid along one axis of a mesh."""

    def local_attributes(self, problem: Problem, signature: SbpSignature, rank: int) -> Mapping[str, Any]:
        """Return the attributes with which a rank works on its pieces."""


def parse_signature(text: str) -> SbpSignature:
    """Return the signature that `text` names, such as "S(0), B -> P"; ValueError if it is not a signature."""
    inputs, arrow, outputs = text.partition("->")
    if not arrow:
        raise ValueError(f"{text!r} is not a signature; it must be as S(0), B -> P: inputs, an arrow, and outputs")
    return SbpSignature(parse_many(inputs), parse_many(outputs))


def all_broadcast(problem: Problem) -> SbpSignature:
    """Return the signature that every operator has: each rank computes everything."""
    return SbpSignature((Broadcast(),) * len(problem.shapes), (Broadcast(),) * len(problem.out_shapes))


def follows_from(signature: SbpSignature, listed: Iterable[SbpSignature]) -> SbpSignature | None:
    """Return the listed signature that implies another at no cost, as B implies PMax and PMin; None if none does."""
    return next((one for one in listed if _follows(signature, one)), None)


def _follows(signature: SbpSignature, listed: SbpSignature) -> bool:
    given = zip(signature.inputs, listed.inputs, strict=True)
    gives = zip(listed.outputs, signature.outputs, strict=True)
    return all(_is_as(*pair) for pair in (*given, *gives))


def _is_as(source: Sbp, target: Sbp) -> bool:
    """Whether a tensor with SBP `source` also has SBP `target`."""
    return source == target or (isinstance(source, Broadcast) and isinstance(target, PartialMax | PartialMin))
