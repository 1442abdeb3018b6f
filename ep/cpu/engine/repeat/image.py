"""Images of launch lists: the words of a list, and all that they refer to, for a process that has none of it.

The words of a list hold addresses of other words: those of states, of plans, and of what plans refer to. All these are
found from the list on, by their addresses, and copied one after another. Which words are addresses is declared where
they are written (`Words.addresses`); all others are numbers, whatever their values are. Each address is listed with
what it is an address in, so that it can be written again in another process (`restored.py`): in the copied words, in
memory of intermediate values, in constants, of a function on disk, of the settings of the device, or of one of Python's
objects. A list with any other address has no image.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ep.common.kernel_cache.headed import with_header
from ep.common.native.machine_code import Origin, named_functions, origin_of
from ep.common.native.object_layout import data_address
from ep.common.native.record import Words
from ep.common.native.target import target
from ep.cpu.engine.repeat.image_header import OBJECTS, ImageHeader, StoredIndexCheck
from ep.cpu.engine.repeat.index_check import IndexCheck
from ep.cpu.lines.sizes import LINE
from ep.cpu.machine.kernel_cache import CACHE
from ep.cpu.shared.context import ITSELF, LATER, NONE
from ep.cpu.threads import thread_pool
from ep.include.data_type import as_data_type
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType

NDArray = np.ndarray[Any, Any]

_NO_ADDRESSES: Final = NONE, LATER, ITSELF
"""What the word of an address holds if there is none; nothing has these addresses."""


class _UnknownError(Exception):
    """Raised for an address of something that an image cannot have."""


def image_of(
    running: int, words: Words, held: Sequence[Any], constants: Sequence[NDArray], memory: Sequence[NDArray]
) -> bytes | None:
    """Return the image of a list; None if it cannot have one.

    running: the address of the code that runs lists. words: those of the list. held: all that its launches need; the
    contents of arrays among these are copied, and checks of indices are written. constants: arrays that the other
    process has, too. memory: arrays whose contents do not matter.
    """
    try:
        return _Image(held, constants, memory).packed(running, words)
    except _UnknownError:
        return None


class _Image:
    """The parts of an image."""

    def __init__(self, held: Sequence[Any], constants: Sequence[NDArray], memory: Sequence[NDArray]) -> None:
        known = {id(one) for one in (*constants, *memory)}
        numbers = [one for one in held if isinstance(one, np.ndarray) and id(one) not in known]
        self._memory = _joined(memory)
        self._constants = [_range(one) for one in constants]
        self._known = _Ranges([*self._memory, *self._constants])
        self._words = [*map(Words, numbers), *Words.all()]
        self._copied = _Ranges([_range(one.words) for one in self._words])
        self._checks = {id(one): one for one in held if isinstance(one, IndexCheck)}
        self._objects = {id(one): name for name, one in OBJECTS.items()}
        device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
        self._settings, self._streams = device.settings_address, device.streams
        self._functions: dict[Origin, int] = {}
        self._named_objects: dict[str, int] = {}
        self._used_checks: dict[int, tuple[IndexCheck, Any]] = {}  # with where the indices are
        self._blocks: dict[int, int] = {}  # by the number of an array, where its copy begins
        self._todo: list[int] = []
        self._end = 0

    def packed(self, running: int, words: Words) -> bytes:
        """Return the image in one piece."""
        self._words.append(words)
        place = len(self._words) - 1
        self._block(place)
        copies, sites = dict[int, NDArray](), list[tuple[int, str, int, int]]()
        while self._todo:
            number = self._todo.pop()
            copy = self._copy(number)
            copies[number] = copy
            places = [*self._words[number].addresses]
            for at, address in zip(places, copy[places].tolist(), strict=True):
                if address not in _NO_ADDRESSES:
                    sites.append((self._blocks[number] + 8 * at, *self._target(address)))
                    copy[at] = 0
        data = np.zeros(-(-self._end // LINE) * LINE, np.uint8)
        for number, copy in copies.items():
            data[self._blocks[number] :][: copy.nbytes] = copy.view(np.uint8)
        firsts = self._firsts()
        addresses = np.array([(at, firsts[kind] + of, offset) for at, kind, of, offset in sites], np.int64)
        header = ImageHeader(
            target=target(CACHE),
            words=(self._blocks[place] // 8, words.words.size),
            memory=tuple([(begin % LINE, end - begin) for begin, end in self._memory]),
            functions=(self._origin(thread_pool.work()[0]), self._origin(running), *self._functions),
            objects=tuple(self._named_objects),
            checks=tuple([_described(*each, firsts) for each in self._used_checks.values()]),
            named=named_functions(),
            addresses=len(sites),
            streams=self._streams,
        )
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
            address, end = _range(self._words[number].words)
            begin = self._blocks[number] = self._end + (address - self._end) % LINE
            self._end = begin + end - address
            self._todo.append(number)
        return begin

    def _copy(self, number: int) -> NDArray:
        words = self._words[number]
        copy = words.words.reshape(-1).copy()
        copy[[*words.local]] = 0
        return copy

    def _target(self, address: int) -> tuple[str, int, int]:
        """Return the kind of a target, its number among those of the kind, and the bytes from its own address."""
        if (place := self._known.of(address)) is not None:
            number, begin = place
            kind, first = ("memory", 0) if number < len(self._memory) else ("constants", len(self._memory))
            return kind, number - first, address - begin
        if (place := self._copied.of(address)) is not None:
            number, begin = place
            return "copied", 0, self._block(number) + address - begin
        if address == self._settings:
            return "settings", 0, 0
        if (name := self._objects.get(address)) is not None:
            return "objects", self._named_objects.setdefault(name, len(self._named_objects)), 0
        if (check := self._checks.get(address)) is not None:
            if address not in self._used_checks:
                self._used_checks[address] = check, self._located(check.array)
            return "checks", [*self._used_checks].index(address), 0
        return "functions", self._functions.setdefault(self._origin(address), len(self._functions)), 0

    def _located(self, array: int | NDArray) -> Any:
        """Return where the indices of a check are: kind, number and bytes of the target. Arrays of the call have
        numbers."""
        return array if isinstance(array, int) else self._target(data_address(array))

    def _origin(self, address: int) -> Origin:
        origin = origin_of(address)
        if origin is None:
            raise _UnknownError
        return origin


def _described(one: IndexCheck, located: Any, firsts: Mapping[str, int]) -> StoredIndexCheck:
    """Return a check. located: the number of an array of the call; or kind, number and bytes of the target."""
    array = located if isinstance(located, int) else (firsts[located[0]] + located[1], located[2])
    return StoredIndexCheck(array, one.begin, one.shape, as_data_type(one.dtype).name, one.size, one.mode)


class _Ranges:
    """Ranges of addresses, to find the one that an address is in: of ranges in others, the widest."""

    def __init__(self, ranges: Sequence[tuple[int, int]]) -> None:
        self._sorted: list[tuple[int, int, int]] = []
        for begin, last, number in sorted([(begin, -end, number) for number, (begin, end) in enumerate(ranges)]):
            if not self._sorted or -last > self._sorted[-1][1]:  # not in the one before
                self._sorted.append((begin, -last, number))
        self._begins = [begin for begin, _, _ in self._sorted]

    def of(self, address: int) -> tuple[int, int] | None:
        """Return the number of a range, and its beginning; None if there is none."""
        place = bisect_right(self._begins, address) - 1
        if place < 0:
            return None
        begin, end, number = self._sorted[place]
        if place > 0 and address < self._sorted[place - 1][1]:
            raise _UnknownError  # in two ranges
        return (number, begin) if address < end else None


def _range(array: NDArray) -> tuple[int, int]:
    """Return the range of addresses of an array. An empty one that is no part of another has memory, too."""
    begin = data_address(array)
    return begin, begin + (array.nbytes or int(array.flags.owndata))


def _joined(arrays: Sequence[NDArray]) -> list[tuple[int, int]]:
    """Return the ranges of addresses that arrays have, in order; overlapping ones are one."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(map(_range, arrays)):
        if found and begin < found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found
