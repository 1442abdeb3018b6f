"""Kernels that are functions: each returns the launches of primitives, and can compute where a device has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from operator import and_
from typing import Any, NamedTuple

from ep.common.primitive.broadcast import Dims
from ep.include.additions import note_addition
from ep.ops.kernels.conditions import Predicate, Subject
from ep.ops.kernels.kernel import Launches, PreparedKernel
from ep.ops.kernels.primitive_exists import PrimitiveExists
from ep.ops.kernels.registry import register_kernel


class Calls(NamedTuple):
    """What the calls with one plan have in common. shapes: of the inputs. attributes: by name, resolved."""

    subject: Subject
    shapes: Sequence[Dims]
    attributes: Mapping[str, Any]


class _LaunchingKernel(PreparedKernel):
    def __init__(
        self, launches: Callable[..., Launches], needs: Sequence[PrimitiveExists], names: Any, subject: Subject
    ) -> None:
        super().__init__(subject)
        self._launches, self._primitives, self.names = launches, [need.make(subject) for need in needs], names

    def prepare(self, shapes: Sequence[Dims], attributes: Mapping[str, Any]) -> Launches:
        return self._launches(Calls(self.subject, shapes, attributes), *self._primitives)


def launching(
    operator: str, *needs: PrimitiveExists, when: Predicate | None = None, name: str = "", **names: str
) -> Callable[[Callable[..., Launches]], Callable[..., Launches]]:
    """Return a decorator that registers a function as a kernel of an operator: (Calls, primitives) -> its launches.

    needs: the conditions that make the primitives; all must hold. when: another condition, before these.
    name: in lists; that of `cast_kernel` is CastKernel by default.
    names: the operator's names for arguments of Launch, for errors of launches that name them differently.

    The function raises ValueError, in the operator's words, for shapes that the primitives do not support.
    """

    def register(launches: Callable[..., Launches]) -> Callable[..., Launches]:
        conditions: Sequence[Predicate] = needs if when is None else (when, *needs)
        shown = name or launches.__name__.title().replace("_", "")
        make = partial(_LaunchingKernel, launches, needs, names)
        register_kernel(operator, matches=reduce(and_, conditions), name=shown)(make)
        note_addition(launches)
        return launches

    return register
