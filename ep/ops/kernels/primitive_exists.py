"""The condition that a device has a primitive, which also makes the primitive."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ep.include.errors import UnsupportedPrimitiveError
from ep.include.primitive.registry import NewPrimitive, RequirePrimitive, request_for
from ep.ops.kernels.conditions import Needs, Predicate, Subject, Value, in_code


class Need(Predicate):
    """A condition that also makes what a kernel needs: a primitive, or several."""

    @abstractmethod
    def make(self, subject: Subject) -> Any:
        """Return what the kernel of a subject needs; UnsupportedPrimitiveError if there is none."""


@dataclass(frozen=True, eq=False)
class PrimitiveExists(Need):
    """The result of `primitive_exists`: a condition, which also makes the primitive."""

    factory: type[Any]
    arguments: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]

    def holds(self, subject: Subject) -> bool:
        return self._by(NewPrimitive, subject) is not None

    def why(self, subject: Subject) -> str:
        try:
            return f"there is {self._by(RequirePrimitive, subject).request}"
        except UnsupportedPrimitiveError as error:
            return str(error)

    def attributes(self) -> frozenset[str]:
        values = (*self.arguments, *(value for _, value in self.named))
        return frozenset().union(*(value.attributes() for value in values if isinstance(value, Value)))

    def needs(self, subject: Subject) -> Needs:
        return [(self._by(request_for, subject), self.holds(subject))]

    def make(self, subject: Subject) -> Any:
        """Return a new primitive."""
        return self._by(RequirePrimitive, subject)

    def _by(self, function: Callable[..., Any], subject: Subject) -> Any:
        """Return the result of a function of the registry for this primitive."""
        arguments = [_resolved(argument, subject) for argument in self.arguments]
        named = {name: _resolved(argument, subject) for name, argument in self.named}
        return function(self.factory, subject.device_type, *arguments, **named)

    def __str__(self) -> str:
        arguments = [*map(in_code, self.arguments), *(f"{name}={in_code(value)}" for name, value in self.named)]
        return f"primitive_exists({', '.join([self.factory.__name__, *arguments])})"


def _resolved(argument: Any, subject: Subject) -> Any:
    return argument.of(subject) if isinstance(argument, Value) else argument


def primitive_exists(factory: type[Any], *arguments: Any, **named: Any) -> PrimitiveExists:
    """Return the condition that `NewPrimitive` makes a primitive for the subject's device and these arguments."""
    return PrimitiveExists(factory, arguments, tuple(named.items()))
