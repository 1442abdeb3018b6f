"""Memcpy: copy bytes within a device, or between it and the host."""

from __future__ import annotations

from abc import abstractmethod
from enum import Enum
from typing import Any

from ep.include.primitive.primitive import Factory, Primitive, Request, enumerator
from ep.include.stream import Stream


class MemcpyKind(Enum):
    """The direction of a Memcpy, between host (H) and device (D). kAuto derives it from the buffers (`memcpy.h`)."""

    kAuto = 0
    kHtoD = 1
    kDtoH = 2
    kDtoD = 3


class Memcpy(Primitive):
    """Copy of bytes (`memcpy.h`)."""

    @abstractmethod
    def Launch(self, stream: Stream, dst: Any, src: Any, count: int) -> None:
        """Copy on `stream`.

        dst, src: buffers of any element types with `count` bytes or more, each on the side that the kind names. They
            must not overlap, unless they are the same storage; then nothing happens.
        count: the number of bytes.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (count,), (dst, src))


class MemcpyFactory(Factory[Memcpy]):
    """The factory of Memcpy for a direction."""

    primitive = Memcpy

    def New(self, kind: MemcpyKind) -> Memcpy | None:
        """Return a Memcpy of `kind`, or None if the device has none; see `NewPrimitive`."""
        return self.Select(Request(Memcpy, enumerator(kind, MemcpyKind, "kind"), ()))
