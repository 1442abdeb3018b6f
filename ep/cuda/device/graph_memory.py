"""Memory of CUDA graphs: a graph contains the addresses of its captured launches, and so needs their memory.

Memory that is allocated during a capture belongs to the graph, as in PyTorch's private pools. The caller need not name
the graph: CUDA reports when it is destroyed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ep.common.native_lock import new_taken_lock, was_released
from ep.cuda.device.allocator import Lease
from ep.include.process import Rank, new_lock

if TYPE_CHECKING:
    from ep.cuda.device.allocator import CachingAllocator
    from ep.cuda.driver.interface import Driver


class _Graph:
    """A graph that has memory. `lock` is held until CUDA releases it, when the graph is destroyed."""

    def __init__(self) -> None:
        self.lock = new_taken_lock()
        self.leases: list[Lease] = []


class GraphMemory:
    """The memory of all graphs of one device.

    A block is newly allocated from CUDA and belongs to one graph only. A cached block might still be used by work for
    which the stream of the graph's launch does not wait; a block that was freed in the graph might still be used by
    another branch of it.
    """

    def __init__(self, driver: Driver, device: int, allocator: CachingAllocator) -> None:
        """allocator: allocates and frees the memory."""
        self._driver, self._device, self._allocator = driver, device, allocator
        self._lock = new_lock(Rank.GRAPHS)
        self._graphs: dict[int, _Graph] = {}

    def allocate(self, stream: int, capture: int, size: int) -> tuple[int, Callable[[], None]]:
        """Return the address of `size` > 0 bytes for the graph of a capture, and the function that frees them.

        They are freed after this function was called and the graph is destroyed.
        """
        self.collect()
        self._allocator.share_home()
        with self._lock:
            graph = self._graphs.get(capture)
            if graph is None:
                graph = _Graph()
                self._driver.watch_graph(self._device, stream, graph.lock)
                self._graphs[capture] = graph
            lease = Lease(self._allocator.allocate_new(size), self._allocator.free)
            graph.leases.append(lease)
        return lease.block.address, [lease].clear

    def collect(self) -> None:
        """Free the memory of destroyed graphs."""
        if not self._graphs:
            return
        with self._lock:
            for capture, graph in list(self._graphs.items()):
                if was_released(graph.lock):
                    del self._graphs[capture]
