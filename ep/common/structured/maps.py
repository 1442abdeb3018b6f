"""The primitives that are maps of one op."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from ep.common.checks import as_dims, as_size
from ep.common.primitive import signatures
from ep.common.primitive.broadcast import broadcast_dims
from ep.common.primitive.expand_shape import as_expand_shape
from ep.common.primitive.strides import broadcast_strides, contiguous_strides, expanded_strides
from ep.common.scalar import convert_scalar
from ep.common.stored_types import stored_types
from ep.common.structured.primitive import StructuredPrimitive, structure_of
from ep.include import primitive as contracts
from ep.include.data_type import DataType
from ep.include.primitive.structure import Structure
from ep.include.primitive.unary_op import UnaryOp


class StridedPrimitive(StructuredPrimitive):
    """From src to dst, by dims and strides."""

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        given: tuple[Any, Any, Any, Any] = sizes
        (src, dst), shape = buffers, as_expand_shape(*given, self.request.max_num_dims)
        steps = expanded_strides(shape.src_dims, shape.src_strides, len(shape.dst_dims))
        walked = zip(shape.dst_dims, steps, shape.dst_strides, strict=True)
        in_place = all(step == dst_step for size, step, dst_step in walked if size > 1)
        operands = self._operand(stream, 0, src, shape.src_dims), dst
        walk = shape.dst_dims, (shape.dst_strides, steps)
        self._launch(stream, operands, shape.counts(), *walk, in_place=in_place)


class BroadcastPrimitive(StructuredPrimitive):
    """From contiguous operands, whose dims broadcast."""

    convert: ClassVar[staticmethod[[Any, DataType, str], Any]]
    """The conversion of operands that are numbers."""

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        names = [f"{operand.name}_dims" for operand in self.signature.operands[:-1]]
        most = self.request.max_num_dims or 0
        dims = [as_dims(each, name, most) for name, each in zip(names, sizes, strict=True)]
        dst_dims = broadcast_dims(*dims, names=names)
        (*operands, dst), places = buffers, range(len(dims))
        operands = [self._operand(stream, k, operands[k], dims[k], self.convert) for k in places]
        counts = [math.prod(each) for each in (*dims, dst_dims)]
        strides = [broadcast_strides(each, len(dst_dims)) for each in dims]
        self._launch(stream, (*operands, dst), counts, dst_dims, (contiguous_strides(dst_dims), *strides))


class _Op(StructuredPrimitive):
    """The primitive of an op; without one, it casts."""

    @classmethod
    def structure(cls, op: Any, dtypes: Sequence[DataType], attributes: tuple[float, ...] = ()) -> Structure:
        op = op or UnaryOp.kCast
        source, result = stored_types(op, *dtypes)
        return structure_of(op, [source] * (len(cls.signature.operands) - 1), result, attributes)


class _OneToOne(_Op):
    signature = signatures.ELEMENTWISE_UNARY

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        count = as_size(sizes[0], "count")
        self._launch(stream, buffers, (count, count), (count,), ((1,), (1,)))


class StructuredElementwiseUnary(_OneToOne, contracts.ElementwiseUnary):
    """ElementwiseUnary by a map."""


class StructuredCast(_OneToOne, contracts.Cast):
    """Cast by a map."""


class StructuredBroadcastUnary(StridedPrimitive, _Op, contracts.BroadcastElementwiseUnary):
    signature = signatures.BROADCAST_ELEMENTWISE_UNARY


class StructuredBroadcastBinary(BroadcastPrimitive, _Op, contracts.BroadcastElementwiseBinary):
    signature, convert = signatures.BROADCAST_ELEMENTWISE_BINARY, staticmethod(convert_scalar)
