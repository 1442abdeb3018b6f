"""The real driver: the only module that imports `cuda.bindings.driver`, when a device is first used."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

from ep.common.environment import CUDA_VISIBLE_DEVICES
from ep.common.lazy import lazy
from ep.common.native_lock import release_function
from ep.cuda.driver.cuda_graphs import CudaGraphs
from ep.cuda.driver.interface import CaptureError, CudaError, DeviceProperties, Driver, LaunchFunctions, ParameterBlock
from ep.cuda.driver.packages import version_of, why_no_compiler, why_no_kernels
from ep.include.device import kMaxAlignmentRequirement
from ep.include.process import Rank, exclusively, new_lock

_LIBRARY: Final = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"

_OUT_OF_MEMORY: Final = 2
_NO_DEVICE: Final = 100
_INVALID_CONTEXT: Final = 201
_NOT_CAPTURED: Final = 0, 0  # the result, and CU_STREAM_CAPTURE_STATUS_NONE
_INVALID_HANDLE: Final = 400
_NOT_READY: Final = 600
_CAPTURE_IMPLICIT: Final = 906
_KEEP_ALL: Final = 2**64 - 1
_SIGNATURES: Final = 12000  # the version of CUDA that has the signatures by which compiled code calls functions
_LAST_DEFAULT_STREAM: Final = 2  # handles up to this one mean a default stream of the current context


class _Current:
    """Context manager: makes a context the current one inside. All threads may share one, also nested."""

    __slots__ = ("_context", "_driver", "_pop", "_push")

    def __init__(self, driver: CudaDriver, context: Any) -> None:
        self._driver, self._context = driver, context
        self._push, self._pop = driver._cuda.cuCtxPushCurrent, driver._cuda.cuCtxPopCurrent

    def __enter__(self) -> None:
        (result,) = self._push(self._context)
        if result:
            self._driver._check(self._push, result)

    def __exit__(self, *failure: object) -> None:
        result, *_ = self._pop()
        if result:
            self._driver._check(self._pop, result)


class CudaDriver(Driver):
    """The CUDA driver. Every device is used through its primary context, which other frameworks share."""

    def __init__(self) -> None:
        self._contexts: dict[int, Any] = {}
        self._pools: dict[int, Any] = {}
        self._currents: dict[int, _Current] = {}
        self._bases: dict[int, int] = {}  # the addresses from CUDA of allocations that had to be aligned
        self._lock = new_lock(Rank.DRIVER)
        self._process = os.getpid()
        self.graphs = CudaGraphs(lambda: self._cuda, self._ask, self._current, self._not_captured)

    # what there is

    def why_unavailable(self) -> str | None:
        return self._found[1]

    def device_count(self) -> int:
        return self._found[0]

    @lazy
    def _found(self) -> tuple[int, str | None]:
        """Return the number of devices, and why there is none."""
        return exclusively(self._find)

    def _find(self) -> tuple[int, str | None]:
        if why := why_no_compiler():
            return 0, why
        try:
            ctypes.CDLL(_LIBRARY)  # first: without a driver, nothing else has to be imported
        except OSError as error:
            return 0, f"no NVIDIA driver was found ({error}); install one, or make {_LIBRARY} loadable"
        try:
            cuda = self._cuda
            result, *_ = cuda.cuInit(0)
        except Exception as error:  # a missing or older shared library, in the words of the package
            return 0, f"the NVIDIA driver cannot be used: {error}"
        if result == _NO_DEVICE:
            return 0, f"the NVIDIA driver finds no GPU{_visible_devices()}"
        if result:
            return 0, f"the NVIDIA driver cannot be used: {self._error('cuInit', result)}"
        needed = int((version_of("cuda-bindings") or "0").partition(".")[0])
        if self.version() < (needed, 0):
            newest = ".".join(map(str, self.version()))
            return 0, (
                f"the NVIDIA driver supports CUDA {newest}, and the installed CUDA packages need {needed}.0; "
                "install a newer driver"
            )
        count = self._ask(cuda.cuDeviceGetCount)
        if not count:
            return 0, f"the NVIDIA driver finds no GPU{_visible_devices()}"
        why = why_no_kernels()
        return 0 if why else count, why

    @lazy
    def _cuda(self) -> Any:
        def load() -> Any:
            from cuda.bindings import driver as cuda

            return cuda

        return exclusively(load)

    def version(self) -> tuple[int, int]:
        number = self._ask(self._cuda.cuDriverGetVersion)
        return number // 1000, number % 1000 // 10

    def properties(self, device: int) -> DeviceProperties:
        cuda = self._cuda
        handle = self._ask(cuda.cuDeviceGet, device)

        def attribute(name: str) -> int:
            which = getattr(cuda.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
            return int(self._ask(cuda.cuDeviceGetAttribute, which, handle))

        return DeviceProperties(
            name=self._ask(cuda.cuDeviceGetName, 256, handle).partition(b"\0")[0].decode(),
            compute_capability=(attribute("COMPUTE_CAPABILITY_MAJOR"), attribute("COMPUTE_CAPABILITY_MINOR")),
            multiprocessors=attribute("MULTIPROCESSOR_COUNT"),
            max_threads_per_multiprocessor=attribute("MAX_THREADS_PER_MULTIPROCESSOR"),
            max_threads_per_block=attribute("MAX_THREADS_PER_BLOCK"),
            total_memory=int(self._ask(cuda.cuDeviceTotalMem, handle)),
            memory_pools=bool(attribute("MEMORY_POOLS_SUPPORTED")),
            shared_bytes_per_block=attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
            shared_bytes_without_opt_in=attribute("MAX_SHARED_MEMORY_PER_BLOCK"),
        )

    # contexts

    def _context(self, device: int) -> Any:
        context = self._contexts.get(device)
        if context is None:
            cuda = self._cuda
            with self._lock:
                if device not in self._contexts:
                    handle = self._ask(cuda.cuDeviceGet, device)
                    # never released: it exists as long as the process
                    self._contexts[device] = self._ask(cuda.cuDevicePrimaryCtxRetain, handle)
                context = self._contexts[device]
        return context

    def _current(self, device: int) -> _Current:
        """Context manager: the device's context is the thread's current one inside; the former one is restored
        afterwards."""
        current = self._currents.get(device)
        if current is None:
            current = self._currents[device] = _Current(self, self._context(device))
        return current

    def active(self, device: int) -> AbstractContextManager[None]:
        return self._current(device)

    @contextmanager
    def _not_captured(self) -> Iterator[None]:
        """Context manager: calls inside are not part of a captured graph, and do not end the capture."""
        exchange = self._cuda.cuThreadExchangeStreamCaptureMode
        former = self._ask(exchange, self._cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
        try:
            yield
        finally:
            self._ask(exchange, former)

    def _in(self, device: int, function: Any, *arguments: Any) -> Any:
        with self._current(device):
            return self._ask(function, *arguments)

    def current_device(self) -> int:
        result, *values = self._cuda.cuCtxGetDevice()
        if result == _INVALID_CONTEXT:  # no context is current
            return 0
        self._check(self._cuda.cuCtxGetDevice, result)
        return int(values[0])

    def set_current_device(self, device: int) -> None:
        self._ask(self._cuda.cuCtxSetCurrent, self._context(device))

    def synchronize(self, device: int) -> None:
        self._in(device, self._cuda.cuCtxSynchronize)

    # memory

    def memory_info(self, device: int) -> tuple[int, int]:
        free, total = self._in(device, self._cuda.cuMemGetInfo)
        return int(free), int(total)

    def alloc(self, device: int, size: int) -> int:
        with self._current(device), self._not_captured():
            return self._aligned(size, lambda more: self._ask(self._cuda.cuMemAlloc, more), self._cuda.cuMemFree)

    def free(self, device: int, address: int) -> None:
        with self._current(device), self._not_captured():
            self._ask(self._cuda.cuMemFree, self._bases.pop(address, address))

    def alloc_async(self, device: int, size: int, stream: int) -> int:
        cuda, pool = self._cuda, self._pool(device)
        with self._current(device):
            return self._aligned(
                size,
                lambda more: self._ask(cuda.cuMemAllocFromPoolAsync, more, pool, stream),
                lambda address: cuda.cuMemFreeAsync(address, stream),
            )

    def free_async(self, device: int, address: int, stream: int) -> None:
        self._in(device, self._cuda.cuMemFreeAsync, self._bases.pop(address, address), stream)

    def trim(self, device: int) -> None:
        if device in self._pools:
            with self._current(device), self._not_captured():
                self._ask(self._cuda.cuMemPoolTrimTo, self._pools[device], 0)

    def _pool(self, device: int) -> Any:
        """Return the memory pool of `alloc_async`.

        It is separate from the device's default pool, which other libraries use.

        It keeps freed memory; otherwise a pool would free it at each synchronisation, and allocate it again.
        """
        pool = self._pools.get(device)
        if pool is None:
            cuda = self._cuda
            with self._current(device), self._not_captured(), self._lock:
                if device not in self._pools:
                    properties = cuda.CUmemPoolProps()
                    properties.allocType = cuda.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
                    properties.location.type = cuda.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
                    properties.location.id = device
                    pool = self._ask(cuda.cuMemPoolCreate, properties)
                    threshold = cuda.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
                    self._ask(cuda.cuMemPoolSetAttribute, pool, threshold, cuda.cuuint64_t(_KEEP_ALL))
                    self._pools[device] = pool
                pool = self._pools[device]
        return pool

    def _aligned(self, size: int, allocate: Callable[[int], Any], free: Callable[[int], Any]) -> int:
        """Return an address with the alignment that `alloc` promises.

        CUDA promises 256 bytes but aligns to 512, so this rarely has to change anything.
        """
        base = int(allocate(size))
        if base % kMaxAlignmentRequirement == 0:
            return base
        free(base)
        base = int(allocate(size + kMaxAlignmentRequirement))
        address = base + -base % kMaxAlignmentRequirement
        self._bases[address] = base
        return address

    def alloc_host(self, device: int, size: int) -> int:
        flags = self._cuda.CU_MEMHOSTALLOC_PORTABLE | self._cuda.CU_MEMHOSTALLOC_DEVICEMAP
        with self._current(device), self._not_captured():
            return int(self._ask(self._cuda.cuMemHostAlloc, size, flags))  # whole pages

    def free_host(self, device: int, address: int) -> None:
        with self._current(device), self._not_captured():
            self._ask(self._cuda.cuMemFreeHost, address)

    def copy(self, device: int, dst: int, src: int, size: int, stream: int) -> None:
        self._in(device, self._cuda.cuMemcpyAsync, dst, src, size, stream)

    def fill(self, device: int, dst: int, byte: int, size: int, stream: int) -> None:
        self._in(device, self._cuda.cuMemsetD8Async, dst, byte, size, stream)

    def device_of(self, address: int) -> int | None:
        ordinal = self._cuda.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        result, *values = self._cuda.cuPointerGetAttribute(ordinal, address)
        return None if result else int(values[0])  # an error means that CUDA does not know the memory

    # streams and events

    def device_of_stream(self, stream: int) -> int:
        if stream <= _LAST_DEFAULT_STREAM:
            return self.current_device()
        return int(self._ask(self._cuda.cuStreamGetDevice, stream))

    def create_stream(self, device: int) -> int:
        return int(self._in(device, self._cuda.cuStreamCreate, self._cuda.CUstream_flags.CU_STREAM_DEFAULT.value))

    def destroy_stream(self, device: int, stream: int) -> None:
        with self._current(device), self._not_captured():
            self._ask(self._cuda.cuStreamDestroy, stream)

    def synchronize_stream(self, device: int, stream: int) -> None:
        self._in(device, self._cuda.cuStreamSynchronize, stream)

    def query_stream(self, device: int, stream: int) -> bool:
        return self._is_done(device, self._cuda.cuStreamQuery, stream)

    def is_capturing(self, device: int, stream: int) -> bool:
        result, *values = self._is_captured(stream) if stream > _LAST_DEFAULT_STREAM else (_INVALID_CONTEXT,)
        if result == _INVALID_CONTEXT:  # a new thread has no context, and a default stream belongs to a context
            with self._current(device):
                result, *values = self._is_captured(stream)
        if result == _CAPTURE_IMPLICIT:  # the legacy stream, while a stream that it waits for is captured
            return True
        if result:
            self._check(self._cuda.cuStreamIsCapturing, result)
        return bool(values[0] != self._cuda.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE)

    @lazy
    def _is_captured(self) -> Any:
        return self._cuda.cuStreamIsCapturing

    def capture_of(self, device: int, stream: int) -> int:
        if stream <= _LAST_DEFAULT_STREAM or self._is_captured(stream) == _NOT_CAPTURED:
            return 0
        if not self.is_capturing(device, stream):
            return 0
        status, number, *_ = self._in(device, self._cuda.cuStreamGetCaptureInfo, stream)
        if status != self._cuda.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_ACTIVE:
            raise CaptureError("the capture of launches into a CUDA graph is invalid already; end it")
        return int(number)

    def watch_graph(self, device: int, stream: int, lock: int) -> None:
        cuda = self._cuda
        # called by a thread of CUDA, which must not wait for Python
        release = release_function()
        flag = cuda.CUuserObject_flags.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC
        with self._current(device):
            _, _, graph, *_ = self._ask(cuda.cuStreamGetCaptureInfo, stream)
            watcher = self._ask(cuda.cuUserObjectCreate, lock, cuda.CUhostFn(release), 1, flag.value)
            moved = cuda.CUuserObjectRetain_flags.CU_GRAPH_USER_OBJECT_MOVE
            self._ask(cuda.cuGraphRetainUserObject, graph, watcher, 1, moved.value)

    def wait_event(self, device: int, stream: int, event: int) -> None:
        self._in(device, self._cuda.cuStreamWaitEvent, stream, event, 0)

    def wait_stream(self, device: int, consumer: int, producer: int, event: int) -> None:
        with self._current(device):
            self._ask(self._cuda.cuEventRecord, event, producer)
            self._ask(self._cuda.cuStreamWaitEvent, consumer, event, 0)

    def create_event(self, device: int, *, timing: bool = True) -> int:
        kinds = self._cuda.CUevent_flags
        flags = kinds.CU_EVENT_DEFAULT if timing else kinds.CU_EVENT_DISABLE_TIMING
        return int(self._in(device, self._cuda.cuEventCreate, flags.value))

    def destroy_event(self, device: int, event: int) -> None:
        self._in(device, self._cuda.cuEventDestroy, event)

    def record_event(self, device: int, event: int, stream: int) -> None:
        self._in(device, self._cuda.cuEventRecord, event, stream)

    def query_event(self, device: int, event: int) -> bool:
        return self._is_done(device, self._cuda.cuEventQuery, event)

    def synchronize_event(self, device: int, event: int) -> None:
        self._in(device, self._cuda.cuEventSynchronize, event)

    def elapsed_milliseconds(self, device: int, start: int, end: int) -> float:
        return float(self._in(device, self._cuda.cuEventElapsedTime, start, end))

    # kernels

    def load_function(self, device: int, image: bytes, name: str) -> int:
        cuda = self._cuda
        with self._current(device), self._not_captured():
            library = self._ask(cuda.cuLibraryLoadData, image, None, None, 0, None, None, 0)
            # a kernel, unlike a function, is launched in the context of the stream, whichever is current
            kernel = self._ask(cuda.cuLibraryGetKernel, library, name.encode())
            # loaded now and not by the first launch, which may be captured
            self._ask(cuda.cuFuncLoad, self._ask(cuda.cuKernelGetFunction, kernel))
        return int(kernel)

    def launch_functions(self) -> LaunchFunctions | None:
        return self._launch_functions

    @lazy
    def _launch_functions(self) -> LaunchFunctions:
        cuda = self._cuda
        default = cuda.CUdriverProcAddress_flags.CU_GET_PROC_ADDRESS_DEFAULT.value

        def address_of(name: str) -> int:
            address, _ = self._ask(cuda.cuGetProcAddress, name.encode(), _SIGNATURES, default)
            return int(address)

        return LaunchFunctions(*map(address_of, LaunchFunctions._fields))

    def context_word(self, device: int) -> int:
        return int(self._context(device))

    def static_shared(self, device: int, function: int) -> int:
        cuda = self._cuda
        which = cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
        return int(self._ask(cuda.cuKernelGetAttribute, which, function, self._ask(cuda.cuDeviceGet, device)))

    def opt_in_shared(self, device: int, function: int, size: int) -> None:
        cuda = self._cuda
        which = cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        with self._current(device), self._not_captured():
            self._ask(cuda.cuKernelSetAttribute, which, size, function, self._ask(cuda.cuDeviceGet, device))

    def max_active_blocks(self, device: int, function: int, block_threads: int, shared_bytes: int = 0) -> int:
        occupancy = self._cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor
        return int(self._in(device, occupancy, function, block_threads, shared_bytes))

    @lazy
    def _launch(self) -> Any:
        return self._cuda.cuLaunchKernel

    def launch(
        self,
        device: int,
        function: int,
        grid: Sequence[int],
        block: Sequence[int],
        shared_bytes: int,
        stream: int,
        parameters: ParameterBlock,
    ) -> None:
        if stream > _LAST_DEFAULT_STREAM:
            (result,) = self._launch(function, *grid, *block, shared_bytes, stream, parameters.address, 0)
            if not result:
                return
            if result not in (_INVALID_CONTEXT, _INVALID_HANDLE):
                raise self._error("cuLaunchKernel", result)
        # a default stream belongs to the current context, and a new thread has none
        self._in(device, self._launch, function, *grid, *block, shared_bytes, stream, parameters.address, 0)

    # results

    def _ask(self, function: Any, *arguments: Any) -> Any:
        """Call a function of the driver and return its value: None, the one value, or a list of several."""
        result, *values = function(*arguments)
        if result:
            self._check(function, result)
        return values[0] if len(values) == 1 else values or None

    def _check(self, function: Any, result: Any) -> None:
        if result == _OUT_OF_MEMORY:
            raise MemoryError(f"{function.__name__}: out of memory")
        if result:
            raise self._error(function.__name__, result)

    def _is_done(self, device: int, function: Any, handle: int) -> bool:
        with self._current(device):
            result, *_ = function(handle)
        if result != _NOT_READY:
            self._check(function, result)
        return bool(result != _NOT_READY)

    def _error(self, what: str, result: Any) -> CudaError:
        def text(function: Any) -> str:
            failed, answer = function(result)
            return "unknown" if failed or answer is None else answer.decode()

        meaning = text(self._cuda.cuGetErrorString)
        if os.getpid() != self._process:
            meaning += "; a process that was forked from one that used CUDA cannot use it: start it by 'spawn'"
        return CudaError(what, int(result), text(self._cuda.cuGetErrorName), meaning)


def _visible_devices() -> str:
    """Return the setting that hides devices, for an error."""
    visible = CUDA_VISIBLE_DEVICES.value()
    return "" if visible is None else f" ({CUDA_VISIBLE_DEVICES.name} is {visible!r})"
