"""TensorFill: set every element to a value in device memory."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types
from ep.include.stream import Stream


class TensorFill(Primitive):
    """`dst[i] = src[0]` (`tensor_fill.h`)."""

    @abstractmethod
    def Launch(self, stream: Stream, src: Any, dst: Any, count: int) -> None:
        """Fill on `stream`.

        src: buffer of one element of data_type, read on the device when the work is done.
        dst: buffer of `count` elements of data_type, not overlapping src.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (count,), (src, dst))


class TensorFillFactory(Factory[TensorFill]):
    """The factory of TensorFill for a type."""

    primitive = TensorFill

    def New(self, data_type: DTypeLike) -> TensorFill | None:
        """Return a TensorFill of `data_type`, or None if the device has none; see `NewPrimitive`."""
        return self.Select(Request(TensorFill, None, data_types(data_type=data_type)))
