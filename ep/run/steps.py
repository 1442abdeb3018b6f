"""The steps of plans: launches of primitives and checks of indices, and the values that they read and write.

None is changed once it is made. Two values are the same if they are one object; plans compare what they are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Placeholder


class StepOrigin(NamedTuple):
    """What a part of a plan computes for the user: steps that follow each other, or a view, have one object.

    name: of the operator; empty for operators that one kernel computes, whose primitive has a Structure. reasons: why
    it is not computed with others. names: the operator's names for arguments that errors of its steps name differently.
    """

    name: str = ""
    reasons: Sequence[Any] = ()
    names: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class Temporary:
    """A value that a step writes and later ones read. It has memory of its own from the first step to the last.

    shape, dtype: of the array.
    """

    shape: Dims
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A value in the memory of another one, in another shape.

    source: the other value. shape: the new shape, or None. places, axes: the other arguments of `Arrays.view`; without
    them, the source is reshaped. origin: of a view that is the result of an operator.
    """

    source: Value
    shape: Dims | None = None
    places: tuple[slice | int, ...] | None = None
    axes: tuple[int | None, ...] | None = None
    origin: StepOrigin | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """A step that checks indices, and the value of those that a primitive reads, of the type of `resolved_type`.

    indices: a value. size: of the axis. mode: of `gather`, for indices outside of the axis. names, origin: as in
    Launch.
    """

    indices: Value
    size: int
    mode: str
    names: Mapping[str, str] | None = None
    origin: StepOrigin | None = None


def operands(count: int) -> Sequence[Placeholder]:
    """Return the operands of a call that has so many."""
    return tuple(map(Placeholder, range(count)))


def results(count: int) -> Sequence[Placeholder]:
    """Return the results of a call that has so many."""
    return tuple(Placeholder(None, number) for number in range(count))


@dataclass(frozen=True, slots=True, eq=False)
class Converted:
    """A value in the form that operators accept: C-contiguous, and an array.

    source: the other value, or a constant. is_number: whether it is a number, which an array is made of.
    """

    source: Any
    is_number: bool = False


Value: TypeAlias = Placeholder | Temporary | View | Check | Converted
"""An array of a plan."""

MADE: Final = Temporary, View, Check, Converted
VALUES: Final = Placeholder, *MADE
LISTS: Final = list, tuple


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Launch:
    """A step that is one launch.

    primitive: its Launch does the work. arguments: those of Launch after the stream, with a value for each array, and a
    list or tuple of values for several. names: the operator's names for arguments that errors of this step name
    differently, where they are others than those of the whole kernel. origin: of which the step is a part.
    """

    primitive: Any
    arguments: Sequence[Any]
    names: Mapping[str, str] | None
    origin: StepOrigin | None

    def __init__(
        self,
        primitive: Any,
        *arguments: Any,
        names: Mapping[str, str] | None = None,
        origin: StepOrigin | None = None,
    ) -> None:
        set_once = object.__setattr__
        set_once(self, "primitive", primitive)
        set_once(self, "arguments", arguments)
        set_once(self, "names", names)
        set_once(self, "origin", origin)

    @property
    def structure(self) -> Any:
        """The Structure that the launch computes, if its primitive is an Expression; else None."""
        return getattr(getattr(self.primitive, "request", None), "options", {}).get("structure")

    @property
    def name(self) -> str:
        """The name of the primitive, with that of its op or with its structure; or that of the function."""
        request = getattr(self.primitive, "request", None)
        if self.structure is not None:
            return f"kernel of {self.structure}"
        if request is not None:
            return f"{request.interface.__name__}{'' if request.op is None else f'.{request.op.name}'}"
        launcher: Any = self.primitive.Launch if isinstance(self.primitive, Function) else type(self.primitive)
        name: str = launcher.__qualname__.partition(".<locals>")[0]
        return name


@dataclass(frozen=True, slots=True)
class Function:
    """A function that launches, as a primitive of a step: (stream, arguments)."""

    Launch: Callable[..., None]


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A step that a function does: (arrays, operands, results), or, if it `returns` the results, (arrays, operands).

    Operands may be constants. is_repeatable: whether all that it does are launches, which depend on shapes and
    attributes only. origin: as in Launch.
    """

    function: Callable[..., Any]
    operands: Sequence[Any]
    results: Sequence[Value]
    returns: bool = False
    is_repeatable: bool = False
    origin: StepOrigin | None = None

    @property
    def arguments(self) -> Sequence[Sequence[Any]]:
        """The operands and the results."""
        return self.operands, self.results

    @property
    def name(self) -> str:
        """The name of the function."""
        return getattr(self.function, "__qualname__", type(self.function).__qualname__)


Step: TypeAlias = Launch | Check | Call


def is_repeatable(step: Step) -> bool:
    """Return whether a recording has all that a step does. Primitives and functions of other packages may compute by
    themselves, which no recording notes."""
    if isinstance(step, Launch):
        launch = step.primitive.Launch if isinstance(step.primitive, Function) else step.primitive
        owner = getattr(launch, "__self__", launch)
        return str(getattr(owner, "__module__", "")).startswith("ep.")
    return isinstance(step, Check) or step.is_repeatable


def has_values(argument: Any) -> bool:
    """Return whether an argument of a launch is a list or tuple of values."""
    return type(argument) in LISTS and any(isinstance(one, VALUES) for one in argument)


def values_in(step: Step) -> list[Value]:
    """Return the values that a step uses."""
    if isinstance(step, Check):
        return [step]
    found = list[Value]()
    for one in step.arguments:
        if isinstance(one, VALUES):
            found.append(one)
        elif type(one) in LISTS:
            found += [each for each in one if isinstance(each, VALUES)]
    return found


def sources(value: Value) -> list[Value]:
    """Return a value and what it is made of, from the array that has the memory on."""
    found = [value]
    while isinstance(found[-1], View | Check | Converted):
        last = found[-1]
        source: Any = last.indices if isinstance(last, Check) else last.source
        if not isinstance(source, VALUES):
            break  # a constant
        found.append(source)
    return found[::-1]


def uses(steps: Sequence[Step], returned: Sequence[Any] = ()) -> dict[Value, tuple[int, int]]:
    """Return the first and the last step that use each value, or others that are made of it, in the order of the first.

    returned: values, and other objects, that are used after the last step.
    """
    found: dict[Value, tuple[int, int]] = {}
    ends = [one for one in returned if isinstance(one, VALUES)]
    for number, values in enumerate([*map(values_in, steps), ends]):
        for value in values:
            for one in sources(value):
                found[one] = found.get(one, (number, number))[0], number
    return found
