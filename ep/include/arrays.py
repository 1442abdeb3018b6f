"""The arrays of a device, as operators need them. Operators know shapes, dtypes and buffers; all else is here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ep.include.device_type import DeviceType
from ep.include.stream import Stream

Array = Any
"""An array of one device, as operators return it: it has `shape`, `dtype`, `size`, and Launch takes it as a buffer."""

ArrayLike = Any
"""An object that is taken as an array: one that NumPy converts, or that exports DLPack or the CUDA array interface."""


class Placeholder(NamedTuple):
    """Stands for an array among the arguments of a launch: for operand `number` of the call, or its result, if None."""

    number: int | None


RESULT: Final = Placeholder(None)


class KnownCall(NamedTuple):
    """A call of a function that was made, and that is one launch.

    args, names: what it was given, and the names of the last of these. The first `num_operands` are arrays, and
        those of later calls are alike; all others are the very same objects.
    shape, dtype: of its result.
    launch, arguments: what is launched, with a Placeholder for each array.
    """

    args: Sequence[Any]
    names: tuple[str, ...]
    num_operands: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    launch: Callable[..., None]
    arguments: Sequence[Any]


class CallFinder(ABC):
    """A table of the known calls of one function, faster than Python can tell them apart.

    find: takes what the function takes, and returns what that returns; `UNKNOWN` for a call that is not known.
    """

    find: Callable[..., Any]

    @abstractmethod
    def known(self, call: KnownCall) -> Any | None:
        """Return what is to be kept of a call: `add` takes it. None for a call that `find` cannot do."""

    @abstractmethod
    def add(self, known: Any) -> None:
        """Let `find` do a call; one that was added long before may go."""


UNKNOWN: Final = False
"""The result of `CallFinder.find` for a call that it does not know."""


class Keyed:
    """An array of a device whose calls are kept: its type has the attribute `call_key`.

    Two arrays with one key are alike for every operator: they have the same dtype and shape, and lie where the Arrays
    of one device take both as they are.
    """

    __slots__ = ()

    call_key: Hashable
    """A key that is equal for arrays that operators need not tell apart; arrays of other devices have another."""


class Operands(ABC):
    """The reader of the operands of one call of an operator, and the place that computes it: all are of one place."""

    place: str
    """The place of the operands, in words for a user: "the host"."""

    @abstractmethod
    def as_buffer(self, value: ArrayLike, argument: str) -> Array:
        """Return the array that `value` is, C-contiguous and in native byte order; a copy only where it was not.

        Raises TypeError for a dtype that is no DataType, for a mask and for what is no array of the place, ValueError
        for a tensor that is conjugated or negated lazily.
        """

    def as_view(self, value: ArrayLike, argument: str) -> Array:
        """Return the array that `value` is as Expression reads it, which takes any strides; a copy where it must be.

        Raises what `as_buffer` does, which takes what this returns.
        """
        return self.as_buffer(value, argument)

    def as_buffers(self, values: Sequence[ArrayLike], argument: str) -> list[Array]:
        """Return the same of each of a sequence, which is called `argument`."""
        return [self.as_buffer(value, f"{argument}[{position}]") for position, value in enumerate(values)]

    @abstractmethod
    def number(self, number: np.ndarray[Any, Any]) -> Any:
        """Return a number, given as an array without axes, in the form in which `compute` takes one."""

    def size(self, number: np.ndarray[Any, Any]) -> Any:
        """As `number`, of one that follows from shapes: no kernel for arrays of other shapes must depend on it."""
        return self.number(number)

    @abstractmethod
    def indices(self, value: ArrayLike) -> Array:
        """Return the indices of gather as a buffer of integers; TypeError for what is none."""

    @abstractmethod
    def compute(
        self, operator: Any, inputs: Sequence[Array], attributes: Mapping[str, Any], out: Array | None
    ) -> list[Array]:
        """Run an operator on what was read, with resolved attributes; return its results, of which `out` is one."""

    @abstractmethod
    def copy_to_host(self, array: Array) -> np.ndarray[Any, Any]:
        """Return a copy in host memory of what `as_buffer` or an operator returned; raises errors of work before it."""


class Placed:
    """A value that is no array of one device, and brings what reads operands of its kind."""

    @property
    def operands(self) -> Operands:
        """The reader of this array, and of others of its place."""
        raise NotImplementedError


class LaterNumber(Placed):
    """A Python number that may have another value when the operator is computed.

    value: the one that it has now.
    """

    value: complex

    @abstractmethod
    def as_array(self, dtype: np.dtype[Any], argument: str) -> Array:
        """Return it as an array without axes, in the dtype of the other operand."""


class Arrays(Operands):
    """The arrays that one call of an operator works on: those of one device."""

    device_type: DeviceType

    has_views: bool = False
    """Whether there is `view`, and Expression reads what it returns."""

    takes_host_arrays: bool = False
    """Whether operands may be ndarrays, memory-mapped ones too; else `copy_from_host` brings them to the device."""

    @property
    @abstractmethod
    def stream(self) -> Stream:
        """The stream that operators launch on."""

    def kept(self) -> Arrays:
        """Return the Arrays that any number of calls may use, at once, whose inputs are buffers already."""
        return self

    def new_finder(self) -> CallFinder | None:
        """Return what does the known calls of one function; None if the device has nothing faster than Python."""
        return None

    def compute(
        self, operator: Any, inputs: Sequence[Array], attributes: Mapping[str, Any], out: Array | None
    ) -> list[Array]:
        results: list[Array] = operator.compute(self, inputs, attributes, out)
        return results

    @abstractmethod
    def resolved(self, indices: Array, size: int, mode: str) -> Array:
        """Return indices (one at least) as the primitive reads them, which gives zeros outside `0 ... size - 1`.

        mode: as `gather` has it; where it forbids an index, an IndexError is raised, or else comes out of `stream`.
        """

    @abstractmethod
    def destination(self, shape: Sequence[int], dtype: np.dtype[Any], out: Array | None) -> Array:
        """Return the buffer for a result: `out` itself where Launch can write it, else a new one (see `delivered`).

        Raises TypeError where `out` is no array of the device or has another dtype, ValueError where it has another
        shape or is read-only.
        """

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """Return a new buffer for a result, of unknown contents."""
        return self.destination(shape, dtype, None)

    @abstractmethod
    def delivered(self, result: Array, out: Array | None) -> Array:
        """Return the result where the caller wants it: in `out`, if that was given. Ends a call."""

    def target(self, shape: Sequence[int], dtype: np.dtype[Any], out: Array) -> Array:
        """Return `out` as Expression writes it, in place. Raises what `destination` does."""
        self.destination(shape, dtype, out)
        return out

    def may_share_memory(self, one: Array, other: Array) -> bool:
        """Whether the memory of two arrays, as `as_view` or `target` returns them, may overlap, as far as is known."""
        return True

    def is_same(self, one: Array, other: Array) -> bool:
        """Return whether two such arrays are the same elements in the same order."""
        return one is other

    def view(
        self,
        array: Array,
        places: tuple[slice | int, ...] | None,
        axes: Sequence[int | None] | None,
        shape: Sequence[int] | None,
    ) -> Array:
        """Return elements of an array, as `as_view` returns one, in its own memory, as Expression reads them.

        places: of each axis, those that are left, or one, which takes the axis away. axes: the order of the axes
            after that; None is a new one, of one element. shape: what they are broadcast to at last. None: as it is.
        """
        raise NotImplementedError(f"{type(self).__qualname__} has no views")

    @abstractmethod
    def copy_from_host(self, array: np.ndarray[Any, Any]) -> Array:
        """Return a copy of an array in host memory."""

    def filled(self, number: np.ndarray[Any, Any]) -> Array:
        """Return a number, in an array without axes in host memory, as an array."""
        return self.copy_from_host(number)


class DeviceArrays(ABC):
    """The arrays of a device type: which values are arrays of it, and the Arrays for a call.

    What a DeviceManager returns from `arrays`, the same object each time.
    """

    @abstractmethod
    def recognises(self, value: Any) -> bool:
        """Whether a value is an array of the device type.

        Asked about whatever is none of the host's arrays: of whatever type, so it should be quick, and import nothing.
        """

    @abstractmethod
    def index_of(self, value: Any) -> int:
        """The number of the device that an array of the device type is on."""

    @abstractmethod
    def on(self, device_index: int) -> Arrays:
        """The Arrays for a device, for one call."""
