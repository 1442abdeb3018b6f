"""Operators on a mesh: the signature, the boxing of inputs to it, and the computation of each rank on its pieces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.arrays.checks import is_weak
from ep.common.bounded_cache import BoundedCache
from ep.include.arrays import Array, ArrayLike, Arrays, Operands
from ep.mesh import report
from ep.mesh.placement import Placement
from ep.mesh.world import world
from ep.ops.declare.inputs import Role
from ep.ops.declare.operator import Operator
from ep.sbp import (
    Broadcast,
    Problem,
    Sbp,
    SbpSignature,
    Split,
    choose,
    parse_signature,
    problem_on_axis,
    signatures_on_axis,
)

_ASKED: Final[ContextVar[tuple[SbpSignature, ...] | None]] = ContextVar("_ASKED", default=None)


@contextmanager
def under(*signatures: str | SbpSignature) -> Iterator[None]:
    """Make operators on a mesh use a signature, one for each axis of it: `with under("S(0), B -> P"): ...`.

    An operator that does not list it raises ValueError with the signatures that it lists.
    """
    asked = tuple(parse_signature(one) if isinstance(one, str) else one for one in signatures)
    token = _ASKED.set(asked)
    try:
        yield
    finally:
        _ASKED.reset(token)


class MeshOperands(Operands):
    """Operands that are GlobalTensors of one placement, and numbers."""

    def __init__(self, placement: Placement, arrays: Arrays, tensor: type[Any]) -> None:
        """arrays: of the device of this rank's pieces. tensor: the class of tensors."""
        self._placement, self._arrays, self._tensor = placement, arrays, tensor
        self.place = f"{placement}, pieces on {arrays.place}"

    def as_buffer(self, value: ArrayLike, argument: str) -> Array:
        if is_weak(value):
            return self.number(np.asarray(value))
        if not isinstance(value, self._tensor):
            raise TypeError(
                f"{argument} ({type(value).__qualname__}) is not a tensor on {self._placement}; to_global makes one"
            )
        return value

    def number(self, number: np.ndarray[Any, Any]) -> Any:
        return self.copy_from_host(number)

    def copy_from_host(self, array: np.ndarray[Any, Any]) -> Array:
        whole = (Broadcast(),) * len(self._placement.mesh)
        return self._tensor(self._arrays.copy_from_host(array), array.shape, self._placement, whole)

    def copy_to_host(self, array: Array) -> np.ndarray[Any, Any]:
        whole: np.ndarray[Any, Any] = array.numpy()
        return whole

    def compute(
        self, operator: Operator, inputs: Sequence[Array], attributes: Mapping[str, Any], out: Array | None
    ) -> list[Array]:
        if out is not None:
            raise TypeError(f"out is given; an operator on {self._placement} makes a tensor of its own")
        asked = _ASKED.get()
        operands = tuple((one.shape, one.dtype, one.sbp) for one in inputs)
        key = operator.name, repr(attributes), operands, self._placement.mesh, asked
        sharding = _SHARDINGS.keep(key, lambda: _sharding_of(operator, inputs, attributes, self._placement, asked))
        report.note(report.Run(operator.name, sharding.signatures))
        names = operator.input_names if len(inputs) == len(operator.inputs) else operator.input_names * len(inputs)
        pieces = [
            one.boxed(target, f"{operator.name} {name}").to_local()
            for one, target, name in zip(inputs, sharding.inputs, names, strict=True)
        ]

        def compute() -> list[Array]:
            return operator.compute(self._arrays, pieces, sharding.attributes)

        if sharding.may_fail_on_some:
            results = world().on_all(compute, operator.name)
        else:
            with world().doing(operator.name):
                results = compute()
        return [
            self._tensor(result, shape, self._placement, sbps)
            for result, shape, sbps in zip(results, sharding.shapes, sharding.outputs, strict=True)
        ]


class _Sharding(NamedTuple):
    """How operands of some shapes and placements are computed. It is the same on all ranks, except `attributes`.

    signatures: one for each axis of the mesh.
    inputs, outputs: one SBP for each axis of the mesh, for each input or output.
    shapes: the shapes of the whole outputs.
    attributes: those with which this rank computes on its pieces.
    may_fail_on_some: whether some ranks alone may find an index out of range.
    """

    signatures: tuple[SbpSignature, ...]
    inputs: list[tuple[Sbp, ...]]
    outputs: list[tuple[Sbp, ...]]
    shapes: list[tuple[int, ...]]
    attributes: Mapping[str, Any]
    may_fail_on_some: bool


_SHARDINGS: Final = BoundedCache()


def _sharding_of(
    operator: Operator,
    inputs: Sequence[Array],
    attributes: Mapping[str, Any],
    placement: Placement,
    asked: tuple[SbpSignature, ...] | None,
) -> _Sharding:
    problem, mesh = operator.problem(inputs, attributes, 1), placement.mesh
    if asked is None:
        signatures = choose(operator, problem, mesh, [one.sbp for one in inputs]).signatures
    else:
        signatures = asked
        _check(operator, problem, placement, asked)
    return _Sharding(
        signatures,
        [*zip(*(one.inputs for one in signatures), strict=True)],
        [*zip(*(one.outputs for one in signatures), strict=True)],
        [tuple(shape) for shape in problem.out_shapes],
        problem_on_axis(operator, problem, signatures, mesh, placement.coordinates).attributes,
        _may_fail_on_some(operator, signatures),
    )


def _check(operator: Operator, problem: Problem, placement: Placement, asked: tuple[SbpSignature, ...]) -> None:
    """Raise ValueError, with the listed signatures, if a requested signature is not listed."""
    if len(asked) != len(placement.mesh):
        raise ValueError(f"{len(asked)} signatures are asked for, and {placement} has {len(placement.mesh)} axes")
    for axis, signature in enumerate(asked):
        listed = signatures_on_axis(operator, problem, asked[:axis], placement.mesh)
        if signature not in listed:
            there_is = "; ".join(map(str, listed))
            raise ValueError(f"{operator.name} has no signature {signature} here; it has {there_is}")


def _may_fail_on_some(operator: Operator, signatures: Sequence[SbpSignature]) -> bool:
    """Return whether indices are split."""
    return any(
        isinstance(place, Split)
        for signature in signatures
        for one, place in zip(operator.inputs, signature.inputs, strict=False)
        if one.role is Role.INDICES
    )
