"""Convolutions and pools, and their gradients."""

from __future__ import annotations

from typing import Any

from ep import ops
from ep.torch.table import Arguments, AtenCall, Function, add


def _batched(function: Function) -> Function:
    """Return the function of a call whose operands may lack the axis of samples, which the results need not have.

    The arguments of `function` have `steps`, too: those of the windows, as the functions of `ep.ops` take them.
    """

    def compute(c: AtenCall, a: Arguments) -> Any:
        axes = (3 if "3d" in c.name else 2) if a.weight is None else len(a.weight.shape) - 2
        arrays = {name: x for name, x in a.given.items() if len(getattr(x, "shape", ())) == axes + 1}
        found = {name: x.reshape((1, *x.shape)) for name, x in arrays.items()}
        given = a.stride or a.kernel_size or [1], a.padding or [0], a.dilation or [1]
        strides, pads, dilations = ([*each] * (axes // len(each)) for each in given)
        steps = {"strides": strides, "pads": pads * 2, "dilations": dilations}
        return function(c, Arguments(a.given | found | {"steps": steps}))

    return compute


@_batched
def _convolution(c: AtenCall, a: Arguments) -> Any:
    x, w = a.input, a.weight
    if not a.transposed:
        return ops.conv(x, w, a.bias, **a.steps, groups=a.groups)
    y = ops.conv_x_grad(x, w, (*x.shape[:1], *c.shape[1 - len(w.shape) :]), **a.steps, groups=a.groups)
    return y if a.bias is None else ops.add(y, a.bias.reshape((-1, *[1] * (len(w.shape) - 2))))


@_batched
def _convolution_backward(_: AtenCall, a: Arguments) -> Any:
    dy, x, w, options = a.grad_output, a.input, a.weight, {**a.steps, "groups": a.groups}
    if a.transposed:  # the operator is the gradient of a convolution, whose result is x
        dx = ops.conv(dy, w, **options) if a.output_mask[0] else None
        dw = ops.conv_w_grad(x, dy, w.shape, **options) if a.output_mask[1] else None
    else:
        dx = ops.conv_x_grad(dy, w, x.shape, **options) if a.output_mask[0] else None
        dw = ops.conv_w_grad(dy, x, w.shape, **options) if a.output_mask[1] else None
    return dx, dw, ops.sum(dy, (0, *range(2, len(dy.shape))), dy.dtype) if a.output_mask[2] else None


def _options(a: Arguments) -> dict[str, Any]:
    """Return the options of a pool."""
    kernel = [*a.kernel_size] * (len(a.steps["strides"]) // len(a.kernel_size))
    return {"kernel": kernel, **a.steps, "ceil_mode": a.ceil_mode}


def _average_options(a: Arguments) -> dict[str, Any]:
    return {**_options(a), "count_include_pad": a.count_include_pad, "divisor": a.divisor_override}


@_batched
def _max_pool(c: AtenCall, a: Arguments) -> Any:
    if not c.is_read(1):
        return ops.max_pool(a.self, **_options(a)), None
    return ops.max_pool_with_indices(a.self, **_options(a))


add({
    "convolution": _convolution,
    "convolution_backward": _convolution_backward,
    "max_pool2d_with_indices max_pool3d_with_indices": _max_pool,
    "max_pool2d_with_indices_backward max_pool3d_with_indices_backward": _batched(
        lambda _, a: ops.max_unpool(a.grad_output, a.indices, a.self.shape[2:])
    ),
    "avg_pool2d avg_pool3d": _batched(lambda _, a: ops.average_pool(a.self, **_average_options(a))),
    "avg_pool2d_backward avg_pool3d_backward": _batched(
        lambda _, a: ops.average_pool_grad(a.grad_output, a.self.shape, **_average_options(a))
    ),
    "_adaptive_avg_pool2d _adaptive_avg_pool3d": _batched(
        lambda _, a: ops.adaptive_average_pool(a.self, a.output_size)
    ),
    "_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward": _batched(
        lambda _, a: ops.adaptive_average_pool_grad(a.grad_output, a.self.shape)
    ),
})  # fmt: skip
