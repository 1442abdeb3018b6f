"""SoftmaxBackward: the gradient of Softmax."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types
from ep.include.stream import Stream


class SoftmaxBackward(Primitive):
    """`dx[r, c] = (dy[r, c] - sum(y[r, :] * dy[r, :])) * y[r, c]` (`softmax_backward.h`)."""

    @abstractmethod
    def Launch(self, stream: Stream, rows: int, cols: int, y: Any, dy: Any, dx: Any) -> None:
        """Compute on `stream`.

        y: buffer of `[rows, cols]` elements of data_type, the output of Softmax.
        dy: buffer of `[rows, cols]` elements of data_type, the gradient with respect to `y`.
        dx: buffer of `[rows, cols]` elements of data_type; may be `y` or `dy` itself, but must not overlap them
            otherwise.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (rows, cols), (y, dy, dx))


class SoftmaxBackwardFactory(Factory[SoftmaxBackward]):
    """The factory of SoftmaxBackward for a type."""

    primitive = SoftmaxBackward

    def New(self, data_type: DTypeLike) -> SoftmaxBackward | None:
        """Return a SoftmaxBackward of `data_type`, or None if the device has none; see `NewPrimitive`."""
        return self.Select(Request(SoftmaxBackward, None, data_types(data_type=data_type)))
