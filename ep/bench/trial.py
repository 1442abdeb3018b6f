"""A case on a device: set up, checked, then timed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ep.bench import data
from ep.bench.case import Call, Case
from ep.bench.data import Array
from ep.bench.device_timing import on_device_clock
from ep.bench.timing import Timing, interleaved
from ep.include.allocation_options import AllocationOptions
from ep.include.device import Device
from ep.include.primitive import MemcpyFactory, MemcpyKind, Primitive, RequirePrimitive
from ep.include.stream import DeviceOfStream, Stream

_SEED: Final = 20
_OPTIONS: Final = AllocationOptions()


@dataclass(frozen=True)
class Trial:
    """A case that is ready to be timed.

    enqueue: launches once.
    launch: launches once, and waits until the work is done.
    has_clock: whether the device is asynchronous and its events measure time.
    numpy: does the same with NumPy, on the host.
    is_right: whether the first launch gave NumPy's result.
    first_seconds: the time of the first launch, which compiles the kernels that it needs, or loads them from the disk.
    """

    case: Case
    stream: Stream
    enqueue: Call
    launch: Callable[[], None]
    has_clock: bool
    numpy: Call
    is_right: bool
    first_seconds: float

    def time(self, seconds: float) -> dict[str, Timing]:
        """Time `ep` and `numpy` in turns; if the device has a clock, one after the other, and `ep` by that clock."""
        if self.has_clock:
            ep = on_device_clock(self.enqueue, self.stream, seconds / 2)
            return {"ep": ep} | interleaved({"numpy": self.numpy}, seconds / 2)
        return interleaved({"ep": self.launch, "numpy": self.numpy}, seconds)


def set_up(case: Case, device: Device, factory: type[Any]) -> Trial:
    """Place the inputs on `device`, launch once, and compare with NumPy.

    factory: the factory contract of the case's primitive. Raises UnsupportedPrimitiveError if the device has no
        primitive for the case.
    """
    primitive = RequirePrimitive(factory, device.device_type(), *case.key)
    stream = device.CreateStream()
    made = [np.ascontiguousarray(array) for array in case.make(np.random.default_rng(_SEED))]
    inputs = [to_device(array, stream) for array in made]
    out = _alloc(device, math.prod(case.out_dims) * case.out_type.itemsize).view(case.out_type)
    # if the host can access the device's memory, NumPy works on the same inputs
    arrays = [
        buffer.reshape(array.shape) if isinstance(buffer, np.ndarray) else array
        for buffer, array in zip(inputs, made, strict=True)
    ]
    expected = np.empty(case.out_dims, case.out_type)

    enqueue, numpy = case.bind(primitive, stream, inputs, out), case.numpy(arrays, expected)

    def launch() -> None:
        enqueue()
        stream.Sync()

    start = time.perf_counter()
    launch()
    first_seconds = time.perf_counter() - start
    numpy()
    is_right = case.is_right(to_host(out, case.out_dims, case.out_type, stream), expected)
    has_clock = not isinstance(out, np.ndarray) and hasattr(device.CreateEvent(), "ElapsedTime")
    return Trial(case, stream, enqueue, launch, has_clock, numpy, is_right, first_seconds)


def _alloc(device: DeviceOfStream, num_bytes: int) -> Any:
    """Return a buffer; if the host can access it, it begins where NumPy's arrays do, as those of most programs."""
    buffer = device.Alloc(_OPTIONS, num_bytes)
    return data.array((num_bytes,), np.dtype(np.uint8)) if isinstance(buffer, np.ndarray) else buffer


def to_device(array: Array, stream: Stream) -> Any:
    """Return a flat buffer on the stream's device with the elements of a contiguous array."""
    buffer = _alloc(stream.device(), array.nbytes).view(array.dtype)
    if isinstance(buffer, np.ndarray):
        np.copyto(buffer, array.reshape(-1))
    elif hasattr(buffer, "copy_from_host"):
        buffer.copy_from_host(array.reshape(-1), stream)
    else:
        _memcpy(MemcpyKind.kHtoD, stream).Launch(stream, buffer, array, array.nbytes)
    return buffer


def to_host(buffer: Any, dims: Sequence[int], dtype: np.dtype[Any], stream: Stream) -> Array:
    """Return an array of the elements of a buffer on the stream's device; no copy if the host can access them."""
    if isinstance(buffer, np.ndarray):
        return buffer.reshape(dims)
    if hasattr(buffer, "copy_to_host"):
        copied: Array = buffer.copy_to_host(stream)
        return copied.reshape(dims)
    array = np.empty(dims, dtype)
    _memcpy(MemcpyKind.kDtoH, stream).Launch(stream, array, buffer, array.nbytes)
    stream.Sync()
    return array


def _memcpy(kind: MemcpyKind, stream: Stream) -> Primitive:
    return RequirePrimitive(MemcpyFactory, stream.device_type(), kind)
