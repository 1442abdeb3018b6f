"""Memory of CUDA graphs: a graph keeps the addresses that its launches were captured with, and so needs their memory.

What is asked for while launches are captured belongs to the graph, as in PyTorch's private pools. Here nobody has to
name the graph: CUDA says when it is gone.
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
    """A graph that has memory. `lock` is taken until CUDA releases it, when the graph is gone."""

    def __init__(self) -> None:
        self.lock = new_taken_lock()
        self.leases: list[Lease] = []


class GraphMemory:
    """The memory of all graphs of one device.

    A block is new from CUDA and in one graph only. One from the cache might still be used by work that the stream on
    which the graph is launched does not wait for; and one that was freed in the graph, by another branch of it.
    """

    def __init__(self, driver: Driver, device: int, allocator: CachingAllocator) -> None:
        """allocator: gives the memory, and takes it back."""
        self._driver, self._device, self._allocator = driver, device, allocator
        self._lock = new_lock(Rank.GRAPHS)
        self._graphs: dict[int, _Graph] = {}

    def allocate(self, stream: int, capture: int, size: int) -> tuple[int, Callable[[], None]]:
        """Return the address of `size` > 0 bytes for the graph of a capture, and what gives them back.

        They go back once that was called and the graph is gone, whichever comes last.
        """
        self.collect()
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
        """Give back the memory of graphs that are gone."""
        if not self._graphs:
            return
        with self._lock:
            for capture, graph in list(self._graphs.items()):
                if was_released(graph.lock):
                    del self._graphs[capture]
