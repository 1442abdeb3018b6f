"""The machine as a device: a GPU whose memory is the host's, and which does all work at once."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import numpy as np

from ep.cuda.driver.interface import (
    PER_THREAD_STREAM,
    CudaError,
    DeviceProperties,
    Driver,
    LaunchFunctions,
    ParameterBlock,
)
from ep.cuda.driver.packages import version_of, why_no_kernels
from ep.include.device import kMaxAlignmentRequirement
from ep.include.process import Rank, new_lock
from tests.cuda.ptx_machine.graphs import HostGraph, HostGraphs
from tests.cuda.ptx_machine.limits import BLOCK_THREADS, Limits
from tests.cuda.ptx_machine.trace import Trace

_MEMORY: Final = 2**33
"""Bytes of memory that the device reports; unused memory costs nothing."""

_MULTIPROCESSORS, _BLOCKS = 2, 1
"""Few, so that the data of a test exceeds the grid."""

_LAUNCH_FAILED: Final = 719
"""The result of cuLaunchKernel for a kernel that fails."""

_FIRST_HANDLE: Final = 2**20  # far above the handles of the default streams


class PtxDriver(Driver):
    """Runs kernels from their PTX. There is one device, and a launch has finished when `launch` returns.

    A launch raises PtxError if its behaviour on a GPU would be undefined.
    """

    loads_ptx = True

    def __init__(self) -> None:
        self.programs: list[Any] = []
        """All programs loaded so far."""
        self.deviation = 0
        """Results of approximations: 0 for exact ones, 1 or -1 for those at the upper or the lower error bound."""
        self.trace: Trace | None = None
        """The Trace that records the accesses of launches to global memory."""
        self.limits = Limits()
        self._lock = new_lock(Rank.DRIVER)
        self._one_launch = new_lock(Rank.LAUNCH)
        self._blocks: dict[int, np.ndarray[Any, Any]] = {}
        self._used = 0
        self._streams: set[int] = set()
        self._events: dict[int, float | None] = {}
        self._event_graphs: dict[int, HostGraph | None] = {}  # the graphs that captured them
        self._next_handle = _FIRST_HANDLE
        self._functions = _c_functions(self._launch_by_c, self._tell_whether_captured)
        self.graphs = HostGraphs(self)

    def why_unavailable(self) -> str | None:
        return why_no_kernels()

    def device_count(self) -> int:
        return 0 if why_no_kernels() else 1

    def version(self) -> tuple[int, int]:
        major, minor, *_ = (version_of("cuda-bindings") or "0.0").split(".")
        return int(major), int(minor)

    def properties(self, device: int) -> DeviceProperties:
        return DeviceProperties(
            *("PTX on the CPU", (9, 0), _MULTIPROCESSORS, 2048, BLOCK_THREADS, _MEMORY),
            memory_pools=True,
            shared_bytes_per_block=self.limits.shared_bytes,
            shared_bytes_without_opt_in=self.limits.without_opt_in,
        )

    def current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        return None

    def active(self, device: int) -> AbstractContextManager[None]:
        return nullcontext()

    def synchronize(self, device: int) -> None:
        return None

    def memory_info(self, device: int) -> tuple[int, int]:
        return _MEMORY - self._used, _MEMORY

    def alloc(self, device: int, size: int) -> int:
        with self._lock:
            if size > _MEMORY - self._used:
                raise MemoryError("the device is out of memory")
            block = np.empty(size + kMaxAlignmentRequirement, np.uint8)
            address = block.ctypes.data + -block.ctypes.data % kMaxAlignmentRequirement
            self._blocks[address] = block
            self._used += size
        return address

    def free(self, device: int, address: int) -> None:
        with self._lock:
            self._used -= self._blocks.pop(address).size - kMaxAlignmentRequirement

    def alloc_async(self, device: int, size: int, stream: int) -> int:
        self.check_stream(stream)
        return self.alloc(device, size)

    def free_async(self, device: int, address: int, stream: int) -> None:
        self.check_stream(stream)
        graph = self.graphs.captures.get(stream)
        if graph is None:
            self.free(device, address)
        else:
            graph.memory.append(address)

    def trim(self, device: int) -> None:
        """Do nothing, as the driver keeps no freed memory: see `free`."""

    def alloc_host(self, device: int, size: int) -> int:
        return self.alloc(device, size)

    def free_host(self, device: int, address: int) -> None:
        self.free(device, address)

    def copy(self, device: int, dst: int, src: int, size: int, stream: int) -> None:
        self.queue(stream, lambda: ctypes.memmove(dst, src, size))

    def fill(self, device: int, dst: int, byte: int, size: int, stream: int) -> None:
        self.queue(stream, lambda: ctypes.memset(dst, byte, size))

    def device_of(self, address: int) -> int | None:
        return 0  # device memory is host memory

    def device_of_stream(self, stream: int) -> int:
        self.check_stream(stream)
        return 0

    def create_stream(self, device: int) -> int:
        with self._lock:
            handle = self.new_handle()
            self._streams.add(handle)
        return handle

    def destroy_stream(self, device: int, stream: int) -> None:
        self.check_stream(stream)
        self._streams.discard(stream)

    def synchronize_stream(self, device: int, stream: int) -> None:
        self.check_stream(stream)
        self._refuse_captured(stream)

    def query_stream(self, device: int, stream: int) -> bool:
        self.check_stream(stream)
        self._refuse_captured(stream)
        return True

    def is_capturing(self, device: int, stream: int) -> bool:
        self.check_stream(stream)
        return stream in self.graphs.captures

    def capture_of(self, device: int, stream: int) -> int:
        return self.graphs.captures[stream].number if self.is_capturing(device, stream) else 0

    def watch_graph(self, device: int, stream: int, lock: int) -> None:
        self.graphs.captures[stream].locks.append(lock)

    def wait_event(self, device: int, stream: int, event: int) -> None:
        self.check_stream(stream)
        _ = self._events[event]
        graph = self._event_graphs.get(event)
        if graph is not None:
            self.graphs.captures[stream] = graph
        elif stream in self.graphs.captures:
            raise CudaError("the machine", 905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "the event is in no graph")

    def wait_stream(self, device: int, consumer: int, producer: int, event: int) -> None:
        self.record_event(device, event, producer)
        self.wait_event(device, consumer, event)

    def create_event(self, device: int, *, timing: bool = True) -> int:
        with self._lock:
            handle = self.new_handle()
            self._events[handle] = None
        return handle

    def destroy_event(self, device: int, event: int) -> None:
        del self._events[event]
        self._event_graphs.pop(event, None)

    def record_event(self, device: int, event: int, stream: int) -> None:
        self.check_stream(stream)
        self._events[event] = time.perf_counter()
        self._event_graphs[event] = self.graphs.captures.get(stream)

    def query_event(self, device: int, event: int) -> bool:
        _ = self._events[event]
        return True

    def synchronize_event(self, device: int, event: int) -> None:
        _ = self._events[event]

    def elapsed_milliseconds(self, device: int, start: int, end: int) -> float:
        began, ended = self._events[start], self._events[end]
        if began is None or ended is None:
            raise RuntimeError("both events must have been recorded")
        return (ended - began) * 1e3

    def load_function(self, device: int, image: Any, name: str) -> Any:
        from tests.cuda.ptx_machine.machine import Program

        text = bytes(image).decode()
        program = Program(text, text.partition("\n")[0].removeprefix("// "))
        self.programs.append(program)
        return program

    def function_word(self, function: Any) -> int:
        return self.programs.index(function)

    def launch_functions(self) -> LaunchFunctions:
        return LaunchFunctions(*[ctypes.cast(function, ctypes.c_void_p).value for function in self._functions])

    def _launch_by_c(self, function: int, *arguments: int) -> int:
        """Run a kernel for compiled code. The error is not lost: Launch in Python does a failed launch again."""
        *axes, shared_bytes, stream, parameters, _ = arguments
        program = self.programs[function]
        pointers = (ctypes.c_void_p * program.num_parameters).from_address(parameters)
        words = [ctypes.c_int64.from_address(pointer).value for pointer in pointers]
        try:
            self._queue_kernel(program, (tuple(axes[:3]), tuple(axes[3:]), shared_bytes), stream, words)
        except Exception:
            return _LAUNCH_FAILED
        return 0

    def _tell_whether_captured(self, stream: int, status: int) -> int:
        ctypes.c_int.from_address(status).value = stream in self.graphs.captures
        return 0

    def static_shared(self, device: int, function: Any) -> int:
        return int(function.shared_bytes)

    def opt_in_shared(self, device: int, function: Any, size: int) -> None:
        self.limits.opt_in_shared(function, size)

    def max_active_blocks(self, device: int, function: Any, block_threads: int, shared_bytes: int = 0) -> int:
        return _BLOCKS

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
        self._queue_kernel(function, (tuple(grid), tuple(block), shared_bytes), stream, parameters.words.tolist())

    def _queue_kernel(self, function: Any, grid: tuple[Any, ...], stream: int, words: list[int]) -> None:
        """Queue a kernel. grid: its blocks, threads and bytes of dynamic shared memory."""
        self.limits.check(function, *grid)
        self.queue(stream, lambda: self._run(function, grid, words))

    def _run(self, function: Any, grid: tuple[Any, ...], words: list[int]) -> None:
        with self._one_launch:
            function.launch(*grid, words, self._ranges(), self.deviation, self.trace)

    def _ranges(self) -> list[tuple[int, int]]:
        """Return the memory that kernels may access: the allocations of the driver."""
        with self._lock:
            return [(at, at + block.size - kMaxAlignmentRequirement) for at, block in self._blocks.items()]

    def queue(self, stream: int, work: Callable[[], object]) -> None:
        """Run work on the stream: at once or, if the stream is captured, whenever the graph is launched."""
        self.check_stream(stream)
        graph = self.graphs.captures.get(stream)
        if graph is None:
            work()
        else:
            graph.work.append(work)

    def _refuse_captured(self, stream: int) -> None:
        if stream in self.graphs.captures:
            name, meaning = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "the stream is being captured"
            raise CudaError("the machine", 900, name, meaning)

    def new_handle(self) -> int:
        """Return a number that no other object of the driver has."""
        self._next_handle += 8
        return self._next_handle

    def check_stream(self, stream: int) -> None:
        """Raise CudaError for a stream that does not exist."""
        if not 0 <= stream <= PER_THREAD_STREAM and stream not in self._streams:
            raise CudaError("the machine", 400, "CUDA_ERROR_INVALID_HANDLE", f"there is no stream {stream:#x}")


def _tell_device(value: int, attribute: int, address: int) -> int:
    ctypes.c_int.from_address(value).value = 0
    return 0


def _c_functions(launch: Callable[..., int], tell_whether_captured: Callable[..., int]) -> list[Any]:
    """Return the functions of `launch_functions` as C functions; there are no contexts."""
    pointer, number = ctypes.c_size_t, ctypes.c_uint
    nothing = ctypes.CFUNCTYPE(ctypes.c_int, pointer)(lambda context: 0)
    return [
        ctypes.CFUNCTYPE(ctypes.c_int, pointer, *[number] * 7, pointer, pointer, pointer)(launch),
        ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer)(tell_whether_captured),
        *[nothing] * 3,
        ctypes.CFUNCTYPE(ctypes.c_int, pointer, number, pointer)(_tell_device),
    ]
