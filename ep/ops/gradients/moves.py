"""The gradients of operators that move data, of matrix products and of convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.include.primitive.blas import BlasTransposeType
from ep.ops.gradients.vjp import (
    Backward,
    Gradients,
    call,
    gradient_of,
    in_type,
    summed_to,
    zeros_like,
)
from ep.ops.shaped import viewed


@gradient_of("gather")
def _gather(back: Backward) -> Gradients:
    params, indices = back.inputs
    given = {name: back.attributes[name] for name in ("axis", "batch_dims", "mode")}
    return [call("gather_grad")(back.dy, indices, params.shape, **given), None]


@gradient_of("gather_grad")
def _gather_grad(back: Backward) -> Gradients:
    given = {name: back.attributes[name] for name in ("axis", "batch_dims", "mode")}
    return [call("gather")(back.dy, back.inputs[1], **given), None]


@gradient_of("resample")
def _resample(back: Backward) -> Gradients:
    """Return the gradients of x, by addends that are scattered to their places, and of the weights."""
    (x, places, weights), axis = back.inputs, back.attributes["axis"]
    others = tuple(one for one in range(len(x.shape)) if one != axis)
    of_x, of_weights = None, list[Any]()
    dy = in_type(back.dy, weights.dtype)
    for addend in range(places.shape[0]):
        at, weight = (call("slice")(one, (addend, addend + 1)) for one in (places, weights))
        at, along = viewed(at, (places.shape[1],)), (places.shape[1], *(1,) * (len(x.shape) - axis - 1))
        share = call("mul")(dy, viewed(weight, along))
        part = call("gather_grad")(share, at, x.shape, axis, 0, "zero")
        of_x = part if of_x is None else call("add")(of_x, part)
        taken = in_type(call("gather")(x, at, axis, mode="zero"), weights.dtype)
        of_weights.append(call("sum")(call("mul")(dy, taken), others))
    if of_x is None:
        return [zeros_like(x), None, zeros_like(weights)]
    return [in_type(of_x, x.dtype), None, call("stack")(of_weights)]


@gradient_of("expand")
def _expand(back: Backward) -> Gradients:
    return [call("expand_grad")(back.dy, back.inputs[0].shape)]


@gradient_of("repeat")
def _repeat(back: Backward) -> Gradients:
    return [call("repeat_grad")(back.dy, back.inputs[0].shape, back.attributes["sizes"])]


@gradient_of("permute")
def _permute(back: Backward) -> Gradients:
    axes = back.attributes["axes"]
    return [call("permute")(back.dy, [axes.index(axis) for axis in range(len(axes))])]


@gradient_of("pad")
def _pad(back: Backward) -> Gradients:
    widths = zip(back.attributes["before"], back.attributes["after"], strict=True)
    return [call("pad")(back.dy, [(-before, -after) for before, after in widths])]


@gradient_of("slice")
def _slice(back: Backward) -> Gradients:
    slices = [slice(one.start, one.stop, one.step) for one in back.attributes["ranges"]]
    return [call("slice_grad")(back.dy, back.inputs[0].shape, *slices)]


@gradient_of("split")
def _split(back: Backward) -> Gradients:
    """Return the gradient. Each part is put at its place and all are added: parts may leave out or repeat elements."""
    (x,), axis = back.inputs, back.attributes["axis"]
    total = None
    for part, (begin, end) in zip(back.dy, back.attributes["sections"], strict=True):
        placed = call("slice_grad")(part, x.shape, *[None] * axis, (begin, end))
        total = placed if total is None else call("add")(total, placed)
    return [total]


@gradient_of("concat")
def _concat(back: Backward) -> Gradients:
    axis = back.attributes["axis"]
    sizes = [one.size if axis is None else one.shape[axis] for one in back.inputs]
    parts = call("split")(back.dy, np.cumsum(sizes)[:-1].tolist(), axis or 0)
    return [viewed(part, one.shape) for part, one in zip(parts, back.inputs, strict=True)]


@gradient_of("stack")
def _stack(back: Backward) -> Gradients:
    parts = call("split")(back.dy, len(back.inputs), back.attributes["axis"])
    return [viewed(part, one.shape) for part, one in zip(parts, back.inputs, strict=True)]


@gradient_of("matmul")
def _matmul(back: Backward) -> Gradients:
    """Return products with the other operand, summed over broadcast axes; a vector is seen as a matrix.

    matmul conjugates the matrices that it transposes, so these are the gradients of complex matrices, too.
    """
    x1, x2 = back.inputs
    t1, t2 = (back.attributes[name] is BlasTransposeType.T for name in ("transpose_x1", "transpose_x2"))
    matmul = call("matmul")
    a = x1 if len(x1.shape) > 1 else viewed(x1, (1, *x1.shape))
    b = x2 if len(x2.shape) > 1 else viewed(x2, (*x2.shape, 1))
    rows, columns = a.shape[-1 if t1 else -2], b.shape[-2 if t2 else -1]
    dc = viewed(back.dy, (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), rows, columns))
    of_a = matmul(b, dc, t2, True) if t1 else matmul(dc, b, False, not t2)
    of_b = matmul(dc, a, True, t1) if t2 else matmul(a, dc, not t1, False)
    return [viewed(summed_to(of_a, a), x1.shape), viewed(summed_to(of_b, b), x2.shape)]


@gradient_of("conv")
def _conv(back: Backward) -> Gradients:
    x, w = back.inputs
    given = {name: back.attributes[name] for name in ("strides", "pads", "dilations", "groups")}
    by_x = call("conv_x_grad")(back.dy, w, tuple(x.shape), **given)
    return [by_x, call("conv_w_grad")(back.dy, x, tuple(w.shape), **given)]


@gradient_of("unfold")
def _unfold(back: Backward) -> Gradients:
    given = {name: back.attributes[name] for name in ("strides", "pads", "dilations")}
    return [call("fold")(back.dy, tuple(back.inputs[0].shape[2:]), **given)]


@gradient_of("fold")
def _fold(back: Backward) -> Gradients:
    (x,), (sizes, *given) = back.inputs, (back.attributes[name] for name in ("sizes", "strides", "pads", "dilations"))
    return [call("unfold")(back.dy, tuple(x.shape[2 : len(sizes) + 2]), *given)]
