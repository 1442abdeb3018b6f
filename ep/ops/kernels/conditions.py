"""Conditions of kernels, which can be evaluated, printed, and explained part by part.

They consist of `device_type()`, `data_type("x")` and `attribute("axis")`, compared by `==`, `!=` or `one_of`, of
`primitive_exists(...)`, `views_exist()` and `always()`, and are joined by `&`, `|` and `~`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

from ep.include.data_type import DataType, as_data_type
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.primitive.primitive import Request
from ep.include.suggest import did_you_mean


class Subject(NamedTuple):
    """The subject that a kernel is chosen for.

    data_types: of the operator's inputs and of its output, by name.
    attributes: those that conditions of the operator's kernels ask for, by name.
    """

    device_type: DeviceType
    data_types: Mapping[str, DataType]
    attributes: Mapping[str, Any]


Needs = Sequence[tuple[Request, bool]]
"""The requests of primitives, and whether the device has each."""


def fewest_lacking(some: Iterable[Needs | None]) -> Needs | None:
    """Return the first ones of which the fewest are lacking; None if there are none."""
    return min((one for one in some if one is not None), key=lambda one: sum(not has for _, has in one), default=None)


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

    def why(self, subject: Subject) -> str:
        """Return the value that the subject has; an empty text if the condition, or its parts, show it."""
        return ""

    def parts(self) -> tuple[Predicate, ...]:
        """Return the conditions that this one consists of."""
        return ()

    def attributes(self) -> frozenset[str]:
        """Return the names of the attributes that are asked for."""
        return frozenset().union(*(part.attributes() for part in self.parts()))

    def needs(self, subject: Subject) -> Needs | None:
        """Return the primitives with which the device of the subject would meet the condition; None if none helps."""
        return [] if self.holds(subject) else None

    def explain(self, subject: Subject, depth: int = 0) -> Iterator[Part]:
        """Yield this condition as it was evaluated, then its parts."""
        yield Part(depth, str(self), self.holds(subject), self.why(subject))
        for part in self.parts():
            yield from part.explain(subject, depth + 1)

    def __and__(self, other: Predicate) -> Predicate:
        return _joined(All, self, other)

    def __or__(self, other: Predicate) -> Predicate:
        return _joined(_Any, self, other)

    def __invert__(self) -> Predicate:
        return _Not(self)

    def __bool__(self) -> bool:
        raise TypeError(f"{self} is a condition, true or false of a subject alone; join conditions by &, | and ~")


def _joined(kind: type[_Joined], one: Predicate, other: Any) -> Predicate:
    """Return two conditions as one of a kind, without parts of its own kind: `a & b & c` has three parts."""
    if not isinstance(other, Predicate):
        raise TypeError(f"a condition can be joined with a condition, not with {other!r}; == needs parentheses")
    return kind(tuple(part for given in (one, other) for part in (given.parts() if type(given) is kind else (given,))))


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
        return f"{self.value} is {in_code(self.value.of(subject))}"

    def attributes(self) -> frozenset[str]:
        return self.value.attributes()

    def __str__(self) -> str:
        shown = [in_code(other) for other in self.others]
        if len(shown) == 1:
            return f"{self.value} {'==' if self.equal else '!='} {shown[0]}"
        return f"{self.value}.one_of({', '.join(shown)})"


@dataclass(frozen=True, eq=False)
class _Joined(Predicate):
    conditions: tuple[Predicate, ...]
    sign: ClassVar[str]

    def parts(self) -> tuple[Predicate, ...]:
        return self.conditions

    def __str__(self) -> str:
        return f" {self.sign} ".join(map(_in_parentheses, self.conditions))


class All(_Joined):
    """The condition that several hold."""

    sign = "&"

    def holds(self, subject: Subject) -> bool:
        return all(part.holds(subject) for part in self.conditions)

    def needs(self, subject: Subject) -> Needs | None:
        found = list[tuple[Request, bool]]()
        for part in self.conditions:  # a later one may ask for what only types have that meet the earlier ones
            some = part.needs(subject)
            if some is None:
                return None
            found += some
        return found


class _Any(_Joined):
    sign = "|"

    def holds(self, subject: Subject) -> bool:
        return any(part.holds(subject) for part in self.conditions)

    def needs(self, subject: Subject) -> Needs | None:
        return fewest_lacking(part.needs(subject) for part in self.conditions)


@dataclass(frozen=True, eq=False)
class _Not(Predicate):
    condition: Predicate

    def holds(self, subject: Subject) -> bool:
        return not self.condition.holds(subject)

    def parts(self) -> tuple[Predicate, ...]:
        return (self.condition,)

    def __str__(self) -> str:
        return f"~{_in_parentheses(self.condition)}"


class _ViewsExist(Predicate):
    def holds(self, subject: Subject) -> bool:
        manager = DeviceManagerRegistry.GetDeviceManagerOrNull(subject.device_type)
        arrays = manager.arrays() if manager is not None and manager.GetDeviceCount() else None
        return arrays is None or arrays.on(0).has_views

    def why(self, subject: Subject) -> str:
        return "" if self.holds(subject) else f"the arrays of {subject.device_type.tag} have no views"

    def __str__(self) -> str:
        return "views_exist()"


class _Always(Predicate):
    def holds(self, subject: Subject) -> bool:
        return True

    def __str__(self) -> str:
        return "always()"


def in_code(value: Any) -> str:
    """Return a value as it is written in a condition."""
    if isinstance(value, DeviceType):
        return repr(value)
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return f"{type(value).__name__}.{name}"
    return str(value) if isinstance(value, Value) else repr(value)


def _in_parentheses(condition: Predicate) -> str:
    return f"({condition})" if isinstance(condition, _Joined | _Comparison) else str(condition)


def device_type() -> Value:
    """Return the type of the device of the operands."""
    return _DeviceType()


def data_type(name: str) -> Value:
    """Return the DataType of an input, or of the output, by its name."""
    return _DataType(name)


def attribute(name: str) -> Value:
    """Return the value of an attribute, by its name, as the operator has resolved it: an axis counts from the front."""
    return _Attribute(name)


def views_exist() -> Predicate:
    """Return the condition that the arrays of the device have views; it holds where there is no device to ask."""
    return _ViewsExist()


_ALWAYS: Final = _Always()


def always() -> Predicate:
    """Return the condition that is true of every subject."""
    return _ALWAYS
