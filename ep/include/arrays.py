"""The arrays of a device, as operators need them. Operators use shapes, dtypes and buffers; everything else is here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ep.include.device_type import DeviceType
from ep.include.stream import Stream

Array = Any
"""An array of one device, as operators return it: it has `shape`, `dtype`, `size`, and is a buffer for Launch. Its type
for users is `ep.Array` (`array_types`); here, each device has more than that."""

ArrayLike = Any
"""A value accepted as an array, as `ep.ArrayLike`: what NumPy makes one of, or what exports DLPack or the CUDA array
interface."""


class Placeholder(NamedTuple):
    """A placeholder for an array among a launch's arguments: operand `number` of the call, or its result if None.

    result: which one, of a call with several results.
    """

    number: int | None
    result: int = 0


RESULT: Final = Placeholder(None)


class PlannedCall(NamedTuple):
    """A call of a function, and its plan, by which later calls with the same key are done.

    arrays: those of the device. plan: a `Plan` of `ep/run`.
    others: the arguments that follow the operands; those of later calls are the same objects, but for the array for the
        result, whose name is "out". names: those of the last of these, which are given by name.
    in_sequence: whether the operands are in a list or a tuple, the first argument. many: whether the function returns a
        list of results.
    with_number: converts the operands, one of which is a number; None if none is a number.
    is_new: whether a finder is to be asked for `known` in the next call.
    known: the object by which `finder` does the call; None if no finder does it.
    is_found: whether the finder can find the call by its arguments.
    """

    arrays: Arrays
    plan: Any
    others: Sequence[Any]
    names: Sequence[str]
    in_sequence: bool
    many: bool
    with_number: Callable[[Sequence[Any]], tuple[Any, ...]] | None = None
    is_new: bool = False
    known: Any = None
    finder: CallFinder | None = None
    is_found: bool = False


class CallFinder(ABC):
    """A finder of the known calls of one function. It runs them in less time than Python needs to distinguish them.

    find: has the function's arguments and result; returns `UNKNOWN` for a call that is not known.
    run: has a known call, the tuple of its operands, and the array for its result or None. All other arguments have
        been found to be the same. It returns the result, or `UNKNOWN` if `find` would not do the call.
    """

    find: Callable[..., Any]
    run: Callable[[Any, tuple[Array, ...], Array | None], Any] = staticmethod(lambda known, operands, out: UNKNOWN)

    @abstractmethod
    def known(self, call: PlannedCall, operands: Sequence[Array]) -> Any | None:
        """Return the data about a call that `add` and `run` need, or None for a call that the finder does not support.

        operands: like those of the call. It has been done before, so all that it needs is compiled.
        """

    @abstractmethod
    def add(self, known: Any) -> None:
        """Make `find` support a call. It may drop a call that was added long before."""


UNKNOWN: Final = False
"""The result of `CallFinder.find` for an unknown call."""


class Keyed:
    """An array of a device whose calls are cached. Its type has the attribute `call_key`.

    Two arrays with the same key are equivalent for every operator: they have the same dtype and shape, and the Arrays
    of one device accept both as they are.
    """

    __slots__ = ()

    call_key: Hashable
    """The key of all that operators distinguish. It differs from the keys of other devices' arrays."""


