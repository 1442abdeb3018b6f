"""CopyNd: copy a box from one array into another."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, num_dims
from ep.include.stream import Stream


class CopyNd(Primitive):
    """`dst[dst_pos + i] = src[src_pos + i]` for every `i` inside `extent` (`copy_nd.h`)."""

    @abstractmethod
    def Launch(
        self,
        stream: Stream,
        data_type: DTypeLike,
        dst: Any,
        dst_dims: Sequence[int],
        dst_pos: Sequence[int],
        src: Any,
        src_dims: Sequence[int],
        src_pos: Sequence[int],
        extent: Sequence[int],
    ) -> None:
        """Copy on `stream`.

        data_type: the type of the elements of both buffers.
        dst, src: buffers with as many elements as their dims have. The boxes share no memory, but may be parts of one
            array. Where the arrays differ in their strides, neither box begins before the other has ended.
        dst_dims, src_dims: sizes >= 0, as many for both, at most max_num_dims.
        dst_pos, src_pos: for each dim, where the box begins, in elements, >= 0.
        extent: the sizes of the box, >= 0; it lies inside both arrays.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """


class CopyNdFactory(Factory[CopyNd]):
    """Makes CopyNd for a number of dims; its data type is an argument of Launch."""

    primitive = CopyNd

    def New(self, max_num_dims: int) -> CopyNd | None:
        """Return a CopyNd, None where the device has none; see `NewPrimitive`.

        max_num_dims: the most dims of the two arrays, at most 8 (None past that).
        """
        return self.Select(Request(CopyNd, None, None, num_dims(max_num_dims)))
