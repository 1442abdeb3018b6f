"""BroadcastElementwiseBinary: apply a BinaryOp to every pair of elements of two broadcast operands."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.primitive import Factory, Primitive, Request, attributes, data_types, enumerator, num_dims
from ep.include.stream import Stream


class BroadcastElementwiseBinary(Primitive):
    """`dst = op(src0, src1)` with NumPy's broadcasting (`broadcast_elementwise_binary.h`)."""

    @abstractmethod
    def Launch(
        self, stream: Stream, src0_dims: Sequence[int], src0: Any, src1_dims: Sequence[int], src1: Any, dst: Any
    ) -> None:
        """Apply the op on `stream`.

        src0, src1: buffers of src_type with as many elements as their dims have; if the dims are `()`, a plain number
            is accepted, and converted to src_type as Cast converts. Backward ops take dy as src0.
        src0_dims, src1_dims: at most max_num_dims sizes >= 0, row-major, aligned at the last axis; two sizes of one
            axis are equal or one of them is 1.
        dst: buffer of dst_type with the broadcast dims. It may be the storage of an operand that has as many elements
            as dst and elements of the same size; it must not overlap an operand otherwise.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (src0_dims, src1_dims), (src0, src1, dst))


class BroadcastElementwiseBinaryFactory(Factory[BroadcastElementwiseBinary]):
    """The factory of BroadcastElementwiseBinary for an op and its types."""

    primitive = BroadcastElementwiseBinary

    def New(
        self,
        op: BinaryOp,
        src_type: DTypeLike,
        dst_type: DTypeLike,
        max_num_dims: int,
        attr0: Any = None,
        attr1: Any = None,
    ) -> BroadcastElementwiseBinary | None:
        """Return a BroadcastElementwiseBinary, or None if the device has none; see `NewPrimitive`.

        max_num_dims: the most dims of an operand, at most 8 (New returns None for more).
        attr0, attr1: the op's attributes (`ep.include.primitive.attributes`), None for their defaults.
        """
        enumerator(op, BinaryOp, "op")
        types = data_types(src_type=src_type, dst_type=dst_type)
        dims = num_dims(max_num_dims)
        return self.Select(Request(BroadcastElementwiseBinary, op, types, dims, attributes(op, attr0, attr1)))


BroadcastBinary = BroadcastElementwiseBinary
BroadcastBinaryFactory = BroadcastElementwiseBinaryFactory
