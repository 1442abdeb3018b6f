"""CUDA graphs as the device layer uses them, in plain integers as in `interface`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

Copy = tuple[int, int, int]
"""A copy between two places: dst, src, and the number of bytes."""


class Graphs(ABC):
    """The graphs of a driver. A graph is an integer: work that was captured, ready to be launched."""

    @abstractmethod
    def create_stream(self, device: int) -> int:
        """A new stream for captures, which is not ordered with the legacy default stream.

        A stream from `Driver.create_stream` is: while that is captured, work of other threads on the default stream
        fails and ends the capture.
        """

    @abstractmethod
    def begin(self, device: int, stream: int) -> None:
        """Capture the work queued on a stream from now on, instead of running it."""

    @abstractmethod
    def end(self, device: int, stream: int) -> tuple[int, int]:
        """End the capture of a stream. Return the graph, and the number of its nodes.

        Raises CudaError if work that cannot be captured has ended the capture already.
        """

    @abstractmethod
    def launch(
        self, device: int, graph: int, stream: int, before: Iterable[Copy] = (), after: Iterable[Copy] = ()
    ) -> None:
        """Queue copies, all work of a graph, and copies again."""

    @abstractmethod
    def destroy(self, device: int, graph: int) -> None:
        """Destroy a graph, as soon as its work is done."""
