"""The primitives that read rows: reductions, softmaxes and products of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import repeat
from typing import Any, ClassVar

from ep.common.checks import as_dims, as_size
from ep.common.primitive import signatures
from ep.common.primitive.product import broadcast_product
from ep.common.primitive.reduce_shape import as_reduce_shape, check_reduces_something
from ep.common.primitive.strides import contiguous_strides
from ep.common.scalar import convert_value
from ep.common.structured.primitive import StructuredPrimitive, structure_of
from ep.include import primitive as contracts
from ep.include.data_type import DataType
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.op_table import REDUCTIONS
from ep.include.primitive.primitive import Request
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import RowOp, Step, Structure
from ep.include.primitive.unary_op import UnaryOp


class StructuredReduce(StructuredPrimitive, contracts.Reduce):
    signature = signatures.REDUCE

    @classmethod
    def structure(cls, op: Any, dtypes: Sequence[DataType], attributes: tuple[float, ...] = ()) -> Structure:
        return structure_of(op, dtypes, REDUCTIONS[op].result_type(dtypes[0]))

    def _data_types(self, request: Request) -> Sequence[DataType | None]:
        return self._structure.sources[0], self._structure.steps[0].data_type

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        op: Any = self.request.op
        (src_dims, axes), most = sizes, self.request.max_num_dims
        shape = as_reduce_shape(src_dims, axes, most)
        check_reduces_something(op, shape)
        dims, strides = shape.src_dims, contiguous_strides(shape.src_dims)
        along = [axis % len(dims) for axis in shape.axes]
        others = [axis for axis in range(len(dims)) if axis not in along]
        kept, rows = ([[each[axis] for axis in axes] for each in (dims, strides)] for axes in (others, along))
        walks = kept[0], (contiguous_strides(kept[0]), kept[1]), rows[0], ([0] * len(along), rows[1])
        self._launch(stream, buffers, shape.counts(), *walks)


class _Softmax(StructuredPrimitive):
    """A RowOp on contiguous rows."""

    signature = signatures.SOFTMAX
    op: ClassVar[RowOp]

    @classmethod
    def structure(cls, op: Any, dtypes: Sequence[DataType], attributes: tuple[float, ...] = ()) -> Structure:
        return structure_of(cls.op, dtypes, dtypes[0])

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *_: Any) -> None:
        rows, cols = as_size(sizes[0], "rows"), as_size(sizes[1], "cols")
        counts, strides = self.signature.counts((rows, cols)), [(cols,)] * 2
        self._launch(stream, buffers, counts, (rows,), strides, (cols,), [(1,)] * 2)


class StructuredSoftmax(_Softmax, contracts.Softmax):
    op = RowOp.kSoftmax


class StructuredLogSoftmax(_Softmax, contracts.LogSoftmax):
    op = RowOp.kLogSoftmax


class StructuredBroadcastMatmul(StructuredPrimitive, contracts.BroadcastMatmul):
    signature = signatures.BROADCAST_MATMUL

    @classmethod
    def structure(cls, op: Any, dtypes: Sequence[DataType], attributes: tuple[float, ...] = ()) -> Structure:
        return _product(dtypes[0], 5)

    def _launch_with(self, stream: Any, sizes: Any, buffers: Any, *numbers: Any) -> None:
        (data_type,), most = self.request.dtypes or (), self.request.max_num_dims or 0
        a_dims, b_dims, c_dims = sizes
        dims = as_dims(a_dims, "a_dims", most), as_dims(b_dims, "b_dims", most), as_dims(c_dims, "c_dims", most)
        turned = [self.request.options[name] is BlasTransposeType.T for name in ("transpose_a", "transpose_b")]
        m, n, k, batches, terms = broadcast_product(*dims, *turned)
        alpha, beta = map(convert_value, numbers, repeat(data_type), ("alpha", "beta"))
        a, b, c = self._read(stream, buffers, [math.prod(each) for each in dims])
        (a_row, a_column), (b_row, b_column) = (1, m) if turned[0] else (k, 1), (1, k) if turned[1] else (n, 1)
        results, row_dims = (*batches.dims, m, n), (*terms.dims, k if alpha != 0 else 0)
        of_c, along_c, of_number = contiguous_strides(results), (0,) * len(row_dims), (0,) * len(results)
        operands = [
            (c, of_c, along_c),
            (a, (*batches.a_strides, a_row, 0), (*terms.a_strides, a_column)),
            (b, (*batches.b_strides, 0, b_column), (*terms.b_strides, b_row)),
            (self._kernels.constant(stream, alpha), of_number, along_c),
        ]
        if beta != 0:
            operands += [(c, of_c, along_c), (self._kernels.constant(stream, beta), of_number, along_c)]
        buffers, strides, row_strides = zip(*operands, strict=True)
        structure = _product(data_type, len(buffers) - 1)
        self._compute(stream, buffers, results, strides, row_dims, row_strides, structure=structure)


def _product(data_type: DataType, num: int) -> Structure:
    """Return the structure of alpha a b + beta c with the sources a, b, alpha, c and beta; `num` is 3 without c."""
    steps = [
        Step(BinaryOp.kMul, (0, 1), data_type, rounded=False),
        Step(ReduceOp.kSum, (num,), data_type, rounded=False),
        Step(BinaryOp.kMul, (num + 1, 2), data_type, rounded=False),
    ]
    if num > 3:
        steps.append(Step(BinaryOp.kMul, (3, 4), data_type, rounded=False))
        steps.append(Step(BinaryOp.kAdd, (num + 2, num + 3), data_type, rounded=False))
    result = num + len(steps)
    steps.append(Step(UnaryOp.kCast, (result - 1,), data_type))
    return Structure((data_type,) * num, (), tuple(steps), (result,), reduced=tuple(range(2, num)))
