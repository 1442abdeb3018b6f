"""Kernels that are functions: each returns the plan of calls, and can compute where a device has its primitives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from operator import and_
from typing import Any, NamedTuple

from ep.common.primitive.broadcast import Dims
from ep.include.additions import note_addition
from ep.ops.kernels.conditions import Predicate, Subject
from ep.ops.kernels.kernel import PreparedKernel
from ep.ops.kernels.primitive_exists import Need
from ep.ops.kernels.registry import register_kernel
from ep.run.plan import Plan


class Calls(NamedTuple):
    """What the calls with one plan have in common. shapes: of the inputs. attributes: by name, resolved."""

    subject: Subject
    shapes: Sequence[Dims]
    attributes: Mapping[str, Any]


class _LaunchingKernel(PreparedKernel):
    def __init__(self, lower: Callable[..., Plan], needs: Sequence[Need], names: Any, subject: Subject) -> None:
        super().__init__(subject)
        self._lower, self._primitives, self.names = lower, [need.make(subject) for need in needs], names

    def prepare(self, shapes: Sequence[Dims], attributes: Mapping[str, Any]) -> Plan:
        return self._lower(Calls(self.subject, shapes, attributes), *self._primitives)


def launching(
    operator: str, *needs: Need, when: Predicate | None = None, priority: int = 0, name: str = "", **names: str
) -> Callable[[Callable[..., Plan]], Callable[..., Plan]]:
    """Return a decorator that registers a function as a kernel of an operator: (Calls, primitives) -> the plan.

    needs: the conditions that make the primitives; all must hold. when: another condition, before these.
    priority: as of `register_kernel`. name: in lists; that of `cast_kernel` is CastKernel by default.
    names: the operator's names for arguments of Launch, for errors of launches that name them differently.

    The function raises ValueError, in the operator's words, for shapes that the primitives do not support.
    """

    def register(lower: Callable[..., Plan]) -> Callable[..., Plan]:
        conditions: Sequence[Predicate] = needs if when is None else (when, *needs)
        shown = name or lower.__name__.title().replace("_", "")
        make = partial(_LaunchingKernel, lower, needs, names)
        register_kernel(operator, matches=reduce(and_, conditions), priority=priority, name=shown)(make)
        note_addition(lower)
        return lower

    return register
