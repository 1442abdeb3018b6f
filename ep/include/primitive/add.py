"""Add: the sum of any number of buffers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types
from ep.include.stream import Stream


class Add(Primitive):
    """`dst[i] = srcs[0][i] + srcs[1][i] + ...` (`add.h`)."""

    @abstractmethod
    def Launch(self, stream: Stream, srcs: Sequence[Any], dst: Any, count: int) -> None:
        """Add on `stream`.

        srcs: at least one buffer of `count` elements of data_type.
        dst: buffer of `count` elements of data_type; may be any of `srcs` itself, but must not overlap them otherwise.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (count,), (srcs, dst))


class AddFactory(Factory[Add]):
    """The factory of Add for a type."""

    primitive = Add

    def New(self, data_type: DTypeLike) -> Add | None:
        """Return an Add of `data_type`, or None if the device has none; see `NewPrimitive`."""
        return self.Select(Request(Add, None, data_types(data_type=data_type)))
