"""Cast: convert every element to another type."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types
from ep.include.stream import Stream


class Cast(Primitive):
    """`dst[i] = dst_type(src[i])` (`cast.h`).

    To bool: whether the element is not 0. Between integers: wraps. From floating point to integer: toward zero,
    saturated, 0 for NaN. To floating point: rounded once, to nearest even. Real to complex: imaginary part 0.
    """

    @abstractmethod
    def Launch(self, stream: Stream, src: Any, dst: Any, count: int) -> None:
        """Convert on `stream`.

        src: buffer of `count` elements of src_type.
        dst: buffer of `count` elements of dst_type; may be `src` itself if the two types have the same size, but must
            not overlap it otherwise.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (count,), (src, dst))


class CastFactory(Factory[Cast]):
    """The factory of Cast for a pair of types."""

    primitive = Cast

    def New(self, src_type: DTypeLike, dst_type: DTypeLike) -> Cast | None:
        """Return a Cast of `src_type` to `dst_type`, or None if the device has none; see `NewPrimitive`."""
        return self.Select(Request(Cast, None, data_types(src_type=src_type, dst_type=dst_type)))
