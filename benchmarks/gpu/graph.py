"""Launches captured into a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Graph:
    """A graph of the launches that `work` queues on a stream from `Device.CreateStream`, captured and instantiated."""

    def __init__(self, stream: Any, work: Callable[[], object]) -> None:
        """Capture `work`: launches that have run once before, so that their kernels are loaded."""
        from cuda.bindings import driver  # noqa: TID251  # graphs are not part of ep's own interface to the driver

        self._driver, self._stream = driver, stream.handle
        stream.device().SetAsActiveDevice()
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        self._ask(driver.cuStreamBeginCapture, self._stream, mode)
        try:
            work()
        finally:
            graph = self._ask(driver.cuStreamEndCapture, self._stream)
        self._graph = self._ask(driver.cuGraphInstantiate, graph, 0)
        self._ask(driver.cuGraphDestroy, graph)

    def launch(self) -> None:
        """Queue all launches of the graph."""
        (result,) = self._driver.cuGraphLaunch(self._graph, self._stream)
        if result:
            raise RuntimeError(f"cuGraphLaunch: {result!r}")

    def destroy(self) -> None:
        """Release the graph, once its work is done."""
        self._ask(self._driver.cuGraphExecDestroy, self._graph)

    @staticmethod
    def _ask(function: Callable[..., Any], *arguments: Any) -> Any:
        result, *values = function(*arguments)
        if result:
            raise RuntimeError(f"{function.__name__}: {result!r}")
        return values[0] if values else None
