"""gather: elements of an array along one axis, chosen by indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.include.primitive.batch_gather import BatchGatherFactory
from ep.include.primitive.gather import GatherFactory
from ep.include.primitive.structure import ChoiceOp
from ep.ops.declare.function import FUNCTIONS, Indices, Tensor, function_of, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes, operator_named
from ep.ops.declare.type_rules import SameAs
from ep.ops.indexed import for_indices, indexed
from ep.ops.indices import IndexMode, check_mode
from ep.ops.kernels import Calls, Plan, attribute, data_type, launching
from ep.ops.sbp_signatures import B, partials_of, signature, sum_of
from ep.ops.shapes import from_front
from ep.sbp import Problem, SbpSignature, Split, span


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    params, indices = shapes
    axis = attributes["axis"]
    return [params[:axis] + indices[attributes["batch_dims"] :] + params[axis + 1 :]]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    (params, indices), axis, batch = problem.shapes, problem.attributes["axis"], problem.attributes["batch_dims"]
    for place in range(batch):
        yield signature(Split(place), Split(place), Split(place))
    for place in range(batch, len(indices)):
        yield signature(B, Split(place), Split(axis + place - batch))
    yield signature(Split(axis), B, sum_of(problem.types[0]))  # the rows of other ranks are zeros
    for place in range(batch, len(params)):
        if place != axis:
            moved = place if place < axis else place + len(indices) - batch - 1
            yield signature(Split(place), B, Split(moved))
    for partial in partials_of(problem.types[0]):
        yield signature(partial, B, partial)


def _local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the attributes of a rank. Indices refer to the whole axis; a rank with a part of it starts at `offset`."""
    given, axis = problem.attributes, problem.attributes["axis"]
    if signature.inputs[0] != Split(axis):
        return given
    begin, _ = span(problem.shapes[0][axis], problem.ranks, rank)
    return {**given, "offset": given["offset"] + begin}


def _gradient(back: Backward) -> Gradients:
    params, indices = back.inputs
    given = {name: back.attributes[name] for name in ("axis", "batch_dims", "mode")}
    return [FUNCTIONS["gather_grad"](back.dy, indices, params.shape, **given), None]


@operator(
    shape=_shape,
    dtype=SameAs("params"),
    signatures=_signatures,
    local=_local,
    gradient=_gradient,
    joins=ChoiceOp,
    standard={"take": "`axis` is 0 where left out; `mode` says what becomes of indices out of range"},
)
def gather(
    params: Tensor, indices: Indices, axis: int | None = None, batch_dims: int = 0, mode: IndexMode = "raise"
) -> Attributes:
    """Return the elements of `params` that `indices` selects along `axis`, as `tensorflow.gather`.

    params: array of at least one axis.
    indices: integers; their first `batch_dims` axes are those of params.
    axis: the axis to gather along, `batch_dims` by default; negative: counted from the last axis of params.
    batch_dims: the number of leading axes that params and indices share, `0 <= batch_dims <= axis`; negative: counted
        from the last axis of indices.
    mode: how an index outside `0 ... n - 1` is handled. "raise": IndexError, which gives its position. "wrap_negative":
        -n ... -1 count from the end, others are an IndexError. "zero": zeros. "clip": the nearest index, as in
        `numpy.take`. An asynchronous device does not wait for an IndexError: the elements are zeros, and the error is
        raised by the call that waits for the result (`copy_to_host`, `Stream.Sync`).
    out: where to put the result, an array of its shape and dtype.

    The result has the shape `params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]` and the dtype
    of params. Raises TypeError for indices that are not integers, ValueError for axes that do not agree. After
    these errors, and after an IndexError on the CPU, nothing has been written.
    """
    check_mode(mode)
    along, batch = gather_axes(params.shape, indices.shape, axis, batch_dims)
    return {"axis": along, "batch_dims": batch, "mode": mode, "offset": 0, "size": params.shape[along]}


@function_of(operator_named("gather"))
def batch_gather(params: Tensor, indices: Indices, mode: IndexMode = "raise") -> Attributes:
    """Return, for each batch, the elements of `params` that `indices` of the batch selects: OneFlow's BatchGather.

    All axes of indices but the last are batch axes, which params has too; the elements are gathered along the next axis
    of params. It is `gather` with `batch_dims=indices.ndim - 1`, and has the same modes and errors.
    """
    declared = operator_named("gather")
    return declared.resolve(params, indices, batch_dims=len(indices.shape) - 1, mode=mode)


def gather_axes(
    params_shape: tuple[int, ...], indices_shape: tuple[int, ...], axis: int | None, batch_dims: int
) -> tuple[int, int]:
    """Return axis and batch_dims, counted from the front, if they fit the shapes; else raise."""
    batch = from_front(batch_dims, "batch_dims", len(indices_shape), len(indices_shape) + 1)
    along = batch if axis is None else from_front(axis, "axis", len(params_shape), len(params_shape))
    if not batch <= along < len(params_shape):
        raise ValueError(
            f"batch_dims is {batch} and axis is {along}; params of shape {params_shape} needs "
            f"0 <= batch_dims <= axis < {len(params_shape)}"
        )
    if params_shape[:batch] != indices_shape[:batch]:
        raise ValueError(
            f"params {params_shape} and indices {indices_shape} differ in the first {batch} axes, the batch dims"
        )
    return along, batch


_TYPES = {"params_type": data_type("params"), "indices_type": data_type("indices")}

_GATHER = for_indices(GatherFactory, **_TYPES)
_BATCH_GATHER = for_indices(BatchGatherFactory, **_TYPES)


@launching("gather", _GATHER, when=attribute("batch_dims") == 0)
def gather_kernel(calls: Calls, gather: Any) -> Plan:
    """Return one launch of Gather, of one batch."""
    return indexed(calls, gather, calls.shapes[0], has_batches=False)


@launching("gather", _BATCH_GATHER, when=attribute("batch_dims") != 0)
def batch_gather_kernel(calls: Calls, gather: Any) -> Plan:
    """Return one launch of BatchGather: each batch has its own indices."""
    return indexed(calls, gather, calls.shapes[0], has_batches=True)
