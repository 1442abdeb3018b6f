"""Recordings of launches on the CPU."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, Final, TypeAlias

import numpy as np

from ep.common.arrays.host import HostArrays
from ep.common.arrays.host_indices import RESOLVERS
from ep.common.arrays.index_types import resolved_type
from ep.common.native.object_layout import data_address
from ep.common.primitive.strides import span
from ep.cpu.compile.ahead import WaitingError, compile_ahead, refused_kernels
from ep.cpu.device.stream import RecordingStream
from ep.cpu.engine.entry import install_noting
from ep.cpu.engine.repeat.index_check import IndexCheck
from ep.cpu.engine.repeat.launch_list import LaunchList, running
from ep.cpu.shared.listed import Listed
from ep.include.arrays import Arrays
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.process import exclusively
from ep.include.recording import RecordedFunction, Recording, Repeat

NDArray = np.ndarray[Any, Any]
MakeLaunches: TypeAlias = Callable[[Arrays], Iterable[Callable[[], object]]]
"""Returns launches for Arrays: see `Arrays.compile_ahead`."""
_FIXED: Final = -1


class CpuRecording(Recording):
    """A recording that becomes a list of launches (`engine/repeat/launch_list.py`)."""

    def __init__(self, *, computes: bool = True) -> None:
        """computes: whether the launches are done. If not, no array is read."""
        device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
        self._launches = launches = list[tuple[Any, Any, Any]]()  # a primitive, its plan and its arguments; or a check
        # not of this object, which would keep the arrays of a call that raises an error
        self._stream = RecordingStream(device, lambda *launch: launches.append(launch), computes=computes)
        self.computes = computes
        self._inputs: list[NDArray] = []
        self._written: list[NDArray] = []
        self._constants: list[NDArray] = []
        self._changing: Sequence[NDArray] = ()
        self._is_whole = True
        self._memory: Sequence[NDArray] = ()
        self._ahead: MakeLaunches | None = None

    def record(
        self,
        function: RecordedFunction,
        inputs: Sequence[NDArray],
        values: Sequence[NDArray],
        constants: Sequence[NDArray],
        memory: Sequence[NDArray],
        changing: Sequence[NDArray] = (),
    ) -> Repeat:
        self._inputs = _disjoint(inputs, [*constants, *memory])
        self._changing, self._memory = changing, memory
        exclusively(_compile)
        for computes in (False, True):  # mostly, the list does the launches that were noted
            self._stream.computes = computes
            results = self._noted(lambda: function(_RecordingArrays(self, self._written), self._inputs, values))
            made = self._listed(constants)
            if not self.computes or computes or (made is not None and made.run(*self._inputs, *self._written)):
                break
        written, self._inputs, self._written = self._written, [], []  # they are as large as those of a call
        self._launches.clear()
        if made is None:
            return Repeat(None, (), results)
        return Repeat(made.run, written, results, partial(self._image, made, constants))

    def _noted(self, function: Callable[[], Any]) -> Any:
        """Return the results of a function, whose launches are noted.

        Those that are not done are noted in one critical section, where each would enter one of its own, and nothing is
        compiled. If one lacks a kernel, all are compiled, and the function is called again, outside.
        """

        def quickly() -> Any:
            with refused_kernels():
                return self._begun(function)

        try:
            return self._begun(function) if self._stream.computes else exclusively(quickly)
        except WaitingError:
            if self._ahead is not None:
                compile_launches(self._ahead)
            return self._begun(function)
        finally:
            self._ahead = None  # it has the arrays of this call

    def _begun(self, function: Callable[[], Any]) -> Any:
        """Return the results of a function, with no launches noted before it."""
        self._launches.clear()
        self._written.clear()
        self._constants.clear()
        return function()

    def compile_ahead(self, launches: MakeLaunches) -> None:
        """Note what compiles the kernels that launches lack, which follow."""
        self._ahead = launches

    def fail(self) -> None:
        """Note that the function computes something by itself."""
        self._is_whole = False

    def copied(self, array: NDArray, copy: NDArray) -> NDArray:
        """Return the array that stands for a copy of an array that the function makes."""
        if any(np.may_share_memory(array, one) for one in (*self._inputs, *self._changing)):
            return array
        self._constants.append(copy)
        return copy

    def resolved(self, indices: NDArray, size: int, mode: str) -> NDArray:
        """Note that indices are checked, and return those found, in memory that nothing else is in: it tells which
        launches read them. A check of constant ones is not repeated."""
        arrays = *self._inputs, *self._written, *self._memory, *self._changing
        if self._stream.computes or not any(np.may_share_memory(indices, one) for one in arrays):
            found = RESOLVERS[mode](indices, size)
            found = found.copy() if found is indices else found
        else:
            found = np.empty(indices.shape, resolved_type(indices.dtype, size, mode))
        check = IndexCheck(indices, 0, indices.shape, indices.dtype, size, mode)
        self._launches.append((check, None, (found,)))
        return found

    def _image(self, made: LaunchList, constants: Sequence[NDArray]) -> bytes | None:
        def image() -> bytes | None:
            from ep.cpu.engine.repeat.image import image_of  # most processes write no image

            return image_of(running(), made, made.held, constants, self._memory)

        return exclusively(image)

    def _listed(self, constants: Sequence[NDArray]) -> LaunchList | None:
        """Return the list of the launches; None if they are not all that the function has done."""
        arrays = [*self._inputs, *self._written]
        if not self._is_whole or not self._launches or max(one.ndim for one in arrays) > kMaxNumDims:
            return None
        launches, checks, found = self._checked(arrays)
        if not all(arrays[one.array].flags.c_contiguous for one in checks if isinstance(one.array, int)):
            return None
        fixed = [*constants, *self._constants, *self._memory]
        places, listed, held = _Places([*arrays, *found], fixed), [], [*fixed, *(one.dtype for one in arrays)]
        for primitive, plan, args in launches:
            one = primitive.listed(plan, args)
            numbers = [number for number in _numbers(args) if places.of(data_address(number)) is None]
            patches = None if one is None else _patches(one, places, numbers)
            if patches is None:
                return None
            listed.append((one, patches))
            held += primitive, plan, *numbers
        return LaunchList(arrays, len(self._written), len(checks), listed, held)

    def _checked(self, arrays: Sequence[NDArray]) -> tuple[list[Any], list[IndexCheck], list[NDArray]]:
        """Return the launches, the checks of indices among these, and what each has found. A check of indices that are
        the same at each call is not repeated: what it has found is a constant."""
        changing = _Places(arrays, [*self._memory, *self._changing])
        launches, checks, found = list[Any](), list[IndexCheck](), list[NDArray]()
        for launch in self._launches:
            check, _, args = launch
            if isinstance(check, IndexCheck):
                place = changing.of(data_address(check.array))
                if place is None:
                    self._constants += args
                    continue
                if place[0] != _FIXED:
                    check.array, check.begin = place
                check.place = len(checks)
                checks.append(check)
                found += args
            launches.append(launch)
        return launches, checks, found


def _compile() -> None:
    """Compile what lists need, unless this has been done."""
    install_noting()
    running()


def compile_launches(launches: MakeLaunches) -> None:
    """Compile what launches, and a list of them, lack: see `Arrays.compile_ahead`."""
    arrays = _RecordingArrays(CpuRecording(computes=False), [])
    compile_ahead(lambda: [install_noting, running, *launches(arrays)])


class _RecordingArrays(HostArrays):
    """The Arrays of a recorded function."""

    def __init__(self, recording: CpuRecording, written: list[NDArray]) -> None:
        super().__init__(DeviceType.kCPU, "the host")
        self.stream = recording._stream
        self._recording, self._written = recording, written

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> NDArray:
        array: NDArray = np.empty(shape, dtype)
        self._written.append(array)
        return array

    def destination(self, shape: Sequence[int], dtype: np.dtype[Any], out: NDArray | None) -> NDArray:
        return self.empty(shape, dtype) if out is None else super().destination(shape, dtype, out)

    def as_buffer(self, value: Any, argument: str) -> NDArray:
        buffer = super().as_buffer(value, argument)
        if buffer is not value:
            self._recording.fail()
        return buffer

    def resolved(self, indices: NDArray, size: int, mode: str) -> NDArray:
        return self._recording.resolved(indices, size, mode)

    def compile_ahead(self, launches: MakeLaunches) -> None:
        self._recording.compile_ahead(launches)

    def copy_from_host(self, array: NDArray) -> NDArray:
        return self._recording.copied(array, super().copy_from_host(array))


class _Places:
    """The memory of arrays, to find the one that an address is in."""

    def __init__(self, arrays: Sequence[NDArray], fixed: Sequence[NDArray]) -> None:
        numbered = [*enumerate(arrays), *((_FIXED, one) for one in fixed)]
        ranges = [(*_range(one), number, data_address(one)) for number, one in numbered]
        self._ranges = sorted(one for one in ranges if one[1] > one[0])
        self._begins = [one[0] for one in self._ranges]
        self._ends = [*accumulate((one[1] for one in self._ranges), max)]  # of all up to each

    def of(self, address: int) -> tuple[int, int] | None:
        """Return the number of an array and the bytes from its address; _FIXED for one that stays; None without any."""
        place = bisect_right(self._begins, address) - 1
        while place >= 0 and address < self._ends[place]:
            _, end, number, base = self._ranges[place]
            if address < end:
                return number, address - base
            place -= 1
        return None


def _range(array: NDArray) -> tuple[int, int]:
    """Return the addresses where the elements of an array begin and end."""
    low, last = span(array.shape, array.strides) if array.size else (0, 0)
    return data_address(array) + low, data_address(array) + last + array.itemsize


def _disjoint(arrays: Sequence[NDArray], others: Sequence[NDArray]) -> list[NDArray]:
    """Return arrays of which each is in memory of its own: copies of those that overlap any others."""
    found, last, end = [*arrays], -1, 0
    ranges = sorted((*_range(one), k) for k, one in enumerate((*arrays, *others)))
    for begin, stop, number in ranges:
        for one in (last, number) if begin < end else ():
            if one < len(arrays) and found[one] is arrays[one]:
                found[one] = _like(arrays[one])
                found[one][...] = arrays[one]
        if stop > end:
            last, end = number, stop
    return found


def _like(array: NDArray) -> NDArray:
    """Return a new array with the shape, the dtype and the strides of another one."""
    if array.flags.c_contiguous:
        return np.empty(array.shape, array.dtype)
    low, last = span(array.shape, array.strides)
    memory = np.zeros(last - low + array.itemsize, np.uint8)
    return np.ndarray(array.shape, array.dtype, memory, -low, array.strides)


def _numbers(args: Sequence[Any]) -> list[NDArray]:
    """Return the arrays of one element among the arguments of a launch: primitives make them of numbers."""
    arrays = [array for each in args for array in (each if isinstance(each, tuple) else (each,))]
    return [array for array in arrays if isinstance(array, np.ndarray) and array.size == 1]


def _patches(one: Listed, places: _Places, numbers: Sequence[NDArray]) -> list[tuple[int, int, int]] | None:
    """Return the addresses of a launch that may be others at each call, as triples of Patch; None if one is in unknown
    memory. numbers: arrays that it may read besides."""
    addresses, patches = {data_address(array) for array in numbers}, []
    for word in one.places:
        place = places.of(int(one.frame[word]))
        if place is None and int(one.frame[word]) not in addresses:
            return None
        if place is not None and place[0] != _FIXED:
            patches.append((word, *place))
    return patches
