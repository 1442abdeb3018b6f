"""The primitives that move elements, and Where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.checks import as_size
from ep.common.primitive import signatures
from ep.common.primitive.gather_view import as_gather_sizes
from ep.common.primitive.permute_shape import as_permute_shape
from ep.common.primitive.strides import contiguous_strides
from ep.common.scalar import convert_value
from ep.common.stored_types import unit_of
from ep.common.structured.maps import BroadcastPrimitive, StridedPrimitive
from ep.common.structured.primitive import StructuredPrimitive, structure_of
from ep.include import primitive as contracts
from ep.include.data_type import DataType, as_data_type
from ep.include.primitive.structure import ChoiceOp, Structure
from ep.include.primitive.unary_op import UnaryOp


class _Move(StructuredPrimitive):
    """Elements are moved as they are: those of one size have one kernel."""

    @classmethod
    def structure(cls, op: Any, dtypes: Sequence[DataType], attributes: tuple[float, ...] = ()) -> Structure:
        unit = unit_of(dtypes[0])
        return structure_of(UnaryOp.kIdentity, [unit], unit)


class StructuredExpand(StridedPrimitive, _Move, contracts.Expand):
    signature = signatures.EXPAND


class StructuredFill(_Move, contracts.Fill):
    signature = signatures.FILL

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *numbers: Any) -> None:
        count, number = as_size(sizes[0], "count"), self._constant(stream, numbers[0], self._types[0], "value")
        (dst,) = self._read(stream, buffers, (count,))
        self._compute(stream, (dst, number), (count,), ((1,), (0,)))


class StructuredPermute(_Move, contracts.Permute):
    signature = signatures.PERMUTE

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *data_types: Any) -> None:
        types = (as_data_type(data_types[0], "data_type"),) * 2
        src_dims, permutation = sizes
        shape = as_permute_shape(src_dims, permutation, self.request.max_num_dims)
        src, dst = self._read(stream, buffers, (shape.num_elements(),) * 2, types=types)
        strides = contiguous_strides(shape.src_dims)
        dims, strides = (tuple(each[axis] for axis in shape.permutation) for each in (shape.src_dims, strides))
        walk = dims, (contiguous_strides(dims), strides)
        self._compute(stream, (dst, src), *walk, structure=self.structure(None, types))


class StructuredWhere(BroadcastPrimitive, contracts.Where):
    signature, convert = signatures.WHERE, staticmethod(convert_value)

    @classmethod
    def structure(cls, op: Any, dtypes: Sequence[DataType], attributes: tuple[float, ...] = ()) -> Structure:
        condition, unit = map(unit_of, dtypes)
        return structure_of(None, [condition, unit, unit], unit)


class _Gather(StructuredPrimitive):
    signature = signatures.BATCH_GATHER

    @classmethod
    def structure(cls, op: Any, dtypes: Sequence[DataType], attributes: tuple[float, ...] = ()) -> Structure:
        unit = unit_of(dtypes[0])
        return structure_of(ChoiceOp.kRow, [unit, dtypes[1]], unit)

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        checked = batch, outer, gather, inner, num, offset = as_gather_sizes(*sizes)
        strides = (outer * gather * inner, gather * inner, 0, 1), (num, 0, 1, 0)
        dims, counts = (batch, outer, num, inner), self.signature.counts(checked[:-1])
        walk = dims, (contiguous_strides(dims), *strides), None, (), (gather, inner, offset)
        self._launch(stream, buffers, counts, *walk)


class StructuredGather(_Gather, contracts.Gather):
    """Gather by a map that chooses rows."""


class StructuredBatchGather(_Gather, contracts.BatchGather):
    """BatchGather by a map that chooses rows."""
