"""Launch lists from their images (`image.py`). Nothing is planned, and no kernel's sources are looked at."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ep.common.arrays.host_indices import RESOLVERS
from ep.common.kernel_cache.headed import DamagedError, header_of
from ep.common.native.machine_code import NotOnDiskError, Origin, functions_on_disk, name_functions_on_disk
from ep.common.native.object_layout import data_address
from ep.common.native.target import target
from ep.cpu.engine.repeat.image_header import OBJECTS, ImageHeader, StoredIndexCheck
from ep.cpu.engine.repeat.index_check import IndexCheck
from ep.cpu.engine.repeat.list_function import list_function
from ep.cpu.lines.sizes import LINE
from ep.cpu.machine.kernel_cache import CACHE
from ep.cpu.threads.thread_memory import provide
from ep.cpu.threads.workers import start_threads
from ep.include.data_type import DataType
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.process import exclusively

NDArray = np.ndarray[Any, Any]


def restored(image: bytes, constants: Sequence[NDArray], block: Callable[[int], NDArray]) -> Callable[..., bool] | None:
    """Return the function of a list (`LaunchList.run`); None if kernels that it calls are not on disk any more, or are
    for another processor, or if the image is damaged.

    image: from `image_of`, in a process with the same sources. constants: arrays like those that it got. block: returns
    memory of a number of bytes.
    """
    try:
        header, begin = header_of(ImageHeader, image)
        return _restored(header, memoryview(image)[begin:], constants, block)
    except (DamagedError, NotOnDiskError):
        return None


def _restored(
    header: ImageHeader, rest: memoryview, constants: Sequence[NDArray], block: Callable[[int], NDArray]
) -> Callable[..., bool]:
    """Return the function of a list. rest: what is in the image after the header.

    Nothing is written before all is checked, and nothing outside of the copied words. Raises DamagedError, and
    NotOnDiskError.
    """
    _check(header.target == target(CACHE))
    end = 24 * header.addresses
    _check(end < len(rest) and (len(rest) - end) % LINE == 0)
    sites = np.frombuffer(rest, np.int64, 3 * header.addresses).reshape(-1, 3)
    data = _memory(0, len(rest) - end, np.empty(len(rest) - end + LINE, np.uint8))
    words, (first, size) = data.view(np.int64), header.words
    _check(first + size <= words.size)
    data[:] = np.frombuffer(rest, np.uint8, offset=end)
    ends = [0, *accumulate(num_bytes + LINE for _, num_bytes in header.memory)]
    whole = block(ends[-1])
    memory = [_memory(*one, whole[begin:]) for one, begin in zip(header.memory, ends, strict=False)]
    arrays = [data, *memory, *constants]
    checks = [_index_check(one, arrays) for one in header.checks]
    _check({*header.objects} <= OBJECTS.keys())
    objects = [OBJECTS[name] for name in header.objects]
    provide()
    _check(len(header.functions) > 1 and all(map(_is_kernel, (*header.functions, *header.named.values()))))
    name_functions_on_disk(CACHE, header.named)
    work = functions_on_disk(CACHE, header.functions[0].file_name)
    running, *functions = map(_function, header.functions[1:])
    device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    rest_of_targets = [*functions, device.settings_address, *map(id, [*objects, *checks])]
    targets = np.array([*map(data_address, arrays), *rest_of_targets], np.int64)
    most = np.array([*(max(one.nbytes, 1) for one in arrays), *[1] * len(rest_of_targets)])  # an offset is less
    places, numbers, offsets = sites.T
    _check(_are_below(places, data.nbytes) and not (places % 8).any())
    _check(_are_below(numbers, len(targets)) and _are_below(offsets, most[numbers]))
    words[places // 8] = targets[numbers] + offsets
    start_threads(device, lambda: work)
    run = list_function(running, words[first:][:size], (data, memory, constants, objects, checks))

    def launched(*arrays: NDArray) -> bool:
        if run(*arrays):
            return True
        if device.streams:
            return False
        exclusively(lambda: _start_streaming(device))
        return run(*arrays)

    return launched if header.streams else run


def _start_streaming(device: Any) -> None:
    from ep.cpu.device import runtime  # this imports compiled code

    runtime.start_streaming(device)


def _are_below(numbers: NDArray, end: Any) -> bool:
    return bool(((numbers >= 0) & (numbers < end)).all())


def _check(is_valid: bool) -> None:
    if not is_valid:
        raise DamagedError("an image refers to what it does not have")


def _is_kernel(origin: Origin) -> bool:
    return re.fullmatch(r"[\w.-]+\.kernel", origin.file_name) is not None


def _function(origin: Origin) -> int:
    """Return the address of a function. Raises DamagedError and NotOnDiskError."""
    found = functions_on_disk(CACHE, origin.file_name)
    _check(origin.number < len(found))
    return found[origin.number]


def _index_check(one: StoredIndexCheck, arrays: Sequence[NDArray]) -> IndexCheck:
    """Return a check of indices. arrays: the targets that are arrays. Raises DamagedError."""
    _check(one.mode in RESOLVERS and one.type_name in DataType.__members__)
    dtype, place = DataType[one.type_name].dtype, one.array
    _check(dtype.kind in "iu" and dtype.itemsize > 0)
    array: int | NDArray
    if isinstance(place, tuple):
        number, begin = place
        _check(number < len(arrays))
        _check(begin + math.prod(one.shape) * dtype.itemsize <= arrays[number].nbytes)
        array = np.ndarray(one.shape, dtype, arrays[number].reshape(-1).view(np.uint8), begin)
    else:
        array = place
    return IndexCheck(array, one.begin, one.shape, dtype, one.size, one.mode)


def _memory(residue: int, num_bytes: int, block: NDArray) -> NDArray:
    """Return bytes of a block that begin at a place of a cache line: at the same one as when the list was made."""
    begin = (residue - data_address(block)) % LINE
    return block[begin : begin + num_bytes]
