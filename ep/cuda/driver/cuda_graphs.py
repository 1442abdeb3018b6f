"""CUDA graphs of the real driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from ep.cuda.driver.graphs import Copy, Graphs


class CudaGraphs(Graphs):
    """The graphs of the CUDA driver."""

    def __init__(
        self,
        library: Callable[[], Any],
        ask: Callable[..., Any],
        current: Callable[[int], AbstractContextManager[None]],
        not_captured: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """library: the driver's functions. ask: calls one and returns its value. current, not_captured: context
        managers, as `CudaDriver` has them."""
        self._library, self._ask, self._current, self._not_captured = library, ask, current, not_captured

    def create_stream(self, device: int) -> int:
        cuda = self._library()
        with self._current(device):
            return int(self._ask(cuda.cuStreamCreate, cuda.CUstream_flags.CU_STREAM_NON_BLOCKING.value))

    def begin(self, device: int, stream: int) -> None:
        cuda = self._library()
        # what the garbage collector frees meanwhile, also memory of other libraries, does not end the capture
        mode = cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        with self._current(device):
            self._ask(cuda.cuStreamBeginCapture, stream, mode)

    def end(self, device: int, stream: int) -> tuple[int, int]:
        cuda = self._library()
        with self._current(device):
            graph = self._ask(cuda.cuStreamEndCapture, stream)
            try:
                _, num_nodes = self._ask(cuda.cuGraphGetNodes, graph)
                return int(self._ask(cuda.cuGraphInstantiate, graph, 0)), int(num_nodes)
            finally:
                self._ask(cuda.cuGraphDestroy, graph)

    def launch(
        self, device: int, graph: int, stream: int, before: Iterable[Copy] = (), after: Iterable[Copy] = ()
    ) -> None:
        cuda, ask = self._library(), self._ask
        with self._current(device):
            for copy in before:
                ask(cuda.cuMemcpyAsync, *copy, stream)
            ask(cuda.cuGraphLaunch, graph, stream)
            for copy in after:
                ask(cuda.cuMemcpyAsync, *copy, stream)

    def destroy(self, device: int, graph: int) -> None:
        with self._current(device), self._not_captured():
            self._ask(self._library().cuGraphExecDestroy, graph)
