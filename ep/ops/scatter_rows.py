"""scatter_rows: an array with other rows at the places that indices name, the reverse of gather."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.gather_view import gather_view
from ep.include.arrays import RESULT, Array, Placeholder
from ep.include.data_type import DataType
from ep.include.number_kind import BOOL
from ep.include.primitive.batch_scatter import BatchScatterFactory
from ep.include.primitive.expand import ExpandFactory
from ep.include.primitive.scatter_op import ScatterOp
from ep.include.shown import shown
from ep.include.suggest import did_you_mean
from ep.ops.declare.function import FUNCTIONS, Indices, Tensor, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.devices import arrays_of
from ep.ops.full import filled
from ep.ops.gather import gather_axes
from ep.ops.indexed import checked, for_indices
from ep.ops.indices import IndexMode, check_mode
from ep.ops.kernels import Calls, Launch, Plan, attribute, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import PMAX, PMIN, B, P, partials_of, signature
from ep.ops.terms import conjugated, in_type, unselected, viewed, wide
from ep.sbp import Problem, Sbp, SbpSignature, Split, span

Reduction: TypeAlias = Literal["none", "add", "mul", "max", "min"]
"""What becomes of an element and its update, in ONNX's words."""

REDUCTIONS: Final[dict[str, ScatterOp]] = dict(zip(get_args(Reduction), ScatterOp, strict=True))


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [shapes[0]]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    (x, indices, _), axis, batch = problem.shapes, problem.attributes["axis"], problem.attributes["batch_dims"]
    for k in range(batch):
        yield signature(*[Split(k)] * 4)
    yield signature(Split(axis), B, B, Split(axis))  # each rank writes the rows that it has
    for k in range(batch, len(x)):
        if k != axis:
            moved = k if k < axis else k + len(indices) - batch - 1
            yield signature(Split(k), B, Split(moved), Split(k))
    merged, kept = _partials(problem.attributes["reduction"], problem.types[0])
    for partial in merged:
        yield signature(partial, B, partial, partial)
        if problem.attributes["reduction"] is not ScatterOp.kUpdate:
            for k in range(batch, len(indices)):
                yield signature(partial, Split(k), Split(axis + k - batch), partial)
    for partial in kept:
        yield signature(partial, B, B, partial)


def _partials(op: ScatterOp, data_type: DataType) -> tuple[Sequence[Sbp], Sequence[Sbp]]:
    """Return the partials that both x and updates may be, and those that x may be if each rank has all updates."""
    partials = partials_of(data_type)
    if op is ScatterOp.kUpdate:
        return partials, ()
    if data_type in BOOL:  # a sum is "or", the larger one; a product is "and"
        greater = op in (ScatterOp.kAdd, ScatterOp.kMax)
        return ([PMAX], [PMIN]) if greater else ([PMIN], [PMAX])
    if op is ScatterOp.kAdd:
        return [P], [item for item in partials if item != P]
    if op is ScatterOp.kMul:
        return [], [P]
    return ([PMAX], [PMIN]) if op is ScatterOp.kMax else ([PMIN], [PMAX])


