"""Memset: set every byte to one value."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.primitive.primitive import Factory, Primitive, Request
from ep.include.stream import Stream


class Memset(Primitive):
    """Fill with one byte (`memset.h`)."""

    @abstractmethod
    def Launch(self, stream: Stream, dst: Any, value: int, count: int) -> None:
        """Set bytes on `stream`.

        dst: buffer of any element type with `count` bytes or more.
        value: the byte, an integer from 0 to 255.
        count: the number of bytes.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (count, value), (dst,))


class MemsetFactory(Factory[Memset]):
    """The factory of Memset."""

    primitive = Memset

    def New(self) -> Memset | None:
        """Return a Memset, or None if the device has none; see `NewPrimitive`."""
        return self.Select(Request(Memset, None, ()))
