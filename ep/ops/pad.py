"""pad: an array with elements added or removed at its ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ep.common.checks import as_integer, kMaxSize
from ep.common.primitive.broadcast import Dims
from ep.common.primitive.pad_shape import PadShape
from ep.common.scalar import check_scalar
from ep.include.arrays import RESULT, Placeholder
from ep.include.primitive.constant_pad import ConstantPadFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.structure import ChoiceOp
from ep.include.shown import shown
from ep.ops.declare.function import FUNCTIONS, Tensor, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import Calls, Launch, Plan, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import B, P, partials_of, signature
from ep.sbp import Problem, SbpSignature, Split, piece_sizes, span


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [PadShape(shapes[0], attributes["before"], attributes["after"]).dst_dims]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    (shape,), (result,), ranks = problem.shapes, problem.out_shapes, problem.ranks
    for axis in range(len(shape)):
        split = signature(Split(axis), Split(axis))
        padded = [_local(problem, split, rank) for rank in range(ranks)]
        sizes = [
            size + one["before"][axis] + one["after"][axis]
            for size, one in zip(piece_sizes(shape[axis], ranks), padded, strict=True)
        ]
        if sizes == piece_sizes(result[axis], ranks):  # the padded pieces are those of the result
            yield split
        yield signature(B, Split(axis))
    for partial in partials_of(problem.types[0]):
        yield signature(partial, partial)


def _local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the pads of a rank: only those at the ends of a split axis; from a whole input, other parts are removed.

    Of a sum, only the first rank has padding.
    """
    given, (source,), (target,) = problem.attributes, signature.inputs, signature.outputs
    before, after, value = [*given["before"]], [*given["after"]], given["constant_values"]
    if isinstance(source, Split):
        before[source.axis] *= rank == 0
        after[source.axis] *= rank == problem.ranks - 1
    elif isinstance(target, Split):
        size = problem.out_shapes[0][target.axis]
        begin, end = span(size, problem.ranks, rank)
        before[target.axis] -= begin
        after[target.axis] -= size - end
    if source == P and rank > 0:
        value = 0
    return {"before": tuple(before), "after": tuple(after), "constant_values": value}


def _gradient(back: Backward) -> Gradients:
    widths = zip(back.attributes["before"], back.attributes["after"], strict=True)
    return [FUNCTIONS["pad"](back.dy, [(-before, -after) for before, after in widths])]


@operator(
    shape=_shape, dtype=SameAs("x"), signatures=_signatures, local=_local, gradient=_gradient, joins=ChoiceOp.kRow
)
def pad(x: Tensor, pad_width: Any, *, constant_values: complex = 0) -> Attributes:
    """Return `x` with elements of one value around it, as `numpy.pad` with its mode "constant".

    x: array of any type.
    pad_width: the number of elements to add before and after each axis: `((before, after), ...)`, or `(before, after)`
        for all axes, or one integer for all sides. Negative numbers remove elements, unlike in NumPy.
    constant_values: a number that the dtype of x holds.
    out: where to put the result, an array of its shape and dtype.

    The result has the dtype of x. Raises ValueError for widths of another form, for those that leave an axis a negative
    size, and if more than 8 axes are left once those without padding are merged with their neighbours.
    """
    check_scalar(constant_values, "constant_values")
    before, after = _widths(pad_width, len(x.shape))
    for axis, size in enumerate(PadShape(x.shape, before, after).dst_dims):
        if not 0 <= size <= kMaxSize:
            raise ValueError(
                f"pad_width {shown(pad_width)} leaves {size} elements of x, of shape {x.shape}, at axis {axis}"
            )
    return {"before": before, "after": after, "constant_values": constant_values}


def _widths(pad_width: Any, num_dims: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the numbers of elements added before and after each axis."""
    widths = np.asarray(pad_width, object)
    if widths.shape not in ((), (1,), (2,), (1, 2), (num_dims, 2)) and num_dims + widths.size > 0:
        raise ValueError(
            f"pad_width is {shown(pad_width)}; "
            f"it must be an integer, a pair of them, or a pair for each of {num_dims} axes"
        )
    pairs = np.broadcast_to(widths, (num_dims, 2)).tolist() if num_dims else []
    before, after = ([as_integer(pair[side], "pad_width") for pair in pairs] for side in (0, 1))
    return tuple(before), tuple(after)


_PAD = primitive_exists(ConstantPadFactory, data_type("x"))


@launching("pad", _PAD, src="x", pad_val="constant_values", dst="out")
def pad_kernel(calls: Calls, pad: Any) -> Plan:
    """Return one launch of ConstantPad, on merged axes if there are more than 8."""
    (of_x,), names = calls.shapes, ("before", "after", "constant_values")
    before, after, value = (calls.attributes[name] for name in names)
    shape = PadShape(of_x, before, after)
    simple = shape if len(of_x) <= kMaxNumDims else shape.simplified()
    if len(simple.src_dims) > kMaxNumDims:
        raise ValueError(
            f"x of shape {of_x} with {before} before and {after} after needs {len(simple.src_dims)} axes; at most "
            f"{kMaxNumDims} are possible"
        )
    dims, before, after = simple
    return Plan(Launch(pad, dims, Placeholder(0), before, after, value, RESULT))
