"""Softmax: normalised exponentials of every row."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types
from ep.include.stream import Stream


class Softmax(Primitive):
    """`y[r, c] = exp(x[r, c]) / sum(exp(x[r, :]))`, without overflow (`softmax.h`)."""

    @abstractmethod
    def Launch(self, stream: Stream, rows: int, cols: int, x: Any, y: Any) -> None:
        """Compute on `stream`.

        x: buffer of `[rows, cols]` elements of data_type.
        y: buffer of `[rows, cols]` elements of data_type; may be `x` itself, but must not overlap it otherwise.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (rows, cols), (x, y))


class SoftmaxFactory(Factory[Softmax]):
    """The factory of Softmax for a type."""

    primitive = Softmax

    def New(self, data_type: DTypeLike) -> Softmax | None:
        """Return a Softmax of `data_type`, or None if the device has none; see `NewPrimitive`."""
        return self.Select(Request(Softmax, None, data_types(data_type=data_type)))
