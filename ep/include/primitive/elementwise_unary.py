"""ElementwiseUnary: apply a UnaryOp to every element."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, attributes, data_types, enumerator
from ep.include.primitive.unary_op import UnaryOp
from ep.include.stream import Stream


class ElementwiseUnary(Primitive):
    """`dst[i] = op(src[i])` (`elementwise_unary.h`)."""

    @abstractmethod
    def Launch(self, stream: Stream, src: Any, dst: Any, count: int) -> None:
        """Apply the op on `stream`.

        src: buffer of `count` elements of src_type.
        dst: buffer of `count` elements of dst_type; may be `src` itself if the two types have the same size, but must
            not overlap it otherwise.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (count,), (src, dst))


class ElementwiseUnaryFactory(Factory[ElementwiseUnary]):
    """The factory of ElementwiseUnary for an op and its types."""

    primitive = ElementwiseUnary

    def New(
        self, op: UnaryOp, src_type: DTypeLike, dst_type: DTypeLike, attr0: Any = None, attr1: Any = None
    ) -> ElementwiseUnary | None:
        """Return an ElementwiseUnary, or None if the device has none; see `NewPrimitive`.

        attr0, attr1: the op's attributes (`ep.include.primitive.attributes`), None for their defaults.
        """
        enumerator(op, UnaryOp, "op")
        types = data_types(src_type=src_type, dst_type=dst_type)
        return self.Select(Request(ElementwiseUnary, op, types, attributes=attributes(op, attr0, attr1)))
