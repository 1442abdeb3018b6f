"""The part of CUDA that the device layer calls, in plain integers.

Addresses, streams, events and contexts are integers; a `function` is opaque: it comes from `load_function` and
goes to `launch` and `max_active_blocks`. Every method takes the device's index first and leaves the calling thread's
current context as it was, so nothing here disturbs another framework.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ep.cuda.driver.graphs import Graphs

LEGACY_STREAM: Final = 1
"""The handle of the default stream that waits for all blocking streams; 0 names it too."""
PER_THREAD_STREAM: Final = 2
"""The handle of the calling thread's own default stream."""


class CaptureError(RuntimeError):
    """Raised for an operation that is not possible during the capture of a CUDA graph. The capture is not affected."""


class CudaError(RuntimeError):
    """An error of the CUDA driver; `code` is its CUresult, `name` that result's name."""

    def __init__(self, what: str, code: int, name: str, meaning: str) -> None:
        """what: the driver's function, or the failed work; meaning: the driver's own words."""
        super().__init__(what, code, name, meaning)  # all of them: a copy, in another process too, is made of these
        self.code, self.name = code, name

    def __str__(self) -> str:
        what, code, name, meaning = self.args
        return f"{what}: {meaning} ({name}, error {code})"


@dataclass(frozen=True)
class DeviceProperties:
    """The properties of a device that launches and reports need."""

    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    max_threads_per_multiprocessor: int
    max_threads_per_block: int
    total_memory: int
    memory_pools: bool
    """Whether `alloc_async` is supported."""
    shared_bytes_per_block: int
    """The largest shared memory of a block, static and dynamic together."""
    shared_bytes_without_opt_in: int
    """That of a kernel which has not opted in to more: see `opt_in_shared`."""


class LaunchFunctions(NamedTuple):
    """The addresses of C functions of the driver, as CUDA declares them. They may be called without the GIL."""

    cuLaunchKernel: int
    cuStreamIsCapturing: int
    cuCtxGetCurrent: int
    cuCtxPushCurrent: int
    cuCtxPopCurrent: int
    cuPointerGetAttribute: int


class ParameterBlock:
    """The parameters of one launch: `count` words of 8 bytes, and the table of their addresses that CUDA reads.

    Every parameter takes one word: pointers and 64-bit values all of it, 32-bit integers and float32 its first four
    bytes (`struct.pack_into` on `words` writes either). A launch has copied the words when it returns, so a block may
    be written again at once, but only by one thread at a time.
    """

    def __init__(self, count: int) -> None:
        """A block of `count` words, all zero."""
        import ctypes

        self.count = count
        self._storage = (ctypes.c_int64 * max(count, 1))()
        self.words = memoryview(self._storage).cast("B").cast("q")
        first = ctypes.addressof(self._storage)
        self._table = (ctypes.c_void_p * max(count, 1))(*range(first, first + 8 * max(count, 1), 8))
        self.address: int = ctypes.addressof(self._table)


