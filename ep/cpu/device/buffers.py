"""Checks of the arguments of a launch on the CPU."""

from __future__ import annotations

from typing import Any

from ep.common.host_buffers import read_buffer as read_buffer
from ep.cpu.device.stream import CpuStream
from ep.include.errors import ArgumentTypeError


def check_stream(stream: Any) -> CpuStream:
    """Return `stream`. Raises TypeError if it is not a stream of the CPU."""
    if not isinstance(stream, CpuStream):
        raise ArgumentTypeError("stream", f"must be a stream of the CPU, not {stream!r}")
    return stream