class Operands(ABC):
    """The reader of one call's operands, which also computes the result. All operands are in one place."""

    place: str
    """The place of the operands, in words for users: "the host"."""

    stranger = ""
    """What is wrong with an array that is not in the place, if it need not be copied there: words after its name."""

    @abstractmethod
    def as_buffer(self, value: ArrayLike, argument: str) -> Array:
        """Return `value` as an array, C-contiguous and in native byte order. It is copied only if it is not so already.

        Raises TypeError for a dtype that is not a DataType, for a mask and for anything that is not an array of the
        place, ValueError for a tensor that is conjugated or negated lazily.
        """

    def as_view(self, value: ArrayLike, argument: str) -> Array:
        """Return `value` as an array that Expression can read, with any strides. It is copied if necessary.

        Raises the errors of `as_buffer`, which accepts the result.
        """
        return self.as_buffer(value, argument)

    def as_buffers(self, values: Sequence[ArrayLike], argument: str) -> list[Array]:
        """Return the result of `as_buffer` for each of a sequence. argument: the sequence's name."""
        return [self.as_buffer(value, f"{argument}[{position}]") for position, value in enumerate(values)]

    def number(self, number: np.ndarray[Any, Any]) -> Any:
        """Return a number, given as an array without axes, in the form that `compute` accepts."""
        return number[()]

    def size(self, number: np.ndarray[Any, Any]) -> Any:
        """Return a number that follows from shapes.

        As `number`, but no kernel for arrays of other shapes must depend on it.
        """
        return self.number(number)

    def adapted(self, x: Array, y: Array) -> tuple[Array, Array] | None:
        """Return two arrays of different dtypes as arrays of one, if one of them stands for a number; else None."""
        return None

    @abstractmethod
    def compute(
        self, operator: Any, inputs: Sequence[Array], attributes: Mapping[str, Any], out: Array | None
    ) -> list[Array]:
        """Run an operator on operands that were read, with resolved attributes.

        Return its results; `out` is one of them.
        """

    def unrepeated(self, array: Array) -> Array:
        """Return an array with one element along axes, as many as are known, along which its elements are repeated."""
        return array

    def note_gradient(self, result: Array, inputs: Sequence[Array], rule: Callable[[Array], Sequence[Any]]) -> bool:
        """Note the rule for the gradients by inputs, given that by a result which other operators have computed.

        Return whether it may be used: operators are recorded.
        """
        return False

    @abstractmethod
    def copy_from_host(self, array: np.ndarray[Any, Any]) -> Array:
        """Return a copy of an array in host memory, which may change from then on."""

    @abstractmethod
    def copy_to_host(self, array: Array) -> np.ndarray[Any, Any]:
        """Return a copy in host memory of an array of `as_buffer` or of an operator.

        Raises the errors of earlier work.
        """


class Placed:
    """A value that is not an array of a single device, and has its own reader of operands."""

    __slots__ = ()

    @property
    def operands(self) -> Operands:
        """The reader of this value, and of others in the same place."""
        raise NotImplementedError


class LaterNumber(Placed):
    """A number that may have another value when the operator is computed.

    value: its present value.
    """

    value: complex

    @abstractmethod
    def as_array(self, dtype: np.dtype[Any], argument: str) -> Array:
        """Return it as an array without axes, in the dtype of the other operand."""

    @abstractmethod
    def pinned(self) -> Any:
        """Return the value for code that needs it now: what is recorded is valid for this value alone."""