class Driver(ABC):
    """CUDA on this machine. Methods raise CudaError; those that allocate raise MemoryError if there is no room."""

    is_there: bool = True
    """Whether kernels can run; otherwise they are only compiled."""

    loads_ptx: bool = False
    """Whether kernels are loaded as PTX, by a driver that does not run machine code."""

    graphs: Graphs
    """The graphs of a driver that is there."""

    @abstractmethod
    def why_unavailable(self) -> str | None:
        """Return the reason why there is no device, in words for a user; None if there is one."""

    @abstractmethod
    def device_count(self) -> int:
        """The number of devices; if it is 0, `why_unavailable` says why."""

    @abstractmethod
    def version(self) -> tuple[int, int]:
        """The newest CUDA version that the driver supports."""

    @abstractmethod
    def properties(self, device: int) -> DeviceProperties:
        """Return the properties of the device."""

    @abstractmethod
    def current_device(self) -> int:
        """The device of the calling thread's current context; 0 if it has none."""

    @abstractmethod
    def set_current_device(self, device: int) -> None:
        """Make the device's primary context the calling thread's current one."""

    @abstractmethod
    def active(self, device: int) -> AbstractContextManager[None]:
        """Context manager: the device's primary context is the calling thread's current one, for libraries that use
        it."""

    @abstractmethod
    def synchronize(self, device: int) -> None:
        """Wait until all work on the device is done."""

    # memory

    @abstractmethod
    def memory_info(self, device: int) -> tuple[int, int]:
        """The free bytes of device memory, and all bytes."""

    @abstractmethod
    def alloc(self, device: int, size: int) -> int:
        """The address of `size` > 0 new bytes of device memory, aligned to 512."""

    @abstractmethod
    def free(self, device: int, address: int) -> None:
        """Free memory from `alloc` that no work uses any more."""

    @abstractmethod
    def alloc_async(self, device: int, size: int, stream: int) -> int:
        """The address of `size` > 0 bytes of device memory for work queued later on `stream`."""

    @abstractmethod
    def free_async(self, device: int, address: int, stream: int) -> None:
        """Queue the freeing of memory from `alloc_async`, which keeps it for the next call: see `trim`."""

    @abstractmethod
    def trim(self, device: int) -> None:
        """Free the memory that `alloc_async` keeps and that no work uses any more."""

    @abstractmethod
    def alloc_host(self, device: int, size: int) -> int:
        """The address of `size` > 0 bytes of page-locked host memory, which is its address on the device too."""

    @abstractmethod
    def free_host(self, device: int, address: int) -> None:
        """Free memory from `alloc_host` that no work uses any more."""

    @abstractmethod
    def copy(self, device: int, dst: int, src: int, size: int, stream: int) -> None:
        """Queue a copy of `size` bytes between any two places, on the host or on a device."""

    @abstractmethod
    def fill(self, device: int, dst: int, byte: int, size: int, stream: int) -> None:
        """Queue setting `size` bytes of device memory to `byte`."""

    @abstractmethod
    def device_of(self, address: int) -> int | None:
        """The device of memory that CUDA manages, also page-locked memory; None for other host memory."""

    # streams and events

    @abstractmethod
    def device_of_stream(self, stream: int) -> int:
        """The device of any framework's stream; that of the current context for a default stream."""

    @abstractmethod
    def create_stream(self, device: int) -> int:
        """A new stream; it and the legacy default stream wait for each other."""

    @abstractmethod
    def destroy_stream(self, device: int, stream: int) -> None:
        """Destroy a stream from `create_stream`; work queued on it still runs."""

    @abstractmethod
    def synchronize_stream(self, device: int, stream: int) -> None:
        """Wait until the stream's work is done; raises the error of work that failed."""

    @abstractmethod
    def query_stream(self, device: int, stream: int) -> bool:
        """Whether the stream's work is done; raises the error of work that failed."""

    @abstractmethod
    def is_capturing(self, device: int, stream: int) -> bool:
        """Whether work on the stream is captured in a CUDA graph instead of run."""

    @abstractmethod
    def capture_of(self, device: int, stream: int) -> int:
        """The number of the stream's capture, unique in this process; 0 for none."""

    @abstractmethod
    def watch_graph(self, device: int, stream: int, lock: int) -> None:
        """Release a lock of Python's C API when the graph that is captured on the stream is gone.

        Gone means that it and all graphs instantiated from it were destroyed, and that their work is done.
        """

    @abstractmethod
    def wait_event(self, device: int, stream: int, event: int) -> None:
        """Make work queued later on `stream` wait for `event`."""

    @abstractmethod
    def wait_stream(self, device: int, consumer: int, producer: int, event: int) -> None:
        """Make work queued later on one stream wait for the work queued on another, by `event`, which is recorded."""

    @abstractmethod
    def create_event(self, device: int, *, timing: bool = True) -> int:
        """A new event; one without timing costs less."""

    @abstractmethod
    def destroy_event(self, device: int, event: int) -> None:
        """Destroy an event."""

    @abstractmethod
    def record_event(self, device: int, event: int, stream: int) -> None:
        """Queue the event on a stream."""

    @abstractmethod
    def query_event(self, device: int, event: int) -> bool:
        """Whether the event is done, or was never recorded."""

    @abstractmethod
    def synchronize_event(self, device: int, event: int) -> None:
        """Wait until the event is done."""

    @abstractmethod
    def elapsed_milliseconds(self, device: int, start: int, end: int) -> float:
        """The time from `start` to `end`, both of which are recorded and done."""

    # kernels

    @abstractmethod
    def load_function(self, device: int, image: Any, name: str) -> Any:
        """Load a kernel so that a launch need not, and return the function.

        image: a cubin, or PTX if the driver `loads_ptx`.
        """

    def function_word(self, function: Any) -> int:
        """Return a function from `load_function` in the form that `launch_functions` take."""
        return int(function)

    def launch_functions(self) -> LaunchFunctions | None:
        """Return the functions that compiled code launches by; None if there are none."""
        return None

    def context_word(self, device: int) -> int:
        """Return the device's primary context in the form that `launch_functions` take."""
        return 0

    @abstractmethod
    def static_shared(self, device: int, function: Any) -> int:
        """Return the bytes of shared memory that each block of the function has, whatever a launch asks for."""

    @abstractmethod
    def opt_in_shared(self, device: int, function: Any, size: int) -> None:
        """Allow launches of the function to ask for `size` bytes of dynamic shared memory: CUDA's opt-in.

        With the static ones they may be as many as `shared_bytes_per_block`. The stream may be captured.
        """

    @abstractmethod
    def max_active_blocks(self, device: int, function: Any, block_threads: int, shared_bytes: int = 0) -> int:
        """Return the number of blocks of `block_threads` threads that one multiprocessor holds at a time."""

    @abstractmethod
    def launch(
        self,
        device: int,
        function: Any,
        grid: Sequence[int],
        block: Sequence[int],
        shared_bytes: int,
        stream: int,
        parameters: ParameterBlock,
    ) -> None:
        """Queue a kernel. grid, block: x, y and z. Nothing is allocated or waited for, so it can be captured."""
