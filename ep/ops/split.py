"""split: an array divided into several parts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ep.common.checks import are_several, as_integer, integers_in
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Placeholder
from ep.ops.declare.function import FUNCTIONS, Tensor, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import Calls, Plan, launching
from ep.ops.regions import COPY_ND, columns
from ep.ops.sbp_signatures import moved_signatures
from ep.ops.shapes import from_front
from ep.run.steps import results
from ep.sbp import Problem, SbpSignature


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    (shape,), axis = shapes, attributes["axis"]
    return [(*shape[:axis], end - begin, *shape[axis + 1 :]) for begin, end in attributes["sections"]]


def _signatures(problem: Problem) -> Iterable[SbpSignature]:
    axes = range(len(problem.shapes[0]))
    return moved_signatures(problem, {axis: axis for axis in axes if axis != problem.attributes["axis"]})


def _gradient(back: Backward) -> Gradients:
    """Return the gradient. Each part is put at its place and all are added: parts may leave out or repeat elements."""
    (x,), axis = back.inputs, back.attributes["axis"]
    total = None
    for part, (begin, end) in zip(back.dy, back.attributes["sections"], strict=True):
        placed = FUNCTIONS["slice_grad"](part, x.shape, *[None] * axis, (begin, end))
        total = placed if total is None else FUNCTIONS["add"](total, placed)
    return [total]


@operator(shape=_shape, dtype=SameAs("x"), signatures=_signatures, gradient=_gradient, takes_out=False, many=True)
def split(x: Tensor, indices_or_sections: Any, axis: int = 0) -> Attributes:
    """Return the parts of `x` along an axis, as `numpy.split`; they are copies, not views.

    indices_or_sections: the number of equal parts; or the end of each part but the last: `[2, 5]` gives `[:2]`, `[2:5]`
        and `[5:]`, by NumPy's rules for slices.
    axis: negative: counted from the last.

    Raises ValueError if the parts cannot be equal.
    """
    along = from_front(axis, "axis", len(x.shape), len(x.shape))
    return {"axis": along, "sections": tuple(_sections(indices_or_sections, x.shape[along]))}


def _sections(indices_or_sections: Any, size: int) -> list[tuple[int, int]]:
    """Return the begin and the end of each part."""
    if are_several(indices_or_sections):
        ends = integers_in(indices_or_sections, "indices_or_sections")
        pairs = zip([0, *ends], [*ends, size], strict=True)
        ranges = [slice(begin, end).indices(size) for begin, end in pairs]
        return [(begin, max(begin, end)) for begin, end, _ in ranges]
    count = as_integer(indices_or_sections, "indices_or_sections")
    if count < 1 or size % count:
        raise ValueError(f"indices_or_sections is {count}, and the axis has {size} elements: no equal parts")
    part = size // count
    return [(place * part, (place + 1) * part) for place in range(count)]


@launching("split", COPY_ND, src="x", dst="out")
def split_kernel(calls: Calls, copy_nd: Any) -> Plan:
    """Return one launch of CopyNd for each run of adjacent parts: usually one run.

    Parts are columns of the rows that the axes before `axis` form.
    """
    (shape,), axis, sections = calls.shapes, calls.attributes["axis"], calls.attributes["sections"]
    if 0 in shape:
        return Plan()
    dims, inner, first, runs = (math.prod(shape[:axis]), math.prod(shape[axis:])), math.prod(shape[axis + 1 :]), 0, []
    dtype = calls.subject.data_types["out"].dtype
    for k in range(1, 1 + len(sections)):
        if k == len(sections) or sections[k][0] != sections[k - 1][1]:
            parts = results(len(sections))[first:k]
            runs.append(columns(copy_nd, dtype, dims, sections[first][0] * inner, Placeholder(0), parts, to_parts=True))
            first = k
    return Plan(*runs)
