"""Cases of Expression, one for each kind of kernel: of elements, of a row, and of a sum alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ep.bench import numpy_ways
from ep.bench.case import Case, ExpressionWork
from ep.bench.data import Array, Input
from ep.include.data_type import DataType
from ep.include.primitive import BinaryOp, Expression, ReduceOp, UnaryOp
from ep.include.primitive.structure import RowOp, Step, Structure

_REAL = DataType.kFloat
_PAIR = _REAL, _REAL
_PRODUCT = Step(BinaryOp.kMul, (0, 1), _REAL)


def expression_cases(count: int) -> list[Case]:
    """Return the cases, each of its own group; count: the elements of an array, at most kMaxRow."""

    def multiply_add(x: Array, y: Array, out: Array) -> None:
        np.add(np.multiply(x, y), x, out=out)

    def softmax(x: Array, y: Array, out: Array) -> None:
        numpy_ways.softmax(np.multiply(x, y).reshape(1, -1), out.reshape(1, -1), False)

    def sum_of_squares(x: Array, y: Array, out: Array) -> None:
        out[0] = np.square(np.multiply(x, y), dtype=np.float64).sum()

    add, row = Step(BinaryOp.kAdd, (2, 0), _REAL), Step(RowOp.kSoftmax, (2,), _REAL)
    squares = Step(UnaryOp.kSquare, (2,), _REAL), Step(ReduceOp.kSum, (3,), _REAL)
    return [
        _case("multiply and add", Structure(_PAIR, (), (_PRODUCT, add), (3,)), count, count, multiply_add),
        _case("softmax of a product", Structure(_PAIR, (), (_PRODUCT, row), (3,)), count, count, softmax),
        _case("sum of squares", Structure(_PAIR, (), (_PRODUCT, *squares), (4,)), count, 1, sum_of_squares),
    ]


def _case(
    name: str, structure: Structure, count: int, results: int, numpy: Callable[[Array, Array, Array], None]
) -> Case:
    """Return the case of a structure of two sources of `count` elements, which numpy(x, y, out) computes, too."""
    real = np.dtype(np.float32)
    return Case(
        name, Expression, (structure,), ExpressionWork(structure), [Input((count,), real)] * 2, (results,), real,
        lambda inputs, out: ([out], list(inputs)), lambda inputs, out: partial(numpy, inputs[0], inputs[1], out),
        relative_error=1e-5, absolute_error=1e-6, group=name,
    )  # fmt: skip
