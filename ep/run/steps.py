"""The steps of plans: launches of primitives and checks of indices, and the values that they read and write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Placeholder


class Temporary:
    """A value that a step writes and later ones read. It has memory of its own from the first step to the last.

    shape, dtype: of the array.
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Dims, dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype = tuple(shape), dtype


class View:
    """A value in the memory of another one, in another shape.

    source: the other value. shape: the new shape, or None. places, axes: the other arguments of `Arrays.view`; without
    them, the source is reshaped.
    """

    __slots__ = ("axes", "places", "shape", "source")

    def __init__(
        self,
        source: Value,
        shape: Dims | None = None,
        places: tuple[slice | int, ...] | None = None,
        axes: tuple[int | None, ...] | None = None,
    ) -> None:
        self.source, self.shape, self.places, self.axes = source, shape, places, axes


class Check:
    """A step that checks indices, and the value of those that a primitive reads, of the type of `resolved_type`.

    indices: a value. size: of the axis. mode: of `gather`, for indices outside of the axis. names: as in Launch.
    """

    __slots__ = ("indices", "mode", "names", "size")

    def __init__(self, indices: Value, size: int, mode: str, names: Mapping[str, str] | None = None) -> None:
        self.indices, self.size, self.mode, self.names = indices, size, mode, names


def operands(count: int) -> Sequence[Placeholder]:
    """Return the operands of a call that has so many."""
    return tuple(map(Placeholder, range(count)))


def results(count: int) -> Sequence[Placeholder]:
    """Return the results of a call that has so many."""
    return tuple(Placeholder(None, number) for number in range(count))


class Converted:
    """A value in the form that operators accept: C-contiguous, and an array.

    source: the other value, or a constant. is_number: whether it is a number, which an array is made of.
    """

    __slots__ = ("is_number", "source")

    def __init__(self, source: Any, is_number: bool = False) -> None:
        self.source, self.is_number = source, is_number


Value: TypeAlias = Placeholder | Temporary | View | Check | Converted
"""An array of a plan."""

VALUES: Final = Placeholder, Temporary, View, Check, Converted
LISTS: Final = list, tuple


class Launch:
    """A step that is one launch.

    primitive: its Launch does the work. arguments: those of Launch after the stream, with a value for each array, and a
    list or tuple of values for several. names: the operator's names for arguments that errors of this step name
    differently, where they are others than those of the whole kernel.
    """

    __slots__ = ("arguments", "names", "primitive")

    def __init__(self, primitive: Any, *arguments: Any, names: Mapping[str, str] | None = None) -> None:
        self.primitive, self.arguments, self.names = primitive, arguments, names


class Function:
    """A function that launches, as a primitive of a step: (stream, arguments)."""

    __slots__ = ("Launch",)

    def __init__(self, function: Callable[..., None]) -> None:
        self.Launch = function


class Call:
    """A step that a function does: (arrays, operands, results), or, if it `returns` the results, (arrays, operands).

    arguments: the operands and the results.
    """

    __slots__ = ("arguments", "function", "returns")

    def __init__(
        self, function: Callable[..., Any], operands: Sequence[Any], results: Sequence[Value], *, returns: bool = False
    ) -> None:
        self.function, self.arguments, self.returns = function, (operands, results), returns


Step: TypeAlias = Launch | Check | Call


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
