"""Conditions of kernels, which can be evaluated, printed, and explained part by part.

They consist of `device_type()`, `data_type("x")` and `attribute("axis")`, compared by `==`, `!=` or `one_of`, of
`primitive_exists(...)` and of `always()`, and are joined by `&`, `|` and `~`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ep.include.data_type import DataType, as_data_type
from ep.include.device_type import DeviceType
from ep.include.errors import UnsupportedPrimitiveError
from ep.include.primitive.registry import NewPrimitive, RequirePrimitive
from ep.include.suggest import did_you_mean


class Subject(NamedTuple):
    """The subject that a kernel is chosen for.

    data_types: of the operator's inputs and of its output, by name.
    attributes: those that conditions of the operator's kernels ask for, by name.
    """

    device_type: DeviceType
    data_types: Mapping[str, DataType]
    attributes: Mapping[str, Any]


class Part(NamedTuple):
    """One part of a condition, as it was evaluated.

    depth: the nesting depth of the part in the condition.
    why: the value that the subject has, if the part alone does not show it.
    """

    depth: int
    text: str
    holds: bool
    why: str


class Predicate(ABC):
    """A condition that is true or false of a subject."""

    @abstractmethod
    def holds(self, subject: Subject) -> bool:
        """Whether the subject meets the condition."""

    @abstractmethod
    def why(self, subject: Subject) -> str:
        """Return the value that the subject has; an empty text for a condition of others, which show it."""

    def parts(self) -> tuple[Predicate, ...]:
        """Return the conditions that this one consists of."""
        return ()

    def attributes(self) -> frozenset[str]:
        """Return the names of the attributes that are asked for."""
        return frozenset().union(*(part.attributes() for part in self.parts()))

    def explain(self, subject: Subject, depth: int = 0) -> Iterator[Part]:
        """Yield this condition as it was evaluated, then its parts."""
        yield Part(depth, str(self), self.holds(subject), self.why(subject))
        for part in self.parts():
            yield from part.explain(subject, depth + 1)

    def __and__(self, other: Predicate) -> Predicate:
        return _All((*_parts_of(self, _All), *_parts_of(_condition(other), _All)))

    def __or__(self, other: Predicate) -> Predicate:
        return _Any((*_parts_of(self, _Any), *_parts_of(_condition(other), _Any)))

    def __invert__(self) -> Predicate:
        return _Not(self)

    def __bool__(self) -> bool:
        raise TypeError(f"{self} is a condition, true or false of a subject alone; join conditions by &, | and ~")


def _condition(value: Any) -> Predicate:
    if not isinstance(value, Predicate):
        raise TypeError(f"a condition can be joined with a condition, not with {value!r}; == needs parentheses")
    return value


def _parts_of(condition: Predicate, kind: type[Any]) -> tuple[Predicate, ...]:
    """Return the parts of a condition: `a & b & c` is one condition of three parts."""
    return condition.parts() if isinstance(condition, kind) else (condition,)


class Value(ABC):
    """A value of the subject that conditions compare: `==`, `!=` and `one_of` make conditions of it."""

    @abstractmethod
    def of(self, subject: Subject) -> Any:
        """Return the value that the subject has."""

    def attributes(self) -> frozenset[str]:
        """Return the names of the attributes that are asked for."""
        return frozenset()

    def comparable(self, other: Any) -> Any:
        """Return the value to compare with if a condition names `other`; TypeError for an impossible value."""
        return other

    def __eq__(self, other: object) -> Predicate:  # type: ignore[override]
        return _Comparison(self, (self.comparable(other),), equal=True)

    def __ne__(self, other: object) -> Predicate:  # type: ignore[override]
        return _Comparison(self, (self.comparable(other),), equal=False)

    def one_of(self, *values: Any) -> Predicate:
        """Return the condition that the subject has one of `values`."""
        return _Comparison(self, tuple(map(self.comparable, values)), equal=True)

    __hash__ = object.__hash__


class _DeviceType(Value):
    def comparable(self, other: Any) -> DeviceType:
        if not isinstance(other, DeviceType):
            raise TypeError(f"device_type() is compared with a DeviceType such as DeviceType.kCPU, not with {other!r}")
        return other

    def of(self, subject: Subject) -> DeviceType:
        return subject.device_type

    def __str__(self) -> str:
        return "device_type()"


class _DataType(Value):
    def __init__(self, name: str) -> None:
        self._name = name

    def comparable(self, other: Any) -> DataType:
        return as_data_type(other, str(self))

    def of(self, subject: Subject) -> DataType:
        found: DataType = _known(subject.data_types, self._name, "input or output")
        return found

    def __str__(self) -> str:
        return f'data_type("{self._name}")'


class _Attribute(Value):
    def __init__(self, name: str) -> None:
        self._name = name

    def of(self, subject: Subject) -> Any:
        return _known(subject.attributes, self._name, "attribute")

    def attributes(self) -> frozenset[str]:
        return frozenset([self._name])

    def __str__(self) -> str:
        return f'attribute("{self._name}")'


def _known(table: Mapping[str, Any], name: str, what: str) -> Any:
    if name not in table:
        hint = did_you_mean(name, table) or f"; there are {', '.join(table) or 'none'}"
        raise LookupError(f"the operator has no {what} {name!r}{hint}")
    return table[name]


@dataclass(frozen=True, eq=False)
class _Comparison(Predicate):
    value: Value
    others: tuple[Any, ...]
    equal: bool

    def holds(self, subject: Subject) -> bool:
        found = self.value.of(subject)
        return any(bool(found == other) for other in self.others) is self.equal

    def why(self, subject: Subject) -> str:
        return f"{self.value} is {_shown(self.value.of(subject))}"

    def attributes(self) -> frozenset[str]:
        return self.value.attributes()

    def __str__(self) -> str:
        shown = [_shown(other) for other in self.others]
        if len(shown) == 1:
            return f"{self.value} {'==' if self.equal else '!='} {shown[0]}"
        return f"{self.value}.one_of({', '.join(shown)})"


@dataclass(frozen=True, eq=False)
class _All(Predicate):
    conditions: tuple[Predicate, ...]

    def holds(self, subject: Subject) -> bool:
        return all(part.holds(subject) for part in self.conditions)

    def why(self, subject: Subject) -> str:
        return ""

    def parts(self) -> tuple[Predicate, ...]:
        return self.conditions

    def __str__(self) -> str:
        return " & ".join(map(_in_parentheses, self.conditions))


@dataclass(frozen=True, eq=False)
class _Any(Predicate):
    conditions: tuple[Predicate, ...]

    def holds(self, subject: Subject) -> bool:
        return any(part.holds(subject) for part in self.conditions)

    def why(self, subject: Subject) -> str:
        return ""

    def parts(self) -> tuple[Predicate, ...]:
        return self.conditions

    def __str__(self) -> str:
        return " | ".join(map(_in_parentheses, self.conditions))


@dataclass(frozen=True, eq=False)
class _Not(Predicate):
    condition: Predicate

    def holds(self, subject: Subject) -> bool:
        return not self.condition.holds(subject)

    def why(self, subject: Subject) -> str:
        return ""

    def parts(self) -> tuple[Predicate, ...]:
        return (self.condition,)

    def __str__(self) -> str:
        return f"~{_in_parentheses(self.condition)}"


@dataclass(frozen=True, eq=False)
class _Always(Predicate):
    def holds(self, subject: Subject) -> bool:
        return True

    def why(self, subject: Subject) -> str:
        return ""

    def __str__(self) -> str:
        return "always()"


@dataclass(frozen=True, eq=False)
class PrimitiveExists(Predicate):
    """The result of `primitive_exists`: a condition, which also makes the primitive."""

    factory: type[Any]
    arguments: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]

    def holds(self, subject: Subject) -> bool:
        return (
            NewPrimitive(self.factory, subject.device_type, *self._args(subject), **self._kwargs(subject)) is not None
        )

    def why(self, subject: Subject) -> str:
        try:
            return f"there is {self.make(subject).request}"
        except UnsupportedPrimitiveError as error:
            return str(error)

    def attributes(self) -> frozenset[str]:
        values = (*self.arguments, *(value for _, value in self.named))
        return frozenset().union(*(value.attributes() for value in values if isinstance(value, Value)))

    def make(self, subject: Subject) -> Any:
        """Return a new primitive; UnsupportedPrimitiveError if there is none."""
        return RequirePrimitive(self.factory, subject.device_type, *self._args(subject), **self._kwargs(subject))

    def _args(self, subject: Subject) -> list[Any]:
        return [_resolved(argument, subject) for argument in self.arguments]

    def _kwargs(self, subject: Subject) -> dict[str, Any]:
        return {name: _resolved(argument, subject) for name, argument in self.named}

    def __str__(self) -> str:
        arguments = [*map(_shown, self.arguments), *(f"{name}={_shown(value)}" for name, value in self.named)]
        return f"primitive_exists({', '.join([self.factory.__name__, *arguments])})"


def _resolved(argument: Any, subject: Subject) -> Any:
    return argument.of(subject) if isinstance(argument, Value) else argument


def _shown(value: Any) -> str:
    if isinstance(value, DeviceType):
        return repr(value)
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return f"{type(value).__name__}.{name}"
    return str(value) if isinstance(value, Value) else repr(value)


def _in_parentheses(condition: Predicate) -> str:
    return f"({condition})" if isinstance(condition, _All | _Any | _Comparison) else str(condition)


def device_type() -> Value:
    """Return the type of the device of the operands."""
    return _DeviceType()


def data_type(name: str) -> Value:
    """Return the DataType of an input, or of the output, by its name."""
    return _DataType(name)


def attribute(name: str) -> Value:
    """Return the value of an attribute, by its name, as the operator has resolved it: an axis counts from the front."""
    return _Attribute(name)


def primitive_exists(factory: type[Any], *arguments: Any, **named: Any) -> PrimitiveExists:
    """Return the condition that `NewPrimitive` makes a primitive for the subject's device and these arguments."""
    return PrimitiveExists(factory, arguments, tuple(named.items()))


_ALWAYS: Final = _Always()


def always() -> Predicate:
    """Return the condition that is true of every subject."""
    return _ALWAYS
