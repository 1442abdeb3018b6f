"""Matrix products and convolutions, and their gradients."""

from __future__ import annotations

from typing import Any

from ep import ops
from ep.torch.operators.reductions import summed
from ep.torch.table import Call, aten, computes


@computes("mm", "bmm")
def _(call: Call, x: Any, y: Any) -> Any:
    return ops.matmul(x, y)


@computes("addmm", "baddbmm", "addbmm")
def _(call: Call, bias: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    found = ops.matmul(x, y)
    found = summed(found, (0,)) if call.node.target is aten.addbmm.default else found
    found = found if alpha == 1 else ops.mul(found, call.cast(alpha))
    if beta == 0:
        return found
    return ops.add(found, bias if beta == 1 else ops.mul(bias, call.cast(beta)))


def _each(value: Any, count: int) -> list[int]:
    return [*value] * count if len(value) == 1 else [*value]


@computes("convolution")
def _(
    call: Call, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    axes = len(w.shape) - 2
    stride, padding, dilation, more = (_each(one, axes) for one in (stride, padding, dilation, output_padding))
    is_one = len(x.shape) == axes + 1  # without an axis of samples
    x = x.reshape((1, *x.shape)) if is_one else x
    options = {"strides": stride, "pads": padding * 2, "dilations": dilation, "groups": groups}
    if transposed:
        each = zip(x.shape[2:], stride, padding, dilation, w.shape[2:], more, strict=True)
        sizes = [(n - 1) * s - 2 * p + d * (k - 1) + e + 1 for n, s, p, d, k, e in each]
        y = ops.conv_x_grad(x, w, (x.shape[0], w.shape[1] * groups, *sizes), **options)
        y = y if bias is None else ops.add(y, bias.reshape((-1, *[1] * axes)))
    else:
        y = ops.conv(x, w, bias, **options)
    return y.reshape(y.shape[1:]) if is_one else y


@computes("convolution_backward")
def _(
    call: Call, dy: Any, x: Any, w: Any, bias_sizes: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int, wanted: Any,
) -> Any:  # fmt: skip
    axes = len(w.shape) - 2
    if len(x.shape) == axes + 1:
        raise NotImplementedError("a convolution of one sample without an axis")
    stride, padding, dilation = (_each(one, axes) for one in (stride, padding, dilation))
    options = {"strides": stride, "pads": padding * 2, "dilations": dilation, "groups": groups}
    if transposed:  # the operator is the gradient of a convolution, whose result is x
        dx = ops.conv(dy, w, **options) if wanted[0] else None
        dw = ops.conv_w_grad(x, dy, w.shape, **options) if wanted[1] else None
    else:
        dx = ops.conv_x_grad(dy, w, x.shape, **options) if wanted[0] else None
        dw = ops.conv_w_grad(dy, x, w.shape, **options) if wanted[1] else None
    return dx, dw, summed(dy, (0, *range(2, len(dy.shape)))) if wanted[2] else None
