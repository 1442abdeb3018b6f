"""Images of launch lists: the words of a list, and all that they refer to, for a process that has none of it.

The words of a list hold addresses of other words: those of states, of plans, and of what plans refer to. All these are
found from the list on, and copied one after another. Each address is listed with what it is an address in, so that it
can be written again in another process (`restored.py`): in the copied words, in memory of intermediate values, in
constants, of a function on disk, of the settings of the device, or of one of Python's objects. A list with any other
address has no image. A word is an address if it is that large: no size, stride or number of elements is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, Final

import numpy as np

from ep.common.kernel_cache.headed import with_header
from ep.common.native.machine_code import Origin, named_functions, origin_of
from ep.common.native.object_layout import data_address
from ep.common.native.target import target
from ep.cpu.engine.repeat.index_check import IndexCheck
from ep.cpu.engine.repeat.restored import OBJECTS
from ep.cpu.lines.sizes import LINE
from ep.cpu.machine.kernel_cache import CACHE
from ep.cpu.shared.state import STATE, LaunchState
from ep.cpu.threads import thread_pool
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType

NDArray = np.ndarray[Any, Any]

_LEAST, _MOST = 1 << 40, 1 << 48
_OF_CHECKS: Final = ("form", "written", "stream_type", "tuple_type", "list_type", "int_type", "float_type", "none")
_WITHOUT: Final = [getattr(STATE, name) for name in (*_OF_CHECKS, "ndarray_type", "known_types")]
"""The words of a state that only the check of a launch reads, and no launch of a list."""


class _UnknownError(Exception):
    """Raised for an address of something that an image cannot have."""


def image_of(
    running: int, words: NDArray, held: Sequence[Any], constants: Sequence[NDArray], memory: Sequence[NDArray]
) -> bytes | None:
    """Return the image of a list; None if it cannot have one.

    running: the address of the code that runs lists. words: those of the list. held: all that its launches need.
    constants: arrays that the other process has, too. memory: arrays whose contents do not matter.
    """
    try:
        return _Image(held, constants, memory).packed(running, words)
    except _UnknownError:
        return None


class _Image:
    """The parts of an image.

    Its targets are, in this order: the copied words; memory, constants, functions, the settings, objects, and checks.
    """

    def __init__(self, held: Sequence[Any], constants: Sequence[NDArray], memory: Sequence[NDArray]) -> None:
        reached = _Reached(held)
        self._memory = _joined(memory)
        self._constants = [(data_address(one), data_address(one) + one.nbytes) for one in constants]
        self._known = _Ranges([*self._memory, *self._constants])
        self._arrays = [*reached.arrays.values()]
        self._copied = _Ranges([(data_address(one), data_address(one) + one.nbytes) for one in self._arrays])
        self._states = reached.states
        self._checks = reached.checks
        self._objects = {id(one): name for name, one in OBJECTS.items()}
        device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
        self._settings, self._streams = device.settings_address, device.streams
        self._functions: dict[Origin, int] = {}
        self._named_objects: dict[str, int] = {}
        self._used_checks: dict[int, int] = {}
        self._blocks: dict[int, int] = {}  # by the number of an array, where its copy begins
        self._todo: list[int] = []
        self._end = 0

    def packed(self, running: int, words: NDArray) -> bytes:
        """Return the image in one piece."""
        self._arrays.append(words)
        place = len(self._arrays) - 1
        self._block(place)
        copies, sites = dict[int, NDArray](), list[tuple[int, str, int, int]]()
        while self._todo:
            number = self._todo.pop()
            copy = self._copy(number)
            copies[number] = copy
            if copy.dtype == np.int64:
                begin = self._blocks[number]
                for at in np.flatnonzero((copy >= _LEAST) & (copy < _MOST)).tolist():
                    sites.append((begin + 8 * at, *self._target(int(copy[at]))))
        data = np.zeros(-(-self._end // LINE) * LINE, np.uint8)
        for number, copy in copies.items():
            data[self._blocks[number] :][: copy.nbytes] = copy.view(np.uint8)
        firsts = self._firsts()
        addresses = np.array([(at, firsts[kind] + of, offset) for at, kind, of, offset in sites], np.int64)
        header = {
            "target": target(CACHE),
            "words": (self._blocks[place] // 8, words.size),
            "memory": [(begin % LINE, end - begin) for begin, end in self._memory],
            "functions": [self._origin(thread_pool.work()), self._origin(running), *self._functions],
            "objects": [*self._named_objects],
            "checks": [self._checks[one] for one in self._used_checks],
            "named": named_functions(),
            "addresses": len(sites),
            "streams": self._streams,  # whether launches may use non-temporal stores
        }
        return with_header(header, addresses.tobytes(), data.tobytes())

    def _firsts(self) -> dict[str, int]:
        """Return the number of the first target of each kind."""
        firsts, end = {}, 0
        for kind, count in (
            ("copied", 1),
            ("memory", len(self._memory)),
            ("constants", len(self._constants)),
            ("functions", len(self._functions)),
            ("settings", 1),
            ("objects", len(self._named_objects)),
            ("checks", len(self._used_checks)),
        ):
            firsts[kind], end = end, end + count
        return firsts

    def _block(self, number: int) -> int:
        """Return where the copy of an array begins; it is made later."""
        if (begin := self._blocks.get(number)) is None:
            address = data_address(self._arrays[number])
            begin = self._blocks[number] = self._end + (address - self._end) % LINE
            self._end = begin + self._arrays[number].nbytes
            self._todo.append(number)
        return begin

    def _copy(self, number: int) -> NDArray:
        array = self._arrays[number]
        copy = array.reshape(-1).copy()
        if data_address(array) in self._states:
            copy[_WITHOUT] = 0
        return copy

    def _target(self, address: int) -> tuple[str, int, int]:
        """Return the kind of a target, its number among those of the kind, and the bytes from its own address."""
        for before in (0, 1):  # the end of an array may be the beginning of another one
            if (place := self._known.of(address - before)) is not None:
                number, begin = place
                kind, first = ("memory", 0) if number < len(self._memory) else ("constants", len(self._memory))
                return kind, number - first, address - begin
            if (place := self._copied.of(address - before)) is not None:
                number, begin = place
                return "copied", 0, self._block(number) + address - begin
        if address == self._settings:
            return "settings", 0, 0
        if (name := self._objects.get(address)) is not None:
            return "objects", self._named_objects.setdefault(name, len(self._named_objects)), 0
        if address in self._checks:
            return "checks", self._used_checks.setdefault(address, len(self._used_checks)), 0
        return "functions", self._functions.setdefault(self._origin(address), len(self._functions)), 0

    def _origin(self, address: int) -> Origin:
        origin = origin_of(address)
        if origin is None:
            raise _UnknownError
        return origin


class _Reached:
    """The arrays that objects refer to, through containers, closures and the attributes of ep's own classes.

    arrays: whole ones, which views are views of, by their addresses. states: the addresses of the words of states.
    checks: of indices, by their ids.
    """

    def __init__(self, roots: Iterable[Any]) -> None:
        self.arrays: dict[int, NDArray] = {}
        self.states: set[int] = set()
        self.checks: dict[int, IndexCheck] = {}
        seen, todo = dict[int, Any](), [*roots]
        while todo:
            one = todo.pop()
            if id(one) in seen:
                continue
            seen[id(one)] = one
            if isinstance(one, np.ndarray):
                self._add(one)
            elif isinstance(one, IndexCheck):
                if isinstance(one.array, int):
                    self.checks[id(one)] = one
            else:
                if isinstance(one, LaunchState):
                    self.states.add(data_address(one.words))
                todo.extend(_parts(one))

    def _add(self, array: NDArray) -> None:
        while isinstance(array.base, np.ndarray):
            array = array.base
        if array.flags.c_contiguous and array.nbytes:
            self.arrays[data_address(array)] = array


def _parts(one: Any) -> Iterator[Any]:
    """Yield what an object refers to. Other threads may change containers meanwhile, such as tables of plans."""
    if isinstance(one, Mapping):
        yield from [*one.values()]
    elif isinstance(one, tuple | list | set | frozenset):
        yield from [*one]
    elif isinstance(one, FunctionType):
        for cell in one.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # not assigned yet
                continue
    if type(one).__module__.startswith("ep."):
        yield getattr(one, "__dict__", None)
        for name in (name for cls in type(one).__mro__ for name in getattr(cls, "__slots__", ())):
            yield getattr(one, name, None)


class _Ranges:
    """Ranges of addresses, which do not overlap, to find the one that an address is in."""

    def __init__(self, ranges: Sequence[tuple[int, int]]) -> None:
        if any(begin < _LEAST for begin, _ in ranges):
            raise _UnknownError  # an address may be any number
        self._sorted = sorted((begin, end, number) for number, (begin, end) in enumerate(ranges))

    def of(self, address: int) -> tuple[int, int] | None:
        """Return the number of a range, and its beginning; None if there is none."""
        place = bisect_right(self._sorted, address, key=lambda one: one[0]) - 1
        if place < 0:
            return None
        begin, end, number = self._sorted[place]
        return (number, begin) if address < end else None


def _joined(arrays: Sequence[NDArray]) -> list[tuple[int, int]]:
    """Return the ranges of addresses that arrays have, in order; overlapping ones are one."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted((data_address(one), data_address(one) + one.nbytes) for one in arrays if one.nbytes):
        if found and begin < found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found