def _local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the attributes of a rank. Indices refer to the whole axis; a rank with a part of it starts at `offset`."""
    given, axis = problem.attributes, problem.attributes["axis"]
    if signature.outputs != (Split(axis),):
        return given
    begin, _ = span(problem.shapes[0][axis], problem.ranks, rank)
    return {**given, "offset": given["offset"] + begin}


class _Rows:
    """The rows of a scatter: how others like x and like updates are read and written."""

    def __init__(self, back: Backward) -> None:
        _, self.indices, _ = back.inputs
        self.axis, self.batch = back.attributes["axis"], back.attributes["batch_dims"]
        self.mode = back.attributes["mode"]

    def gathered(self, like_x: Any) -> Any:
        return FUNCTIONS["gather"](like_x, self.indices, self.axis, self.batch, self.mode)

    def scattered(self, like_x: Any, like_updates: Any, reduction: str) -> Any:
        given = self.indices, like_updates, self.axis, self.batch, reduction, self.mode
        return FUNCTIONS["scatter_rows"](like_x, *given)


def _gradient(back: Backward) -> Gradients:
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
    last = FUNCTIONS["scatter_rows"](none, indices, numbers, batch, batch, mode=rows.mode)
    stays = FUNCTIONS["equal"](FUNCTIONS["gather"](last, indices, batch, batch, rows.mode), numbers)
    stays = viewed(stays, (*shape[:batch], *[1] * (axis - batch), *shape[batch:], *[1] * (len(x.shape) - axis - 1)))
    by_updates = FUNCTIONS["where"](stays, rows.gathered(back.dy), 0)
    return [rows.scattered(back.dy, FUNCTIONS["full_like"](updates, 0), "none"), None, by_updates]


def _of_product(back: Backward, rows: _Rows) -> Gradients:
    """Return dy times the product of the others. The factors that are 0 are counted, and left out of products."""
    (x, _, updates), dy = back.inputs, wide(back.dy)
    is_zero = [FUNCTIONS["equal"](item, 0) for item in (x, updates)]
    factors = [FUNCTIONS["where"](zero, 1, wide(item)) for zero, item in zip(is_zero, (x, updates), strict=True)]
    product = rows.scattered(factors[0], factors[1], "mul")
    counts = [FUNCTIONS["cast"](item, "int64") for item in is_zero]
    zeros = rows.scattered(counts[0], counts[1], "add")
    others = FUNCTIONS["div"](rows.gathered(product), factors[1])
    is_alone = FUNCTIONS["equal"](FUNCTIONS["sub"](rows.gathered(zeros), counts[1]), 0)
    by_updates = FUNCTIONS["where"](is_alone, FUNCTIONS["mul"](rows.gathered(dy), conjugated(others)), 0)
    by_x = rows.scattered(dy, wide(conjugated(updates)), "mul")
    return [in_type(by_x, x.dtype), None, in_type(by_updates, x.dtype)]


def _of_extreme(back: Backward, rows: _Rows, reduction: str) -> Gradients:
    """Divide the gradient among the elements that are equal to the result; a NaN result makes it NaN."""
    x, _, updates = back.inputs
    by_x = FUNCTIONS["equal"](x, back.output)
    by_updates = FUNCTIONS["equal"](updates, rows.gathered(back.output))
    count = rows.scattered(FUNCTIONS["cast"](by_x, "float64"), FUNCTIONS["cast"](by_updates, "float64"), "add")
    share = in_type(FUNCTIONS["div"](wide(back.dy), count), x.dtype)
    others = FUNCTIONS["add"](unselected(back.dy), unselected(back.output))
    return [
        FUNCTIONS["where"](by_x, share, others),
        None,
        FUNCTIONS["where"](by_updates, rows.gathered(share), rows.gathered(others)),
    ]


@operator(shape=_shape, dtype=SameAs("x"), signatures=_signatures, local=_local, gradient=_gradient)
def scatter_rows(
    x: Tensor,
    indices: Indices,
    updates: Tensor,
    axis: int | None = None,
    batch_dims: int = 0,
    reduction: Reduction = "none",
    mode: IndexMode = "raise",
) -> Attributes:
    """Return `x` with `updates` in the rows that `gather` would read with these indices.

    x: array of at least one axis.
    indices, axis, batch_dims, mode: the arguments of gather. With mode "zero", rows of indices out of range are left
        out.
    updates: array of the dtype of x and of the shape of gather's result.
    reduction: "none": the last one of several updates of a row stays. "add", "mul", "max", "min": the row of x and its
        updates are combined in the order of the indices, so the bits are the same in every run; the latter two need an
        order, which complex numbers have not. 16-bit floating types are added and multiplied in float32, and rounded
        once; sums and products of integers wrap around, of bool they are "or" and "and"; a NaN spreads.
    out: where to put the result, an array of the shape and dtype of x; it may be x itself.

    PyTorch's `index_copy`, `index_add` and `index_reduce` are such functions. Raises ValueError for shapes that do not
    fit, TypeError for updates of another dtype, and the errors of gather for indices.
    """
    check_mode(mode)
    along, batch = gather_axes(x.shape, indices.shape, axis, batch_dims)
    expected = (*x.shape[:along], *indices.shape[batch:], *x.shape[along + 1 :])
    if tuple(updates.shape) != expected:
        raise ValueError(f"updates has shape {tuple(updates.shape)}; gather of x with these indices has {expected}")
    if updates.dtype != x.dtype:
        raise TypeError(f"updates has dtype {updates.dtype}, x has {x.dtype}; convert one of them")
    found = {"axis": along, "batch_dims": batch, "reduction": as_scatter_op(reduction), "mode": mode}
    return {**found, "offset": 0, "size": x.shape[along]}


def as_scatter_op(reduction: str) -> ScatterOp:
    """Return the op of a reduction; ValueError for another word."""
    if not isinstance(reduction, str) or reduction not in REDUCTIONS:
        words = f"{', '.join(REDUCTIONS)}{did_you_mean(str(reduction), REDUCTIONS)}"
        raise ValueError(f"reduction is {shown(reduction)}; it must be one of {words}")
    return REDUCTIONS[reduction]


def expanded_updates(updates: Array, shape: Dims) -> Array:
    """Return updates repeated to a shape; ValueError if they do not broadcast to it."""
    given = tuple(updates.shape)
    if given == tuple(shape):
        return updates
    fits = len(given) <= len(shape) and all(
        size in (1, whole) for size, whole in zip(given[::-1], shape[::-1], strict=False)
    )
    if not fits:
        raise ValueError(f"updates has shape {given}; it must broadcast to {tuple(shape)}")
    return FUNCTIONS["expand"](updates, tuple(shape))


_SCATTER = for_indices(
    BatchScatterFactory, attribute("reduction"), data_type=data_type("x"), indices_type=data_type("indices")
)
_COPY = primitive_exists(ExpandFactory, data_type("x"), 1)


@launching("scatter_rows", _SCATTER, _COPY, src="x", dst="out")
def scatter_rows_kernel(calls: Calls, scatter: Any, copy: Any) -> Plan:
    """Return launches that copy x, and scatter updates to the copy."""
    batch_dims, size, mode, offset = (calls.attributes[name] for name in ("batch_dims", "size", "mode", "offset"))
    shape, of_indices = calls.shapes[:2]
    sizes, row = gather_view(shape, calls.attributes["axis"], batch_dims), (math.prod(shape),)
    steps, indices, dtype = checked(Placeholder(1), calls.subject.data_types["indices"].dtype, of_indices, size, mode)
    write = Launch(copy, row, Placeholder(0), row, RESULT)
    num_indices = math.prod(of_indices[batch_dims:])
    put = Launch(scatter(dtype), *sizes, Placeholder(2), num_indices, indices, RESULT, offset)
    return Plan(*steps, write, put, copy=write, late=(1, 2))
