"""CUDA streams: of ep, or of another framework."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final, TypeVar

from ep.common.checks import as_integer, as_size
from ep.common.lazy import lazy
from ep.cuda.device.buffer import Allocation, CudaBuffer
from ep.cuda.device.device_of_stream import DeviceOfStream
from ep.cuda.device.event import check_event
from ep.cuda.device.slots import StreamSlots, StreamState
from ep.cuda.driver.current import driver
from ep.cuda.driver.interface import LEGACY_STREAM, PER_THREAD_STREAM, CudaError
from ep.include.allocation_options import AllocationOptions
from ep.include.buffer import Buffer
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.errors import ArgumentTypeError, ArgumentValueError
from ep.include.event import Event
from ep.include.stream import Stream

_WORKSPACE: Final = 2**23
_LARGE_WORKSPACE: Final = 2**25  # NVIDIA's recommendation for Hopper and newer devices
_LARGE_FROM: Final = (9, 0)
_MOST_KEPT: Final = 2**24
"""The most bytes of scratch memory that a stream keeps. A launch that needs more runs for longer than its Python."""
_LEAST_KEPT: Final = 2**16


T = TypeVar("T")


class CudaStream(StreamSlots, Stream):
    """A stream of a CUDA device; `handle` is its CUstream, and `device_index` the number of the device.

    Streams from `Device.CreateStream` and the legacy default stream wait for each other, as CUDA's do by default, so
    work of other frameworks on the default stream is ordered with them. `Sync` and `GetAsyncError` report errors of
    queued work, each once. After an error of the device itself, such as an invalid memory access, the process cannot
    use the device any more, and all further calls fail.
    """

    _owned = False  # for __del__ if the constructor fails or is interrupted
    is_recording = False
    """Whether `add_kernel` records the kernels that are queued."""

    def __init__(self, device: DeviceOfStream, handle: int, *, owned: bool) -> None:
        """owned: whether the stream is destroyed with this object; `Device.CreateStream` and `from_handle` know."""
        self.handle, self.device_index = handle, device.device_index()
        self.order = handle
        """The handle of the stream in whose order the work is done: another one if a graph captures it for that."""
        self._token = object()
        self._state = StreamState(handle=handle, is_owned=owned).words
        self._scratch: Any = None  # what keeps the scratch memory
        self._kept_bytes = 0  # of it
        self._scratch_turn = {0: True}  # empty while Python uses the memory; a dict's pop is one step for all threads
        self._device, self._driver, self._owned = device, device.driver, owned
        self._report = device.reports.of(handle)
        self._seen: int | None = None  # the error of the device that was already reported
        self._graph_workspace = 0, 0  # of a capture: the graph keeps the memory

    @classmethod
    def from_handle(cls, stream: Any, device_index: int | None = None) -> CudaStream:
        """Return the stream of another framework, by its pointer or by an object with `__cuda_stream__`.

        For PyTorch this is `torch.cuda.current_stream().cuda_stream`. 0 and 1 are the legacy default stream of device
        `device_index`, or else of the calling thread's current device. The framework still owns the stream, which must
        exist as long as the returned object, and the object must exist until its work is done. Raises ValueError for a
        stream of another device than `device_index`, and for 2, the per-thread default stream.
        """
        if type(stream) is not int and hasattr(stream, "__cuda_stream__"):
            stream = stream.__cuda_stream__()[1]
        handle = as_integer(stream, "stream") or LEGACY_STREAM
        if handle < 0:
            raise ArgumentValueError("stream", f"is {handle}; it must be a pointer")
        if handle == PER_THREAD_STREAM:  # from another thread, a fence could neither reach it nor identify its work
            raise ArgumentValueError(
                "stream",
                "is 2, the per-thread default stream, which is another one in each thread; launch on a stream "
                "from CreateStream, or of the framework, that is the same in all threads",
            )
        if device_index is None or handle > LEGACY_STREAM:
            DeviceManagerRegistry.GetDevice(DeviceType.kCUDA, device_index or 0)  # says what is missing, if anything
            of_stream = driver().device_of_stream(handle)
            if device_index not in (None, of_stream):
                raise ArgumentValueError("stream", f"is one of cuda:{of_stream}, not of cuda:{device_index}")
            device_index = of_stream
        device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCUDA, device_index)
        wrapped: CudaStream = device.adopt(handle)
        return wrapped

    def device(self) -> DeviceOfStream:
        return self._device

    def Sync(self) -> None:
        self.waited_for(partial(self._driver.synchronize_stream, self.device_index, self.handle))

    def waited_for(self, wait: Callable[[], None]) -> None:
        """Wait for some of the work, by a function; raise the errors that are known then, as `Sync` does."""
        try:
            wait()
        except CudaError as error:
            self._seen = error.code
            raise
        if reported := self._report.take():
            raise reported

    def GetAsyncError(self) -> Exception | None:
        try:
            if not self.is_capturing():  # a query about its work would end the capture
                self._driver.query_stream(self.device_index, self.handle)
        except CudaError as error:
            if error.code != self._seen:
                self._seen = error.code
                return error
        return self._report.take()

    @property
    def report_address(self) -> int:
        """The address at which kernels on this stream report errors: int64 words as `ErrorReport` has them."""
        return self._report.address

    def RecordEvent(self, event: Event) -> None:
        check_event(event).Record(self.handle)

    def WaitEvent(self, event: Event) -> None:
        self._driver.wait_event(self.device_index, self.handle, check_event(event).handle)

    def wait_for(self, producer: int) -> None:
        """Make work queued later wait for the work queued on the stream with the handle `producer`."""
        if (producer or LEGACY_STREAM) == self.handle or self._is_in_order_with(producer):
            return
        # a graph cannot wait for work outside of it, and trying to would end the capture; the work queued before
        # the graph is in order with the stream that it is launched on
        if self.is_capturing() and (
            producer <= PER_THREAD_STREAM or not self._driver.is_capturing(self.device_index, producer)
        ):
            return
        self._device.let_wait(self.handle, producer)

    def _is_in_order_with(self, other: int) -> bool:
        """Return whether CUDA orders a stream with this one: the default stream with those of `CreateStream`."""
        return self._owned and other <= LEGACY_STREAM

    def let_wait(self, consumer: int) -> None:
        """Make work queued later on the stream with the handle `consumer` wait for the work queued on this one.

        It does nothing if one of them is captured and the other is not. Work after the graph is ordered with the stream
        of its launch; a stream of another framework does not join a capture implicitly.
        """
        if (consumer or LEGACY_STREAM) == self.handle or self._is_in_order_with(consumer):
            return
        captured = self.is_capturing()
        if captured and consumer <= LEGACY_STREAM:  # it is never captured, whatever the driver returns
            return
        if captured == self._driver.is_capturing(self.device_index, consumer):
            self._device.let_wait(consumer, self.handle)

    @property
    def shared_bytes(self) -> int:
        """The largest shared memory of a block of its launches."""
        return self._device.properties.shared_bytes_per_block

    def is_capturing(self) -> bool:
        """Return whether launches are being captured into a CUDA graph."""
        return self._driver.is_capturing(self.device_index, self.handle)

    @property
    def workspace_size(self) -> int:
        """The bytes of `workspace`, the same for all streams of a device."""
        is_large = self._device.properties.compute_capability >= _LARGE_FROM
        return _LARGE_WORKSPACE if is_large else _WORKSPACE

    def workspace(self) -> int:
        """Return the address of the workspace that libraries use for successive launches on this stream.

        It is allocated at the first call. A graph has a separate one, since it may run at the same time as this stream.
        """
        capture = self._driver.capture_of(self.device_index, self.handle)
        if capture:
            if self._graph_workspace[0] != capture:
                self._graph_workspace = capture, self._device.alloc_on(self, self.workspace_size).address
            return self._graph_workspace[1]
        return self.own_workspace()

    def own_workspace(self) -> int:
        """Return the address of the workspace that is not of a graph."""
        return self._workspace.address

    @lazy
    def _workspace(self) -> CudaBuffer:
        return self._device.Alloc(AllocationOptions(), self.workspace_size)

    def AllocAsync(self, size: int) -> CudaBuffer:
        number = as_size(size, "size")
        if not number or not self._device.IsStreamOrderedMemoryAllocationSupported():
            return self._device.alloc_on(self, number)
        address = self._device.with_room(
            number, lambda: self._driver.alloc_async(self.device_index, number, self.handle)
        )

        def release() -> None:  # unless FreeAsync was called before
            with suppress(CudaError):
                if self.handle < 0:  # the stream was destroyed
                    self._device.free_at_once(address)
                else:
                    self._driver.free_async(self.device_index, address, self.handle)

        return self._device.buffer(number, Allocation(address, release, self))

    def FreeAsync(self, buffer: Buffer) -> None:
        if not isinstance(buffer, CudaBuffer):
            raise ArgumentTypeError("buffer", f"must be a buffer from AllocAsync, not {buffer!r}")
        if buffer.allocation.stream is None:
            self._device.Free(AllocationOptions(), buffer)
            return
        if buffer.allocation.take_release() is None:
            raise ValueError(f"{buffer!r} was freed already")
        self._driver.free_async(self.device_index, buffer.allocation.address, self.handle)

    @contextmanager
    def scratch(self, size: int) -> Iterator[CudaBuffer]:
        """Context manager: memory for the work queued inside the block; later work may reuse it."""
        memory = self.AllocAsync(size)
        try:
            yield memory
        finally:
            self.FreeAsync(memory)

    def add_kernel(
        self, function: int, blocks: Sequence[int], threads: Sequence[int], shared_bytes: int, words: tuple[int, ...]
    ) -> None:
        """Record a kernel that is queued, if the stream `is_recording`."""

    def fill(self, address: int, byte: int, size: int) -> None:
        """Queue setting `size` bytes of device memory to `byte`."""
        self._driver.fill(self.device_index, address, byte, size, self.handle)

    def copy(self, dst: int, src: int, size: int) -> None:
        """Queue a copy of `size` bytes between any two places, on the host or on a device."""
        self._driver.copy(self.device_index, dst, src, size, self.handle)

    @contextmanager
    def kept_scratch(self, size: int) -> Iterator[int | None]:
        """Context manager: the address of at least `size` bytes that the stream keeps, for one launch alone.

        None if another launch uses them, the stream is being captured, or so many bytes are not kept. Launches take
        turns, since the stream does its work in order.
        """
        if size > _MOST_KEPT or self.is_capturing():
            yield None
            return
        with self._scratch_alone() as alone:
            if alone and self._kept_bytes < size:
                self._scratch, self._kept_bytes = None, 0
                with suppress(MemoryError):
                    more = max(size, _LEAST_KEPT)
                    self._state[StreamState.scratch], self._scratch = self._device.memory_on(self, more)
                    self._kept_bytes = more
            yield int(self._state[StreamState.scratch]) if alone and self._kept_bytes >= size else None

    def drop_scratch(self) -> None:
        """Free the scratch memory, unless a launch is being queued that uses it."""
        with self._scratch_alone() as alone:
            if alone:
                self._scratch, self._kept_bytes = None, 0

    @contextmanager
    def _scratch_alone(self) -> Iterator[bool]:
        """Context manager: whether no launch uses the scratch memory; none begins to inside the block."""
        taken = False
        try:
            if taken := self._scratch_turn.pop(0, False):
                self._state[StreamState.scratch_bytes] = 0  # compiled launches take no turn: they find too little now
            yield taken and not self._state[StreamState.scratch_in_use]  # by a compiled launch that began before
        finally:
            if taken:
                self._state[StreamState.scratch_bytes] = self._kept_bytes
                self._scratch_turn[0] = True

    def destroy(self) -> None:
        """Wait for the stream's work and destroy its resources; the stream must not be used again."""
        handle, self.handle = self.handle, -1
        self._state[StreamState.handle] = -1
        if handle < 0:
            return
        try:
            self._driver.synchronize_stream(self.device_index, handle)
        finally:
            self.__dict__.pop("_workspace", None)
            self._scratch = None
            self._report.take()  # the next stream with this handle starts without
            if self._owned:
                self._driver.destroy_stream(self.device_index, handle)

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # the other framework's stream may be destroyed already; at the end of the process, globals of this module too
        if self._owned and not is_finalizing():
            handle, self.handle = self.handle, -1
            if handle >= 0:
                self._device.leave_stream(handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of the stream protocol of other libraries, and the handle."""
        return 0, self.handle

    def __repr__(self) -> str:
        return f"<CudaStream {self.handle:#x} of {self._device!r}>"


def check_stream(stream: Any) -> CudaStream:
    """Return `stream`; TypeError if it is not a stream of a CUDA device."""
    if not isinstance(stream, CudaStream):
        raise ArgumentTypeError("stream", f"must be a stream of a CUDA device, not {stream!r}")
    return stream
