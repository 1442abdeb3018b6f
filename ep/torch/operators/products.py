"""Matrix products and convolutions, and their gradients."""

from __future__ import annotations

from typing import Any

from ep import ops
from ep.torch.operators.reductions import summed
from ep.torch.table import Arguments, Call, add


def _product_and_sum(c: Call, a: Arguments) -> Any:
    found = ops.matmul(*((a.mat1, a.mat2) if a.batch1 is None else (a.batch1, a.batch2)))
    found = summed(found, (0,)) if c.name == "addbmm" else found
    found = found if a.alpha == 1 else ops.mul(found, c.cast(a.alpha))
    if a.beta == 0:
        return found
    return ops.add(found, a.self if a.beta == 1 else ops.mul(a.self, c.cast(a.beta)))


def _options(a: Arguments) -> dict[str, Any]:
    axes = len(a.weight.shape) - 2
    stride, padding, dilation = ([*one] * (axes // len(one)) for one in (a.stride, a.padding, a.dilation))
    return {"strides": stride, "pads": padding * 2, "dilations": dilation, "groups": a.groups}


def _convolution(c: Call, a: Arguments) -> Any:
    x, w, more = a.input, a.weight, (1,) * (len(a.weight.shape) - len(a.input.shape))  # an axis of samples
    x = x.reshape((*more, *x.shape))
    if not a.transposed:
        return ops.conv(x, w, a.bias, **_options(a)).reshape(c.shape)
    y = ops.conv_x_grad(x, w, (*more, *c.shape), **_options(a))
    return (y if a.bias is None else ops.add(y, a.bias.reshape((-1, *[1] * (len(w.shape) - 2))))).reshape(c.shape)


def _convolution_backward(_: Call, a: Arguments) -> Any:
    dy, x, w, options = a.grad_output, a.input, a.weight, _options(a)
    if len(x.shape) != len(w.shape):
        raise NotImplementedError("a convolution of one sample without an axis")
    if a.transposed:  # the operator is the gradient of a convolution, whose result is x
        dx = ops.conv(dy, w, **options) if a.output_mask[0] else None
        dw = ops.conv_w_grad(x, dy, w.shape, **options) if a.output_mask[1] else None
    else:
        dx = ops.conv_x_grad(dy, w, x.shape, **options) if a.output_mask[0] else None
        dw = ops.conv_w_grad(dy, x, w.shape, **options) if a.output_mask[1] else None
    return dx, dw, summed(dy, (0, *range(2, len(dy.shape)))) if a.output_mask[2] else None


add(
    {
        "mm.default bmm.default": lambda _, a: ops.matmul(a.self, a.mat2),
        "addmm.default baddbmm.default addbmm": _product_and_sum,
        "convolution": _convolution,
        "convolution_backward": _convolution_backward,
    }
)
