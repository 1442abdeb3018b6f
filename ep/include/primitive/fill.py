"""Fill: set every element to one number."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types
from ep.include.stream import Stream


class Fill(Primitive):
    """`dst[i] = value` (`fill.h`)."""

    @abstractmethod
    def Launch(self, stream: Stream, dst: Any, value: Any, count: int) -> None:
        """Fill on `stream`.

        dst: buffer of `count` elements of data_type.
        value: a number that data_type can hold. For an integer type it must be integral and within the range; 15.0 is
            accepted. A floating type rounds it, but not from a finite number to infinity. For bool it is `value != 0`.
            Only complex types accept complex numbers.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (count,), (dst,), value)


class FillFactory(Factory[Fill]):
    """The factory of Fill for a type."""

    primitive = Fill

    def New(self, data_type: DTypeLike) -> Fill | None:
        """Return a Fill of `data_type`, or None if the device has none; see `NewPrimitive`."""
        return self.Select(Request(Fill, None, data_types(data_type=data_type)))
