"""The gradient of scatter_rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ep.include.data_type import DataType
from ep.include.primitive.scatter_op import ScatterOp
from ep.ops.devices import arrays_of
from ep.ops.full import filled
from ep.ops.gradients.vjp import Backward, Gradients, call, conjugated, gradient_of, in_type, unselected, wide
from ep.ops.scatter_rows import REDUCTIONS
from ep.ops.shaped import viewed


class _Rows:
    """The rows of a scatter: how others like x and like updates are read and written."""

    def __init__(self, back: Backward) -> None:
        _, self.indices, _ = back.inputs
        self.axis, self.batch = back.attributes["axis"], back.attributes["batch_dims"]
        self.mode = back.attributes["mode"]

    def gathered(self, like_x: Any) -> Any:
        return call("gather")(like_x, self.indices, self.axis, self.batch, self.mode)

    def scattered(self, like_x: Any, like_updates: Any, reduction: str) -> Any:
        given = self.indices, like_updates, self.axis, self.batch, reduction, self.mode
        return call("scatter_rows")(like_x, *given)


@gradient_of("scatter_rows")
def _scatter_rows(back: Backward) -> Gradients:
    rows, op = _Rows(back), back.attributes["reduction"]
    if op is ScatterOp.kUpdate:
        return _of_update(back, rows)
    if op is ScatterOp.kAdd:
        return [back.dy, None, rows.gathered(back.dy)]
    if op is ScatterOp.kMul:
        return _of_product(back, rows)
    return _of_extreme(back, rows, next(word for word, item in REDUCTIONS.items() if item is op))


def _of_update(back: Backward, rows: _Rows) -> Gradients:
    """Return dy where x stays, and dy where an update stays: of several of one row the last one."""
    (x, indices, updates), axis, batch = back.inputs, rows.axis, rows.batch
    shape, arrays = tuple(indices.shape), arrays_of((x, indices), ("x", "indices"))
    numbers = arrays.copy_from_host(np.arange(math.prod(shape)).reshape(shape))
    none = filled(arrays, (*x.shape[:batch], x.shape[axis]), 0, DataType.kInt64)
    last = call("scatter_rows")(none, indices, numbers, batch, batch, mode=rows.mode)
    stays = call("equal")(call("gather")(last, indices, batch, batch, rows.mode), numbers)
    stays = viewed(stays, (*shape[:batch], *[1] * (axis - batch), *shape[batch:], *[1] * (len(x.shape) - axis - 1)))
    by_updates = call("where")(stays, rows.gathered(back.dy), 0)
    return [rows.scattered(back.dy, call("full_like")(updates, 0), "none"), None, by_updates]


def _of_product(back: Backward, rows: _Rows) -> Gradients:
    """Return dy times the product of the others. The factors that are 0 are counted, and left out of products."""
    (x, _, updates), dy = back.inputs, wide(back.dy)
    is_zero = [call("equal")(item, 0) for item in (x, updates)]
    factors = [call("where")(zero, 1, wide(item)) for zero, item in zip(is_zero, (x, updates), strict=True)]
    product = rows.scattered(factors[0], factors[1], "mul")
    counts = [call("cast")(item, "int64") for item in is_zero]
    zeros = rows.scattered(counts[0], counts[1], "add")
    others = call("div")(rows.gathered(product), factors[1])
    is_alone = call("equal")(call("sub")(rows.gathered(zeros), counts[1]), 0)
    by_updates = call("where")(is_alone, call("mul")(rows.gathered(dy), conjugated(others)), 0)
    by_x = rows.scattered(dy, wide(conjugated(updates)), "mul")
    return [in_type(by_x, x.dtype), None, in_type(by_updates, x.dtype)]


def _of_extreme(back: Backward, rows: _Rows, reduction: str) -> Gradients:
    """Divide the gradient among the elements that are equal to the result; a NaN result makes it NaN."""
    x, _, updates = back.inputs
    by_x = call("equal")(x, back.output)
    by_updates = call("equal")(updates, rows.gathered(back.output))
    count = rows.scattered(call("cast")(by_x, "float64"), call("cast")(by_updates, "float64"), "add")
    share = in_type(call("div")(wide(back.dy), count), x.dtype)
    others = call("add")(unselected(back.dy), unselected(back.output))
    return [
        call("where")(by_x, share, others),
        None,
        call("where")(by_updates, rows.gathered(share), rows.gathered(others)),
    ]
