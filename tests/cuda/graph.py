"""Launches captured into a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Graph:
    """A graph of the launches that `work` queues on a stream, captured without being run."""

    def __init__(self, stream: Any, work: Callable[[], object]) -> None:
        """Capture `work`: launches that have run once before, so that their kernels are loaded."""
        self._graphs, self._place = stream.device().driver.graphs, (stream.device_index, stream.handle)
        self._graphs.begin(*self._place)
        try:
            work()
        finally:
            self.number, _ = self._graphs.end(*self._place)

    def launch(self) -> None:
        """Queue all launches of the graph."""
        device, stream = self._place
        self._graphs.launch(device, self.number, stream)

    def destroy(self) -> None:
        """Release the graph, once its work is done."""
        self._graphs.destroy(self._place[0], self.number)
