"""Expand: repeat elements along axes of size 1."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types, num_dims
from ep.include.stream import Stream


class Expand(Primitive):
    """`dst[i] = src[i]`; an axis of size 1 in src, or one that src lacks in front, is repeated.

    Upstream has it as a separate kernel (`user/kernels/expand_kernel_util`), and as a primitive in a proposal.
    """

    @abstractmethod
    def Launch(
        self,
        stream: Stream,
        src_dims: Sequence[int],
        src: Any,
        dst_dims: Sequence[int],
        dst: Any,
        src_strides: Sequence[int] | None = None,
        dst_strides: Sequence[int] | None = None,
    ) -> None:
        """Expand on `stream`.

        src_dims, dst_dims: at most max_num_dims resolved sizes >= 0, aligned at the last axis; src has no more dims
            than dst, and each of its sizes is dst's or 1.
        src, dst: buffers of data_type that hold all elements the dims and strides reach; they do not overlap.
        src_strides, dst_strides: one stride >= 0 per dim, in elements; None for row-major. No two elements of dst
            overlap.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (src_dims, dst_dims, src_strides, dst_strides), (src, dst))


class ExpandFactory(Factory[Expand]):
    """The factory of Expand for a type and a number of dims."""

    primitive = Expand

    def New(self, data_type: DTypeLike, max_num_dims: int) -> Expand | None:
        """Return an Expand of `data_type`, or None if the device has none; see `NewPrimitive`.

        max_num_dims: the most dims of dst, at most 8 (New returns None for more).
        """
        return self.Select(Request(Expand, None, data_types(data_type=data_type), num_dims(max_num_dims)))
