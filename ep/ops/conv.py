"""conv: weighted sums of windows of an array, along one to three spatial axes."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Sequence
from functools import wraps
from typing import Any, Final

from ep.common.checks import as_integer
from ep.common.primitive.broadcast import Dims
from ep.common.primitive.strides import contiguous_strides
from ep.common.primitive.windows import is_depthwise
from ep.include.arrays import RESULT, Array, ArrayLike, Arrays, Placeholder
from ep.include.number_kind import FLOATS
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.broadcast_matmul import BroadcastMatmulFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.structure import Convolution
from ep.ops.declare.function import FUNCTIONS, Tensor, operator
from ep.ops.declare.gradient import Backward, Gradients
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.devices import arrays_of, as_array
from ep.ops.kernels import (
    Calls,
    Function,
    Launch,
    Plan,
    Temporary,
    attribute,
    data_type,
    launching,
    primitive_exists,
)
from ep.ops.sbp_signatures import B, P, signature
from ep.ops.terms import viewed
from ep.ops.window_kernel import MOVES, WindowMoves
from ep.ops.windows import groups_of_pieces, in_steps, num_spatial, windows
from ep.sbp import Problem, Sbp, SbpSignature, Split

_FEW_WINDOWS: Final = 48
"""With fewer windows of each array in a batch, one product for the whole batch is faster, in spite of a copy."""


def conv_shape(of_x: Dims, of_w: Dims, attributes: Attributes) -> Dims:
    """Return the shape of the result."""
    return of_x[0], of_w[0], *windows(of_x[2:], of_w[2:], attributes).counts


def conv_shapes(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    """Return the shape of the result alone, for those of x and w."""
    of_x, of_w = shapes
    return [conv_shape(of_x, of_w, attributes)]


def conv_signatures(problem: Problem) -> Iterator[SbpSignature]:
    """Yield the rows of a convolution."""
    (x, w), ranks, groups = problem.shapes, problem.ranks, problem.attributes["groups"]
    yield signature(Split(0), B, Split(0))
    if groups == 1:
        yield signature(B, Split(0), Split(1))
        yield signature(Split(1), Split(1), P)
    elif groups_of_pieces(groups, (x[1], w[0]), ranks):
        yield signature(Split(1), Split(0), Split(1))
    found = windows(x[2:], w[2:], problem.attributes)
    for axis in range(len(x) - 2):
        spatial = Split(axis + 2)
        yield signature(B, B, spatial)
        yield signature(B, spatial, P)
        yield signature(spatial, B, P)
        for of_w, out in ((B, spatial), (spatial, P)):
            if found.stay(axis, (spatial, out, of_w), ranks):
                yield signature(spatial, of_w, out)
    yield signature(P, B, P)
    yield signature(B, P, P)


def conv_local(problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
    """Return the attributes of a rank: its groups, if channels are split, and the pads of its piece of x."""
    (x, w), given, ranks = problem.shapes, problem.attributes, problem.ranks
    (of_x, of_w), (out,) = signature.inputs, signature.outputs
    pads = windows(x[2:], w[2:], given).local_pads((of_x, out, of_w), ranks, rank)
    return {
        **given,
        "pads": pads,
        "groups": local_groups(given["groups"], (of_x, of_w, out), (x[1], w[0]), ranks, rank),
    }


def local_groups(groups: int, places: Sequence[Sbp], sizes: Sequence[int], ranks: int, rank: int) -> int:
    """Return the number of groups of a rank. places: the SBPs of x, w and the result, or of their gradients.

    sizes: the numbers of channels and of filters.
    """
    split = groups > 1 and tuple(places) == (Split(1), Split(0), Split(1))
    return (groups_of_pieces(groups, sizes, ranks) or [groups] * ranks)[rank] if split else groups


def _gradient(back: Backward) -> Gradients:
    x, w = back.inputs
    given = {name: back.attributes[name] for name in ("strides", "pads", "dilations", "groups")}
    by_x = FUNCTIONS["conv_x_grad"](back.dy, w, tuple(x.shape), **given)
    return [by_x, FUNCTIONS["conv_w_grad"](back.dy, x, tuple(w.shape), **given)]


@operator(
    shape=conv_shapes,
    dtype=SameAs("x"),
    signatures=conv_signatures,
    local=conv_local,
    gradient=_gradient,
    joins=Convolution,
)
def conv(x: Tensor, w: Tensor, strides: Any = 1, pads: Any = 0, dilations: Any = 1, groups: int = 1) -> Attributes:
    """Return the convolution of `x` with `w`, as ONNX's Conv and PyTorch's `conv1d` to `conv3d`.

    x: array of shape (N, C, sizes...), with one to three spatial axes, of a floating dtype.
    w: array of shape (M, C / groups, kernel...) and of the dtype of x.
    bias: array of shape (M,) and of the dtype of x, which is added to each channel of the result; None for none. It is
        added by a separate operator, `add`.
    strides: the distance between windows along each spatial axis; one integer for all of them.
    pads: the number of zeros before the first element of each spatial axis, then after the last one of each, as in
        ONNX; one integer for all.
    dilations: the distance between the places of a window along each spatial axis; one integer for all.
    groups: the number of parts into which channels are divided; each part of the result depends on that part of x
        alone.
    out: where to put the result, an array of its shape and dtype.

    The result has shape (N, M, counts...); it has no windows if the padded x is smaller than one. float16 and bfloat16
    are accumulated in float32 and rounded once. Padding takes part in the sums: 0 times infinity is NaN. Raises
    TypeError if the dtypes differ, ValueError for shapes and attributes that do not fit.
    """
    if x.dtype != w.dtype:
        raise TypeError(f"x has dtype {x.dtype}, w has {w.dtype}; convert one of them")
    attributes = conv_attributes(tuple(x.shape), tuple(w.shape), strides, pads, dilations, groups)
    return {**attributes, "is_depthwise": is_depthwise(tuple(w.shape), attributes["groups"])}


def conv_attributes(of_x: Dims, of_w: Dims, strides: Any, pads: Any, dilations: Any, groups: Any) -> dict[str, Any]:
    """Return the resolved attributes of a convolution; raises for shapes of x and w that do not fit."""
    num_axes = num_spatial(of_x)
    if len(of_w) != len(of_x):
        raise ValueError(f"w has shape {of_w}; it must have {len(of_x)} axes, as x of shape {of_x} has")
    if 0 in of_w[2:]:
        raise ValueError(f"w has shape {of_w}; a window must have one place at least along each spatial axis")
    number = as_integer(groups, "groups")
    if number < 1:
        raise ValueError(f"groups is {number}; it must be 1 at least")
    if of_w[0] % number:
        raise ValueError(f"w of shape {of_w} has {of_w[0]} rows, which {number} groups do not divide")
    if of_x[1] != of_w[1] * number:
        raise ValueError(
            f"x of shape {of_x} has {of_x[1]} channels, and w of shape {of_w} is for {of_w[1]} in each of groups, "
            f"{number}; x must have {of_w[1] * number}"
        )
    return {**in_steps(strides, pads, dilations, num_axes), "groups": number}


def _with_bias(function: Any) -> Any:
    """Return `function` with a bias: an addition after it, which a fused expression combines with later operators."""
    x, w, *rest = inspect.signature(function).parameters.values()
    bias = inspect.Parameter("bias", x.kind, default=None, annotation="ArrayLike | None")

    @wraps(function)
    def conv(
        x: ArrayLike,
        w: ArrayLike,
        bias: ArrayLike | None = None,
        strides: Any = 1,
        pads: Any = 0,
        dilations: Any = 1,
        groups: int = 1,
        *,
        out: Array | None = None,
    ) -> Array:
        attributes = {"strides": strides, "pads": pads, "dilations": dilations, "groups": groups}
        if bias is None:
            return function(x, w, **attributes) if out is None else function(x, w, **attributes, out=out)
        arrays = arrays_of((x, w, bias), ("x", "w", "bias"))
        x, w, added = (
            as_array(arrays, arrays.as_buffer(one, name), name) for one, name in ((x, "x"), (w, "w"), (bias, "bias"))
        )
        if added.dtype != x.dtype:
            raise TypeError(f"bias has dtype {added.dtype}, x has {x.dtype}; convert one of them")
        of_w, of_bias = tuple(w.shape), tuple(added.shape)
        if of_bias != of_w[:1]:
            raise ValueError(f"bias has shape {of_bias}; w of shape {of_w} needs {of_w[:1]}")
        result = function(x, w, **attributes)
        added = viewed(added, (*added.shape, *(1,) * (len(x.shape) - 2)))
        if out is None and isinstance(arrays, Arrays):  # no other code has the result yet
            out = result
        return FUNCTIONS["add"](result, added) if out is None else FUNCTIONS["add"](result, added, out=out)

    conv.__signature__ = inspect.signature(function).replace(parameters=[x, w, bias, *rest])  # type: ignore[attr-defined]
    return conv


conv = FUNCTIONS["conv"] = _with_bias(conv)

IS_DEPTHWISE = attribute("is_depthwise") == True  # noqa: E712
FLOAT = data_type("out").one_of(*FLOATS)
MATMUL = primitive_exists(
    BroadcastMatmulFactory, data_type("out"), BlasTransposeType.N, BlasTransposeType.N, kMaxNumDims
)


@launching("conv", MOVES, MATMUL, when=FLOAT, a="w", b="x", c="out", src="x", dst="out")
def conv_kernel(calls: Calls, moves: WindowMoves, matmul: Any) -> Plan:
    """Return the product of w and the windows."""
    return product(moves, matmul, calls.shapes, calls.attributes)


def product(moves: WindowMoves, matmul: Any, shapes: Sequence[Dims], attributes: Attributes) -> Plan:
    """Return the plan that multiplies w and the windows of x. shapes: of x and w.

    The result of a group is the product of its rows of w and a matrix that has a column for each window. A device whose
    product can do so reads that matrix, and zeros for padding, from x; otherwise, ConstantPad and Expand write it out.
    """
    (x, w), groups = shapes, attributes["groups"]
    found, (batch, channels) = windows(x[2:], w[2:], attributes), x[:2]
    if 0 in (batch, w[0], *found.counts):
        return Plan()
    m, k, n = w[0] // groups, channels // groups * math.prod(found.kernel), math.prod(found.counts)
    dims = (groups, m, k), (batch, groups, k, n), (batch, groups, m, n)
    joined = batch > 1 and n < _FEW_WINDOWS and m > 1
    if k and (joined or not found.is_whole or found.has_padding):
        places = found.map_of((batch, groups, channels // groups), joined=joined)
        over = matmul.over_windows(dims[0], places, (groups, m, batch * n) if joined else dims[2])
        if over is not None:
            multiply = Plan(Launch(Function(over), Placeholder(1), Placeholder(0), RESULT))
            if not joined:
                return multiply
            made = Temporary((groups, m, batch, n), moves.dtype)
            to_batch = moves.strided(made.shape, contiguous_strides(made.shape), (m * n, n, groups * m * n, 1))
            return Plan(multiply.of([Placeholder(0), Placeholder(1)], made), to_batch.of([made], RESULT))
    steps: list[Any] = []
    written = moves.moved(
        steps, Placeholder(0), [*moves.padding(x[:2], found), *moves.writing(x[:2], found)] if k else []
    )
    return Plan(*steps, Launch(matmul, 1, dims[0], Placeholder(1), dims[1], written, 0, dims[2], RESULT))
