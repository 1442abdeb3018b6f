"""Launch lists from their images (`image.py`). Nothing is planned, and no kernel's sources are looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

import numpy as np

from ep.common.kernel_cache.headed import header_of
from ep.common.native.machine_code import NotOnDiskError, Origin, functions_on_disk, name_functions_on_disk
from ep.common.native.object_layout import data_address
from ep.common.native.target import Target, target
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


OBJECTS: Final[Mapping[str, Any]] = {"ndarray": np.ndarray, **{one.name: one.dtype for one in DataType}}
"""The objects of Python that words refer to, by name."""


def restored(image: bytes, constants: Sequence[NDArray], block: Callable[[int], NDArray]) -> Callable[..., bool] | None:
    """Return the function of a list (`LaunchList.run`); None if kernels that it calls are not on disk any more, or are
    for another processor, or if the image is damaged.

    image: from `image_of`, in a process with the same sources. constants: arrays like those that it got. block: returns
    memory of a number of bytes.
    """
    header, begin = header_of(image)
    if Target(*header["target"]) != target(CACHE):
        return None
    provide()
    name_functions_on_disk(CACHE, {name: Origin(*one) for name, one in header["named"].items()})
    end = begin + 24 * header["addresses"]
    sites = np.frombuffer(image, np.int64, 3 * header["addresses"], begin).reshape(-1, 3)
    data = _memory(0, len(image) - end, np.empty(len(image) - end + LINE, np.uint8))
    data[:] = np.frombuffer(image, np.uint8, offset=end)
    ends = [0, *accumulate(num_bytes + LINE for _, num_bytes in header["memory"])]
    whole = block(ends[-1])
    memory = [_memory(*one, whole[begin:]) for one, begin in zip(header["memory"], ends, strict=False)]
    arrays = [data, *memory, *constants]
    try:
        checks = [
            IndexCheck(_part(arrays, array, shape, name), begin, tuple(shape), DataType[name].dtype, size, mode)
            for array, begin, shape, name, size, mode, _ in header["checks"]
        ]
    except (IndexError, TypeError, ValueError):  # the part is not inside
        return None
    (threads, _), *others = header["functions"]
    try:
        work = functions_on_disk(CACHE, threads)
        running, *functions = [functions_on_disk(CACHE, name)[number] for name, number in others]
    except NotOnDiskError:
        return None
    objects = [OBJECTS[name] for name in header["objects"]]
    device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    start_threads(device, lambda: work)
    rest = [*functions, device.settings_address, *map(id, [*objects, *checks])]
    targets = np.array([*map(data_address, arrays), *rest], np.int64)
    most = np.array([*(max(one.nbytes, 1) for one in arrays), *[1] * len(rest)])  # an offset is less
    (places, of, offsets), words, (begin, size) = sites.T, data.view(np.int64), header["words"]
    if (
        not _are_below(places, data.nbytes)
        or (places % 8).any()
        or not _are_below(of, len(targets))
        or not _are_below(offsets, most[of])
        or not 0 <= begin <= begin + size <= words.size
    ):
        return None  # nothing is written outside of the data
    words[places // 8] = targets[of] + offsets
    for check, (*_, place) in zip(checks, header["checks"], strict=True):
        check.address = words[begin + place :][:1]
    run = list_function(running, words[begin:][:size], (data, memory, constants, objects, checks))

    def launched(*arrays: NDArray) -> bool:
        if run(*arrays):
            return True
        if device.streams:
            return False
        exclusively(lambda: _start_streaming(device))
        return run(*arrays)

    return launched if header["streams"] else run


def _start_streaming(device: Any) -> None:
    from ep.cpu.device import runtime  # this imports compiled code

    runtime.start_streaming(device)


def _are_below(numbers: NDArray, end: Any) -> bool:
    return bool(((numbers >= 0) & (numbers < end)).all())


def _part(arrays: Sequence[NDArray], located: Any, shape: Sequence[int], name: str) -> Any:
    """Return the indices of a check that are in one of the arrays; arrays of the call have numbers.

    located: which one, and the first byte there. Raises an error if they are not inside.
    """
    if not isinstance(located, list):
        return located
    number, begin = located
    return np.ndarray(shape, DataType[name].dtype, arrays[number].reshape(-1).view(np.uint8), begin)


def _memory(residue: int, num_bytes: int, block: NDArray) -> NDArray:
    """Return bytes of a block that begin at a place of a cache line: at the same one as when the list was made."""
    begin = (residue - data_address(block)) % LINE
    return block[begin : begin + num_bytes]
