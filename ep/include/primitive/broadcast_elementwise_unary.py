"""BroadcastElementwiseUnary: apply a UnaryOp to every element of a broadcast, strided operand."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, attributes, data_types, enumerator, num_dims
from ep.include.primitive.unary_op import UnaryOp
from ep.include.stream import Stream


class BroadcastElementwiseUnary(Primitive):
    """`dst = op(src)` with NumPy's broadcasting of src to dst's dims (`broadcast_elementwise_unary.h`)."""

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
        """Apply the op on `stream`.

        src_dims, dst_dims: at most max_num_dims sizes >= 0, aligned at the last axis; src has no more dims than dst,
            and each of its sizes is dst's or 1.
        src: buffer of src_type that holds all elements its dims and strides reach; if src_dims is `()`, a plain number
            that src_type can hold is accepted, as by Fill.
        dst: buffer of dst_type that holds all elements its dims and strides reach. It may be `src` itself if dims and
            strides agree and the two types have the same size, but must not overlap it otherwise.
        src_strides, dst_strides: one stride >= 0 per dim, in elements; None for row-major. No two elements of dst
            overlap.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (src_dims, dst_dims, src_strides, dst_strides), (src, dst))


class BroadcastElementwiseUnaryFactory(Factory[BroadcastElementwiseUnary]):
    """The factory of BroadcastElementwiseUnary for an op, its types and a number of dims."""

    primitive = BroadcastElementwiseUnary

    def New(
        self,
        op: UnaryOp,
        src_type: DTypeLike,
        dst_type: DTypeLike,
        max_num_dims: int,
        attr0: Any = None,
        attr1: Any = None,
    ) -> BroadcastElementwiseUnary | None:
        """Return a BroadcastElementwiseUnary, or None if the device has none; see `NewPrimitive`.

        max_num_dims: the most dims of dst, at most 8 (New returns None for more).
        attr0, attr1: the op's attributes (`ep.include.primitive.attributes`), None for their defaults.
        """
        enumerator(op, UnaryOp, "op")
        types = data_types(src_type=src_type, dst_type=dst_type)
        dims = num_dims(max_num_dims)
        return self.Select(Request(BroadcastElementwiseUnary, op, types, dims, attributes(op, attr0, attr1)))
