"""Captures launches in a graph of the device under test: a CUDA graph on a GPU, otherwise a mock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.cuda.ptx_machine.driver import PtxDriver


def capture(stream: Any, work: Callable[[], object]) -> Any:
    """Return the work that `work` queues on a stream as a graph with `launch` and `destroy`, without running it."""
    driver = stream.device().driver
    if not isinstance(driver, PtxDriver):
        from benchmarks.gpu.graph import Graph

        return Graph(stream, work)
    graph = driver.begin_capture(stream.handle)
    try:
        work()
    finally:
        driver.end_capture(graph)
    return graph
