"""conv_x_grad and conv_w_grad: the gradients of a convolution with respect to its input and its weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.windows import is_depthwise
from ep.include.arrays import RESULT, Placeholder
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.broadcast_matmul import BroadcastMatmulFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.ops.conv import FLOAT, conv_attributes, conv_shape, local_groups
from ep.ops.declare.function import Tensor, operator
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import Calls, Function, Launch, Plan, Temporary, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import B, P, signature
from ep.ops.shapes import as_sizes
from ep.ops.window_kernel import MOVES, WindowMoves
from ep.ops.windows import groups_of_pieces, windows
from ep.sbp import Problem, SbpSignature, Split, piece_shape


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [attributes["shape"]]


def _x_signatures(problem: Problem) -> Iterator[SbpSignature]:
    (dy, w), (x,), groups = problem.shapes, problem.out_shapes, problem.attributes["groups"]
    yield signature(Split(0), B, Split(0))
    if groups == 1:
        yield signature(Split(1), Split(0), P)
        yield signature(B, Split(1), Split(1))
    elif groups_of_pieces(groups, (x[1], w[0]), problem.ranks):
        yield signature(Split(1), Split(0), Split(1))
    for spatial in map(Split, range(2, len(dy))):
        yield signature(B, B, spatial)
        yield signature(spatial, B, P)
        yield signature(B, spatial, P)
    yield signature(P, B, P)
    yield signature(B, P, P)


def _x_local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    (_, w), (x,), given, ranks = problem.shapes, problem.out_shapes, problem.attributes, problem.ranks
    (of_dy, of_w), (out,) = signature.inputs, signature.outputs
    pads = windows(x[2:], w[2:], given).local_pads((out, of_dy, of_w), ranks, rank)
    groups = local_groups(given["groups"], (out, of_w, of_dy), (x[1], w[0]), ranks, rank)
    return {**given, "shape": piece_shape(x, out, ranks, rank), "pads": pads, "groups": groups}


@operator(shape=_shape, dtype=SameAs("dy"), signatures=_x_signatures, local=_x_local)
def conv_x_grad(
    dy: Tensor, w: Tensor, shape: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, groups: int = 1
) -> Attributes:
    """Return the gradient of `conv` with respect to x: the sums of `dy` times w over all windows with an element.

    dy: the gradient with respect to the result of conv, of its shape.
    w: as of `conv`.
    shape: that of x. strides, pads, dilations, groups: as of `conv`.
    out: where to put the result, an array of its shape and dtype.

    It is also called a transposed convolution. Windows that dy does not have may take part in the sums as zeros: an
    infinity or NaN in w can make elements NaN that no window has. Raises the errors of `conv` for arrays of these
    shapes, TypeError if the dtypes differ, ValueError if dy does not have the shape of the result of conv.
    """
    return _resolved(dy, w, "w", as_sizes((shape,), "shape"), tuple(w.shape), (strides, pads, dilations, groups), 0)


def _w_signatures(problem: Problem) -> Iterator[SbpSignature]:
    (dy, x), groups = problem.shapes, problem.attributes["groups"]
    yield signature(Split(0), Split(0), P)
    if groups == 1:
        yield signature(Split(1), B, Split(0))
        yield signature(B, Split(1), Split(1))
    elif groups_of_pieces(groups, (x[1], dy[1]), problem.ranks):
        yield signature(Split(1), Split(1), Split(0))
    for spatial in map(Split, range(2, len(dy))):
        yield signature(spatial, B, P)
        yield signature(B, spatial, P)
        yield signature(B, B, spatial)
    yield signature(P, B, P)
    yield signature(B, P, P)


def _w_local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    (_, x), (w,), given, ranks = problem.shapes, problem.out_shapes, problem.attributes, problem.ranks
    (of_dy, of_x), (out,) = signature.inputs, signature.outputs
    pads = windows(x[2:], w[2:], given).local_pads((of_x, of_dy, out), ranks, rank)
    groups = local_groups(given["groups"], (of_x, out, of_dy), (x[1], w[0]), ranks, rank)
    return {**given, "shape": piece_shape(w, out, ranks, rank), "pads": pads, "groups": groups}


@operator(shape=_shape, dtype=SameAs("dy"), signatures=_w_signatures, local=_w_local)
def conv_w_grad(
    dy: Tensor, x: Tensor, shape: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, groups: int = 1
) -> Attributes:
    """Return the gradient of `conv` with respect to w: the sums of x times `dy` over all windows, by place in a window.

    dy: the gradient with respect to the result of conv, of its shape.
    x: as of `conv`.
    shape: that of w. strides, pads, dilations, groups: as of `conv`.
    out: where to put the result, an array of its shape and dtype.

    Raises the errors of `conv` for arrays of these shapes, TypeError if the dtypes differ, ValueError if dy does not
    have the shape of the result of conv.
    """
    given = strides, pads, dilations, groups
    found = _resolved(dy, x, "x", as_sizes((shape,), "shape"), tuple(x.shape), given, 1)
    return {**found, "is_depthwise": is_depthwise(found["shape"], found["groups"])}


def _resolved(dy: Tensor, other: Tensor, name: str, shape: Dims, of_other: Dims, given: Any, place: int) -> Attributes:
    """Return the attributes. place: 0 if x has `shape`, 1 if w has it; the other has the shape of `other`."""
    if dy.dtype != other.dtype:
        raise TypeError(f"dy has dtype {dy.dtype}, {name} has {other.dtype}; convert one of them")
    of_x, of_w = (of_other, shape) if place else (shape, of_other)
    attributes = conv_attributes(of_x, of_w, *given)
    expected = conv_shape(of_x, of_w, attributes)
    if tuple(dy.shape) != expected:
        raise ValueError(f"dy has shape {tuple(dy.shape)}; the result of conv has {expected}")
    return {"shape": shape, **attributes}


MATMUL_OF_WINDOWS = primitive_exists(
    BroadcastMatmulFactory, data_type("out"), BlasTransposeType.N, BlasTransposeType.T, kMaxNumDims
)
W_GRAD_NAMES: Final[dict[str, Any]] = {"a": "dy", "b": "x", "c": "out", "src": "x", "dst": "out"}
_FEW_FILTERS: Final = 8  # whose products are computed along k
_VECTOR: Final = 16  # numbers


@launching("conv_w_grad", MOVES, MATMUL_OF_WINDOWS, when=FLOAT, name="ConvWGradKernel", **W_GRAD_NAMES)
def conv_w_grad_kernel(calls: Calls, moves: WindowMoves, matmul: Any) -> Plan:
    """Return the product of dy and the transposed windows of x, written as in ConvKernel, summed over the batch.

    If there are fewer filters than numbers in a window, and they fill vectors, the product is transposed: it has a
    column for each filter, and no vector of columns is filled in part.
    """
    (dy, x), w, groups = calls.shapes, calls.attributes["shape"], calls.attributes["groups"]
    if 0 in w:
        return Plan()
    m, n = w[0] // groups, math.prod(w[1:])
    batch, k = x[0], math.prod(dy[2:])
    if batch * k == 0:
        batch, k = 1, 0
    found, steps = windows(x[2:], w[2:], calls.attributes), list[Any]()
    padded = moves.moved(steps, Placeholder(1), moves.padding(x[:2], found) if k else [])
    if k and not found.is_whole:
        places = found.of_padded().map_of((batch, groups, w[1]), joined=False)
        over = matmul.over_windows((batch, groups, m, k), places, (groups, m, n))
        if over is not None:
            return Plan(*steps, Launch(Function(over), Placeholder(0), padded, RESULT))
    written = moves.moved(steps, padded, moves.writing(x[:2], found) if k else [])
    of_dy, of_windows = ((batch, groups, m, k), Placeholder(0)), ((batch, groups, n, k), written)
    if not (m < n and (m <= _FEW_FILTERS or (m > _VECTOR and m % _VECTOR == 0))):
        return Plan(*steps, Launch(matmul, 1, *of_dy, *of_windows, 0, (groups, m, n), RESULT))
    sums = Temporary((groups, n, m), moves.dtype)
    turn = moves.strided((groups, m, n), (m * n, 1, m), (m * n, n, 1))
    return Plan(*steps, Launch(matmul, 1, *of_windows, *of_dy, 0, sums.shape, sums), turn.of([sums], RESULT))
