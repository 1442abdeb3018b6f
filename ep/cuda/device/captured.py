"""Graphs of the package's own: work that is captured once, and launched on one stream again and again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from ep.cuda.device.allocator import Lease, MemoryBlock, capacity_of
from ep.cuda.device.buffer import Allocation, CudaBuffer
from ep.cuda.device.slots import StreamState
from ep.cuda.device.stream import CudaStream
from ep.cuda.driver.graphs import Copy
from ep.cuda.driver.interface import CudaError
from ep.include.process import ProcessBound

T = TypeVar("T")


class CapturedStream(CudaStream):
    """A stream that is captured, for a graph that only one other stream launches: its home, that of operators.

    Work of the graph is in the order of the home stream. So it has memory, a workspace and a report of errors as work
    queued there, and no stream has to wait. All memory of the graph stays its own until the graph is gone.
    """

    def __init__(self, home: CudaStream) -> None:
        super().__init__(home.device(), home.handle, owned=False)
        self._state[StreamState.handle] = self.handle = -1  # until the capture
        self._home = home
        self._leases: list[Any] = []
        self._free: dict[int, list[MemoryBlock]] = {}  # by capacity

    def capture(self, work: Callable[[], T]) -> tuple[T, Graph]:
        """Return what `work` returns, and the graph of what it queues on this stream; raises its errors.

        Raises CudaError for work that cannot be captured. This can be called once.
        """
        driver, index = self._driver, self.device_index
        graphs = driver.graphs
        self._state[StreamState.handle] = self.handle = handle = graphs.create_stream(index)
        try:
            graphs.begin(index, handle)
            try:
                found = work()
            except BaseException:
                with suppress(CudaError):
                    graphs.destroy(index, graphs.end(index, handle)[0])
                raise
            graph, num_nodes = graphs.end(index, handle)
        finally:
            self._state[StreamState.handle] = self.handle = -1
            driver.destroy_stream(index, handle)
        return found, Graph(self._home, graph, num_nodes, self._leases)

    def memory_at_home(self, stream: CudaStream, size: int) -> tuple[int, Any]:
        """Return what `CudaDevice.memory_at_home` does: memory that later work of the graph may use again."""
        if not size:
            return 0, None
        free = self._free.get(capacity_of(size))
        block = free.pop() if free else self._new_block(size)
        return block.address, Lease(block, self._take_back)

    def _new_block(self, size: int) -> MemoryBlock:
        lease_of_size = self._device.lease_maker(size)
        if lease_of_size is None:
            raise MemoryError(f"the device has no {size:,} bytes")
        lease = lease_of_size()
        self._leases.append(lease)
        block: MemoryBlock = lease.block
        return block

    def _take_back(self, block: MemoryBlock) -> None:
        self._free.setdefault(block.capacity, []).append(block)

    @contextmanager
    def scratch(self, size: int) -> Iterator[CudaBuffer]:
        address, lease = self.memory_at_home(self, size)
        yield self._device.buffer(size, Allocation(address, lambda: None))
        del lease  # later work of the graph may use it

    def workspace(self) -> int:
        return self._home.own_workspace()

    def wait_for(self, producer: int) -> None:
        """Do nothing: the home stream waits before it launches the graph."""

    def let_wait(self, consumer: int) -> None:
        """Do nothing: nothing runs on this stream."""


class Graph(ProcessBound):
    """A graph, which is destroyed with this object."""

    _handle = -1  # for __del__ if the constructor is interrupted

    def __init__(self, home: CudaStream, handle: int, num_nodes: int, memory: Any) -> None:
        """home: the stream to launch it on. memory: what it uses."""
        self._home, self._graphs, self._index = home, home.device().driver.graphs, home.device_index
        self.num_nodes, self._memory = num_nodes, memory
        self._handle = handle

    def launch(self, before: Iterable[Copy], after: Iterable[Copy]) -> None:
        """Queue copies, all work of the graph, and copies again."""
        self._graphs.launch(self._index, self._handle, self._home.handle, before, after)

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if self._handle < 0 or is_finalizing():  # then globals of this module may be gone
            return
        with suppress(CudaError):  # in a forked process, for example
            self._graphs.destroy(self._index, self._handle)
