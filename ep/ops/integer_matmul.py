"""The kernel of matmul for integers: products and their sum in one launch, modulo the range of the type."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Final

from ep.common.primitive.broadcast import Dims, simplify_broadcast_dims
from ep.include.arrays import RESULT, Array, Arrays, Placeholder
from ep.include.errors import Argument, ArgumentValueError
from ep.include.number_kind import INTEGERS
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.expression import ExpressionFactory
from ep.include.primitive.fill import FillFactory
from ep.include.primitive.permute import PermuteFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import Step, Structure
from ep.ops.declare.operator import Attributes
from ep.ops.kernels import Launches, OneLaunch, PreparedKernel, Subject, data_type, primitive_exists, register_kernel
from ep.ops.kernels.conditions import Value
from ep.ops.matmul import product_dims
from ep.ops.window_kernel import share_memory

_BLOCK_BYTES: Final = 1 << 18
"""The bytes of x2 that a launch reads, which stay in a cache while it goes over the rows of x1."""

_LEAST_COLUMNS: Final = 512
"""The least columns of a launch: many vectors at a time."""


class _Products(Value):
    """The structure of a sum of products."""

    def of(self, subject: Subject) -> Structure:
        kind = subject.data_types["out"]
        steps = Step(BinaryOp.kMul, (0, 1), kind), Step(ReduceOp.kSum, (2,), kind)
        return Structure((kind, kind), (), steps, (3,))

    def __str__(self) -> str:
        return 'products(data_type("out"))'


_SUM = primitive_exists(ExpressionFactory, _Products())
_PERMUTE, _FILL = primitive_exists(PermuteFactory, kMaxNumDims), primitive_exists(FillFactory, data_type("out"))


@register_kernel("matmul", matches=data_type("x1").one_of(*INTEGERS) & _SUM & _PERMUTE & _FILL, priority=-1)
class IntegerMatmulKernel(PreparedKernel):
    """A kernel of Expression, which reads views of both matrices with one more axis each.

    The sums are over an axis before the columns, or over the last one if x2 is transposed and x1 is not.
    """

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._sum, self._permute, self._fill = (one.make(subject) for one in (_SUM, _PERMUTE, _FILL))

    def prepare(self, shapes: Sequence[Dims], attributes: Attributes) -> Launches:
        a, b, c = product_dims(shapes, attributes)
        (m, n), transposes = c[-2:], [attributes[f"transpose_{one}"] is BlasTransposeType.T for one in ("x1", "x2")]
        k = a[-2] if transposes[0] else a[-1]
        if 0 in c:
            return lambda arrays, inputs, outputs: None
        if k == 0:
            return lambda arrays, inputs, outputs: self._fill.Launch(arrays.stream, outputs[0], 0, math.prod(c))
        (of_a, of_b), of_c = simplify_broadcast_dims(a[:-2], b[:-2])
        by_rows = k == 1 or (not transposes[0] and (transposes[1] or n == 1))
        turn = None
        if transposes[1] and not by_rows:  # rows of x2 are read along its columns
            rows = math.prod(of_b), n, k
            turn = OneLaunch(self._permute, self.subject.data_types["out"], rows, Placeholder(0), (0, 2, 1), RESULT)
        turned = transposes[1] and turn is None
        # a launch has the last axes of the batch, then rows, the summed axis and columns; or the summed axis last
        number = min(len(of_c), kMaxNumDims - 3)
        places = [*itertools.product(*map(range, of_c[: len(of_c) - number]))]
        wide = max(_BLOCK_BYTES // (k * self.subject.data_types["out"].itemsize), _LEAST_COLUMNS)
        blocks = [slice(begin, min(begin + wide, n)) for begin in range(0, n, wide)]
        every, (first, last) = (slice(None),) * number, (number, number + 1)
        rows_of_x1, sums_of_x1 = (last, first) if transposes[0] else (first, last)
        columns_of_x2, sums_of_x2 = (first, last) if turned else (last, first)
        axes: tuple[tuple[int | None, ...], ...]
        if by_rows:
            axes = (rows_of_x1, None, sums_of_x1), (None, columns_of_x2, sums_of_x2), (first, last, None)
        else:
            axes = (rows_of_x1, sums_of_x1, None), (None, sums_of_x2, columns_of_x2), (first, None, last)
        x1_axes, x2_axes, out_axes = ((*range(number), *one) for one in axes)

        def launches(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            x1, x2 = inputs
            for one, name in zip(inputs, ("x1", "x2"), strict=True):
                if share_memory(arrays, [one], outputs[0]):
                    raise ArgumentValueError("out", "overlaps", Argument(name), "and a product cannot work in place")
            if turn is not None:
                copied = arrays.empty((math.prod(of_b), k, n), x2.dtype)
                turn(arrays, [x2], [copied])
                x2 = copied
            x1 = x1.reshape((*of_a, *a[-2:]))
            x2, out = x2.reshape((*of_b, *((n, k) if turned else (k, n)))), outputs[0].reshape((*of_c, m, n))
            for place in places:
                left = arrays.view(x1, (*_at(of_a, place), *every, slice(None), slice(None)), x1_axes, None)
                for block in blocks:
                    columns = (block, slice(None)) if turned else (slice(None), block)
                    right = arrays.view(x2, (*_at(of_b, place), *every, *columns), x2_axes, None)
                    written = arrays.view(out, (*place, *every, slice(None), block), out_axes, None)
                    self._sum.Launch(arrays.stream, [written], [left, right])

        return launches


def _at(dims: Dims, place: Sequence[int]) -> list[int]:
    """Return the place in a batch that broadcasts along axes of size 1."""
    return [index if size > 1 else 0 for index, size in zip(place, dims, strict=False)]
