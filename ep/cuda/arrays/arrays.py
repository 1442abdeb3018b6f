"""Operators on arrays in memory of a GPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.arrays.checks import check_distinct, check_result, is_weak, native_dtype
from ep.common.arrays.strided_copy import copy_strided
from ep.common.lazy import lazy
from ep.common.primitive.broadcast import Dims, simplify_strided
from ep.common.primitive.strides import contiguous_strides, expanded_strides, extent
from ep.cuda.arrays.array import CudaArray
from ep.cuda.arrays.graph_recording import GraphRecording
from ep.cuda.arrays.indices import RESOLVERS
from ep.cuda.arrays.launch_buffers import ARRAY_TYPES
from ep.cuda.arrays.reader import ForeignArray, device_of, is_on_cuda, read
from ep.cuda.arrays.streams import default_stream
from ep.cuda.device.captured import CapturedStream
from ep.cuda.device.stream import CudaStream
from ep.cuda.launch.known import can_know, shared_address
from ep.include.arrays import ArrayLike, Arrays, CallFinder, DeviceArrays
from ep.include.device_type import DeviceType
from ep.include.errors import ArgumentTypeError, ArgumentValueError
from ep.include.primitive.fill import Fill, FillFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.registry import RequirePrimitive
from ep.include.process import exclusively


class CudaArrays(Arrays):
    """Operands are arrays of any library on the device, and Python numbers; results are CudaArrays.

    All work is queued on one stream of the device, after the work that computes the operands. Work that other libraries
    queue later, on the streams of the operands, waits for it, so they may write to operands or free them. The host does
    not wait, and no data goes through its memory.
    """

    device_type = DeviceType.kCUDA
    has_views = True

    def __init__(self, device_index: int, captured: CapturedStream | None = None) -> None:
        """The arrays of one call; it records the streams that must wait for the call.

        captured: the stream of all work, if that is captured for a graph.
        """
        self._stream = captured or default_stream(device_index)
        self._memory_at_home = (captured or self._stream.device()).memory_at_home
        self.place = f"cuda:{device_index}"
        self._waiting: set[int] = set()

    @lazy
    def stream(self) -> CudaStream:
        return self._stream

    @property
    def is_captured(self) -> bool:
        return self._stream.is_capturing()

    def kept(self) -> CudaArrays:
        return self if isinstance(self._stream, CapturedStream) else _kept(self._stream.device_index)

    def new_finder(self) -> CallFinder | None:
        if not can_know():
            return None

        def new() -> CallFinder:
            from ep.cuda.launch.known_calls import CudaCallFinder  # this imports compiled code

            return CudaCallFinder(shared_address(ARRAY_TYPES), self._stream.handle, self._empty_maker)

        return exclusively(new)

    def new_recording(self) -> GraphRecording | None:
        return None if self.is_captured else GraphRecording(self._stream, CudaArrays)

    def _empty_maker(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Callable[[], CudaArray] | None:
        """Return the function that does what `empty` does, while the stream is not captured; None without elements."""
        stream, count = self._stream, math.prod(shape)
        lease = stream.device().lease_maker(count * dtype.itemsize)
        if lease is None:
            return None
        rest = count, dtype, True, True, stream.device_index, stream.handle
        key, of_call = (rest[4:], dtype, shape), CudaArray.of_call

        def empty() -> CudaArray:
            owner = lease()
            return of_call((owner.block.address, *rest), shape, stream, owner, key)

        return empty

    def as_buffer(self, value: ArrayLike, argument: str) -> CudaArray:
        if type(value) is CudaArray and value.memory[5:] == (self._stream.device_index, self._stream.order):
            return value  # results of operators need no check and no wait
        if is_weak(value):
            number = np.asarray(value)
            native_dtype(number.dtype, argument)
            return self.filled(number)
        array = self._imported(value, argument)
        if array.after is not None:
            self._waiting.add(array.after)
        if array.strides is None:
            return value if isinstance(value, CudaArray) else self._flat(array)
        result = self.empty(array.shape, array.dtype)
        steps = contiguous_strides(array.shape)
        self._copy(self._flat(array), array.strides, result, steps, array.shape, argument)
        return result

    def resolved(self, indices: CudaArray, size: int, mode: str) -> CudaArray:
        return RESOLVERS[mode](self.stream, self.empty, indices, size)

    def destination(self, shape: Sequence[int], dtype: np.dtype[Any], out: ArrayLike | None) -> CudaArray:
        if out is None:
            return self.empty(shape, dtype)
        self._stream.device().note_capture(self._stream)
        view = self._imported(out, "out")
        check_result(view, shape, dtype, writable=view.writable)
        if view.strides is not None:
            check_distinct(view.shape, view.strides)
            return self.empty(shape, dtype)
        return out if isinstance(out, CudaArray) else self._flat(view)

    def delivered(self, result: CudaArray | ForeignArray, out: ArrayLike | None) -> Any:
        for handle in self._waiting:
            self._stream.let_wait(handle)
        if out is None:
            return self.as_buffer(result, "result")
        if out is result:
            return result
        # read again instead of kept: other calls may use this object
        view, source = self._imported(out, "out"), self._imported(result, "result")
        if not _is_same(source, view):
            steps = [each.strides or contiguous_strides(each.shape) for each in (source, view)]
            self._copy(self._flat(source), steps[0], self._flat(view), steps[1], view.shape, "out")
        if view.after is not None:
            self._stream.let_wait(view.after)
        return out

    def as_view(self, value: ArrayLike, argument: str) -> CudaArray | ForeignArray:
        if isinstance(value, CudaArray) or is_weak(value):
            return self.as_buffer(value, argument)
        array = self._imported(value, argument)
        if array.after is not None:
            self._waiting.add(array.after)
        return array

    def target(self, shape: Sequence[int], dtype: np.dtype[Any], out: ArrayLike) -> CudaArray | ForeignArray:
        self._stream.device().note_capture(self._stream)
        view = self._imported(out, "out")
        check_result(view, shape, dtype, writable=view.writable)
        if view.strides is not None:
            check_distinct(view.shape, view.strides)
        return view

    def view(
        self,
        array: CudaArray | ForeignArray,
        places: tuple[slice | int, ...] | None,
        axes: Sequence[int | None] | None,
        shape: Sequence[int] | None,
    ) -> ForeignArray:
        view = self._imported(array, "array")
        address, dims, strides = view.address, view.shape, view.strides or contiguous_strides(view.shape)
        if places is not None:
            found = [range(size)[one] for one, size in zip(places, dims, strict=True)]
            left = [(one, step) for one, step in zip(found, strides, strict=True) if isinstance(one, range)]
            starts = (one.start if isinstance(one, range) else one for one in found)
            offset = sum(start * step for start, step in zip(starts, strides, strict=True))
            address += offset * view.dtype.itemsize
            dims = tuple(len(one) for one, _ in left)
            strides = tuple(one.step * step for one, step in left)
        if axes is not None:
            dims = tuple(1 if axis is None else dims[axis] for axis in axes)
            strides = tuple(0 if axis is None else strides[axis] for axis in axes)
        if shape is not None:
            strides, dims = expanded_strides(dims, strides, len(shape)), tuple(shape)
        return view._replace(address=address, shape=dims, strides=strides)

    def may_share_memory(self, one: CudaArray | ForeignArray, other: CudaArray | ForeignArray) -> bool:
        (begin, end), (other_begin, other_end) = map(_span, (one, other))
        return begin < other_end and other_begin < end

    def is_same(self, one: CudaArray | ForeignArray, other: CudaArray | ForeignArray) -> bool:
        return _is_same(*(self._imported(each, "array") for each in (one, other)))

    def copy_from_host(self, array: np.ndarray[Any, Any]) -> CudaArray:
        source, stream = np.ascontiguousarray(array), self._stream
        result, device = self.empty(array.shape, array.dtype), stream.device()
        is_queued = not self.is_captured and device.host_copies.to_device(stream.handle, result.memory[0], source)
        if array.nbytes and not is_queued:
            driver, index = device.driver, stream.device_index
            driver.copy(index, result.memory[0], source.ctypes.data, source.nbytes, stream.handle)
            driver.synchronize_stream(index, stream.handle)  # not Sync: earlier errors do not belong to this call
        return result

    def filled(self, number: np.ndarray[Any, Any]) -> CudaArray:
        """Return the number as an array, filled by a launch: so the call does not wait and can be captured."""
        result = self.empty((), number.dtype)
        _fill(number.dtype).Launch(self._stream, result, number[()], 1)
        return result

    def copy_to_host(self, array: CudaArray) -> np.ndarray[Any, Any]:
        return array.copy_to_host()

    def begin_copy_to_host(self, array: CudaArray) -> Callable[[], np.ndarray[Any, Any]]:
        if not array.nbytes or self.is_captured:
            return super().begin_copy_to_host(array)
        stream = self._stream
        copies = stream.device().host_copies
        copy, wait = copies.from_device(stream.handle, array.memory[0], array.shape, array.dtype)

        def copied() -> np.ndarray[Any, Any]:
            stream.waited_for(wait)
            return copy

        return copied

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> CudaArray:
        """Return a new array of unknown contents."""
        stream, count = self._stream, math.prod(shape)
        address, owner = self._memory_at_home(stream, count * dtype.itemsize)
        memory = (address, count, dtype, True, True, stream.device_index, stream.order)
        return CudaArray(memory, tuple(shape), stream, owner)

    def within(self, memory: CudaArray, offset: int, shape: Sequence[int], dtype: np.dtype[Any]) -> CudaArray:
        part = (memory.memory[0] + offset, math.prod(shape), dtype, *memory.memory[3:])
        return CudaArray(part, tuple(shape), self._stream, memory)

    def _imported(self, value: ArrayLike, argument: str) -> ForeignArray:
        """Return the description of an array, and make the stream wait for earlier work on it; raises the errors of
        `as_buffer`."""
        index = self._stream.device_index
        array = read(value, argument, self._stream)
        if array is None:
            raise ArgumentTypeError(
                argument,
                f"must be an array on cuda:{index}, not {type(value).__qualname__}"
                f"{f' on {value.device}' if hasattr(value, 'device') else ''}; ep.ops.copy_to_device brings one there",
            )
        if native_dtype(array.dtype, argument) != array.dtype:
            raise ArgumentTypeError(argument, f"has dtype {array.dtype}, which is in the byte order of another machine")
        if array.device != index and 0 not in array.shape:
            raise ArgumentTypeError(argument, f"is on cuda:{array.device}, not on cuda:{index}")
        if array.strides is not None and min(array.strides) < 0:
            raise ArgumentValueError(argument, f"has negative strides {array.strides}; make it contiguous first")
        if array.before is not None:
            self._stream.wait_for(array.before)
        return array

    def _flat(self, array: ForeignArray) -> CudaArray:
        """Return the memory of an array, from its first element to its last."""
        if isinstance(array.owner, CudaArray):
            array.owner.share()  # the result does not say which stream uses the memory
        count = extent(array.shape, array.strides or contiguous_strides(array.shape))
        memory = (array.address, count, array.dtype, array.writable, True, array.device, None)
        return CudaArray(memory, array.shape, self._stream, array.owner)

    def _copy(
        self, src: CudaArray, src_strides: Dims, dst: CudaArray, dst_strides: Dims, shape: Dims, argument: str
    ) -> None:
        """Queue a copy of elements from strides to strides."""
        if not copy_strided(self._stream, shape, src, src_strides, dst, dst_strides):
            dims = simplify_strided(shape, src_strides, dst_strides).dims
            raise ArgumentValueError(
                argument,
                f"of shape {shape} has {len(dims)} axes that are not contiguous with each other; "
                f"at most {kMaxNumDims} can be copied, so make it contiguous first",
            )


def _span(array: CudaArray | ForeignArray) -> tuple[int, int]:
    """Return the addresses of an array's first byte and of the one after the last.

    Without elements, twice the first.
    """
    address, strides = (array.memory[0], None) if isinstance(array, CudaArray) else (array.address, array.strides)
    count = extent(array.shape, strides or contiguous_strides(array.shape))
    return address, address + count * array.dtype.itemsize


def _is_same(one: ForeignArray, other: ForeignArray) -> bool:
    """Return whether two arrays are the same elements in the same order."""
    return (one.address, one.shape, one.strides, one.dtype) == (other.address, other.shape, other.strides, other.dtype)


class _CudaDeviceArrays(DeviceArrays):
    """Arrays of any library on a GPU, of DLPack or with the CUDA array interface."""

    def recognises(self, value: Any) -> bool:
        return is_on_cuda(value)

    def index_of(self, value: Any) -> int:
        return device_of(value)

    def on(self, device_index: int) -> CudaArrays:
        return CudaArrays(device_index)


@cache
def _kept(device_index: int) -> CudaArrays:
    """The arrays of calls for which no stream must wait."""
    return CudaArrays(device_index)


ARRAYS: Final = _CudaDeviceArrays()
"""The arrays of CUDA devices."""


@cache
def _fill(dtype: np.dtype[Any]) -> Fill:
    return RequirePrimitive(FillFactory, DeviceType.kCUDA, dtype)
