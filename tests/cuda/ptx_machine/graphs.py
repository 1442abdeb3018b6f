"""Graphs of the machine: work that is captured, and done whenever the graph is launched."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ep.common.native_lock import release
from ep.cuda.driver.graphs import Copy, Graphs


class HostGraph:
    """Captured work, which can be run any number of times."""

    def __init__(self, number: int) -> None:
        """Make an empty graph. number: the number of the capture."""
        self.number = number
        self.work: list[Callable[[], object]] = []
        self.memory: list[int] = []
        """Memory that was freed during the capture; it belongs to the graph until that is destroyed."""
        self.locks: list[int] = []
        """The locks of the observers of the graph."""


class HostGraphs(Graphs):
    """The graphs of the machine."""

    def __init__(self, its_driver: Any) -> None:
        self._driver = its_driver
        self.captures: dict[int, HostGraph] = {}
        """The graphs into which streams are captured."""
        self.made: dict[int, HostGraph] = {}
        """The graphs that can be launched."""

    def create_stream(self, device: int) -> int:
        stream: int = self._driver.create_stream(device)
        return stream

    def begin(self, device: int, stream: int) -> None:
        self._driver.check_stream(stream)
        self.captures[stream] = HostGraph(self._driver.new_handle())

    def end(self, device: int, stream: int) -> tuple[int, int]:
        graph = self.captures[stream]
        for one in [one for one, other in [*self.captures.items()] if other is graph]:
            del self.captures[one]
        self.made[graph.number] = graph
        return graph.number, len(graph.work)

    def launch(
        self, device: int, graph: int, stream: int, before: Iterable[Copy] = (), after: Iterable[Copy] = ()
    ) -> None:
        for dst, src, size in before:
            self._driver.copy(device, dst, src, size, stream)
        for work in self.made[graph].work:
            self._driver.queue(stream, work)
        for dst, src, size in after:
            self._driver.copy(device, dst, src, size, stream)

    def destroy(self, device: int, graph: int) -> None:
        """Free the memory of the graph, and release its locks: their owners learn that the graph is gone."""
        gone = self.made.pop(graph)
        while gone.memory:
            self._driver.free(device, gone.memory.pop())
        while gone.locks:
            release(gone.locks.pop())