class Arrays(Operands):
    """The arrays that one call of an operator works on, all of one device."""

    device_type: DeviceType

    has_views: bool = False
    """Whether the method `view` exists, and Expression reads its results."""

    has_images: bool = False
    """Whether recordings may have images: see `restored`."""

    takes_host_arrays: bool = False
    """Whether operands may be ndarrays, also memory-mapped ones.

    Otherwise `copy_from_host` copies them to the device.
    """

    @property
    @abstractmethod
    def stream(self) -> Stream:
        """The stream that operators launch on."""

    @property
    def is_captured(self) -> bool:
        """Whether launches are captured now, in a graph that will do them again at any time.

        So their memory must be new, and nothing may use it later.
        """
        return False

    def kept(self) -> Arrays:
        """Return Arrays that any number of calls may use at once. Their inputs must be buffers already."""
        return self

    def new_finder(self) -> CallFinder | None:
        """Return the finder of known calls of one function, or None if the device has none."""
        return None

    def new_recording(self) -> Any | None:
        """Return a new `ep.include.recording.Recording`, or None if launches cannot be recorded."""
        return None

    def compile_ahead(self, launches: Callable[[Arrays], Iterable[Callable[[], object]]]) -> None:
        """Compile what launches lack, if several kernels can be compiled at once. Otherwise each launch does so.

        launches: returns them for Arrays whose launches compute nothing, as functions that may be called any number of
        times.
        """

    def restored(
        self, image: bytes, constants: Sequence[Array], block: Callable[[int], Array]
    ) -> Callable[..., bool] | None:
        """Return the function `run` of a `Repeat` from its image, made in this process or an earlier one.

        constants: arrays like those of the recording. block: returns memory of so many bytes, or more, which nothing
        else uses while the function runs. Returns None if the image is of no use here.
        """
        return None

    def compute(
        self, operator: Any, inputs: Sequence[Array], attributes: Mapping[str, Any], out: Array | None
    ) -> list[Array]:
        results: list[Array] = operator.compute(self, inputs, attributes, out)
        return results

    def begin_copy_to_host(self, array: Array) -> Callable[[], np.ndarray[Any, Any]]:
        """Queue what `copy_to_host` does; return the function that waits for this copy alone, and returns it.

        The function raises the errors of the work up to the copy. Work that is queued later may write the array. The
        memory that is copied to lives until the copy is done, also if the function is never called. A device that does
        not override this method copies at once.
        """
        copy = self.copy_to_host(array)
        return lambda: copy

    @abstractmethod
    def resolved(self, indices: Array, size: int, mode: str) -> Array:
        """Return indices (at least one) for the primitive, which gives zeros for those outside `0 ... size - 1`.

        mode: gather's; for a forbidden index an IndexError is raised, here or later by `stream`. The type of the result
        is that of `ep.common.arrays.index_types.resolved_type`.
        """

    @abstractmethod
    def destination(self, shape: Sequence[int], dtype: np.dtype[Any], out: Array | None) -> Array:
        """Return the buffer for a result: `out` itself if Launch can write it, else a new one (see `delivered`).

        Raises TypeError if `out` is not an array of the device or has another dtype, ValueError if it has another
        shape, is read-only, or has elements that share memory.
        """

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """Return a new buffer for a result, with undefined contents."""
        return self.destination(shape, dtype, None)

    def within(self, memory: Array, offset: int, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """Return a buffer in memory that `empty` returned as bytes, 64 more than the buffers in it need.

        offset: in bytes, a multiple of 64.

        A device that cannot do this returns a new buffer.
        """
        return self.empty(shape, dtype)

    def delivered(self, result: Array, out: Array | None) -> Array:
        """Return the result in the place that the caller wants: in `out`, if given. This ends a call.

        By default the result itself, for a device whose `destination` returns `out`.
        """
        return result

    def target(self, shape: Sequence[int], dtype: np.dtype[Any], out: Array) -> Array:
        """Return `out` in the form that Expression writes in place. Raises the errors of `destination`."""
        self.destination(shape, dtype, out)
        return out

    def may_share_memory(self, one: Array, other: Array) -> bool:
        """Return whether the memory of two arrays, from `as_view` or `target`, may overlap, as far as is known."""
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
        """Return a view of an array of `as_view` that Expression can read.

        places: for each axis, the slice of it, or the index, which removes the axis; None for all. axes: the order of
            the remaining axes, None for a new one of size 1; None for no change. shape: the shape to which the view is
            broadcast last; None for no change.
        """
        raise NotImplementedError(f"{type(self).__qualname__} has no views")

    def filled(self, number: np.ndarray[Any, Any]) -> Array:
        """Return a number, given as an array without axes in host memory, as a buffer."""
        return self.as_buffer(self.copy_from_host(number), "a number")


class DeviceArrays(ABC):
    """The arrays of a device type: recognises them, and returns the Arrays for a call.

    DeviceManager's `arrays` returns one, the same object each time.
    """

    @abstractmethod
    def recognises(self, value: Any) -> bool:
        """Return whether a value is an array of the device type.

        It is called for every value that is not an array of the host, of any type. So it should be quick, and import
        nothing.
        """

    @abstractmethod
    def index_of(self, value: Any) -> int:
        """Return the number of the device that an array of the device type is on."""

    @abstractmethod
    def on(self, device_index: int) -> Arrays:
        """Return the Arrays for one call on a device."""
