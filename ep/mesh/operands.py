"""Operators on a mesh: which signature, how inputs come to lie so, and what each rank computes on its pieces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import numpy as np

from ep.common.arrays.checks import is_weak
from ep.include.arrays import Array, ArrayLike, Arrays, Operands
from ep.mesh import report
from ep.mesh.placement import Placement
from ep.mesh.world import on_all
from ep.ops.declare.operator import Operator, Role
from ep.sbp import (
    Broadcast,
    Problem,
    Signature,
    Split,
    choose,
    parse_signature,
    problem_on_axis,
    signatures_on_axis,
)

_ASKED: Final[ContextVar[tuple[Signature, ...] | None]] = ContextVar("_ASKED", default=None)


@contextmanager
def under(*signatures: str | Signature) -> Iterator[None]:
    """Have operators on a mesh use a signature, one for each axis of it: `with under("S(0), B -> P"): ...`.

    An operator that does not list it raises ValueError, which says what it lists.
    """
    asked = tuple(parse_signature(one) if isinstance(one, str) else one for one in signatures)
    token = _ASKED.set(asked)
    try:
        yield
    finally:
        _ASKED.reset(token)


class MeshOperands(Operands):
    """Operands are GlobalTensors of one placement, and Python numbers."""

    def __init__(self, placement: Placement, arrays: Arrays, tensor: type[Any]) -> None:
        """arrays: those of the device of this rank's pieces. tensor: the class of tensors."""
        self._placement, self._arrays, self._tensor = placement, arrays, tensor
        self.place = f"{placement}, pieces on {arrays.place}"

    def as_buffer(self, value: ArrayLike, argument: str) -> Array:
        if is_weak(value):
            return self.number(np.asarray(value))
        if not isinstance(value, self._tensor):
            raise TypeError(
                f"{argument} ({type(value).__qualname__}) is no tensor on {self._placement}; to_global makes one"
            )
        return value

    def number(self, number: np.ndarray[Any, Any]) -> Any:
        whole = (Broadcast(),) * len(self._placement.mesh)
        return self._tensor(self._arrays.copy_from_host(number), (), self._placement, whole)

    def indices(self, value: ArrayLike) -> Array:
        return self.as_buffer(value, "indices")

    def copy_to_host(self, array: Array) -> np.ndarray[Any, Any]:
        whole: np.ndarray[Any, Any] = array.numpy()
        return whole

    def compute(
        self, operator: Operator, inputs: Sequence[Array], attributes: Mapping[str, Any], out: Array | None
    ) -> list[Array]:
        if out is not None:
            raise TypeError(f"out is given; an operator on {self._placement} makes a tensor of its own")
        problem = operator.problem(inputs, attributes, 1)
        mesh, coordinates = self._placement.mesh, self._placement.coordinates
        signatures = self._signatures(operator, problem, inputs)
        report.note(report.Run(operator.name, signatures))
        names = operator.input_names if len(inputs) == len(operator.inputs) else [operator.input_names[0]] * len(inputs)
        pieces = []
        for position, (one, name) in enumerate(zip(inputs, names, strict=True)):
            target = tuple(signature.inputs[position] for signature in signatures)
            pieces.append(one.boxed(target, f"{operator.name} {name}").to_local())
        mine = problem_on_axis(operator, problem, signatures, mesh, coordinates)

        def compute() -> list[Array]:
            return operator.compute(self._arrays, pieces, mine.attributes)

        results = on_all(compute) if _may_fail_on_some(operator, signatures) else compute()
        return [
            self._tensor(result, tuple(shape), self._placement, tuple(one.outputs[position] for one in signatures))
            for position, (result, shape) in enumerate(zip(results, problem.out_shapes, strict=True))
        ]

    def _signatures(self, operator: Operator, problem: Problem, inputs: Sequence[Array]) -> tuple[Signature, ...]:
        """What was asked for, or else what moves the fewest bytes; ValueError for what is not listed."""
        mesh, asked = self._placement.mesh, _ASKED.get()
        if asked is None:
            return choose(operator, problem, mesh, [one.sbp for one in inputs]).signatures
        if len(asked) != len(mesh):
            raise ValueError(f"{len(asked)} signatures are asked for, and {self._placement} has {len(mesh)} axes")
        for axis, signature in enumerate(asked):
            listed = signatures_on_axis(operator, problem, asked[:axis], mesh)
            if signature not in listed:
                there_is = "; ".join(map(str, listed))
                raise ValueError(f"{operator.name} has no signature {signature} here; it has {there_is}")
        return asked


def _may_fail_on_some(operator: Operator, signatures: Sequence[Signature]) -> bool:
    """Whether an index out of range may be met by some ranks alone."""
    return any(
        isinstance(place, Split)
        for signature in signatures
        for one, place in zip(operator.inputs, signature.inputs, strict=False)
        if one.role is Role.INDICES
    )
