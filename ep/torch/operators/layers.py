"""Layers: products, normalisations, attention, recurrent ones, convolutions, pools, with their gradients."""

from __future__ import annotations

from typing import Any, Final

from ep import ops
from ep.expressions.recurrent import lstm_step, recurrence
from ep.torch.table import Arguments, AtenCall, Function, add

_LSTM: Final = 2
"""The number that PyTorch gives to this kind of layer."""
_STEP: Final = lstm_step((ops.sigmoid, ops.tanh, ops.tanh), "ifco")
_LEAST_STEPS: Final = 16
"""The fewest steps for which the recurrent weight is transposed: a product of few rows reads it faster then."""


def _layer(c: AtenCall, a: Arguments) -> Any:
    """Return h of all steps, and the last h and c. What PyTorch keeps for gradients is not computed."""
    if a.mode != _LSTM or a.num_layers != 1 or a.bidirectional or a.batch_first or a.batch_sizes or c.is_read(3):
        raise NotImplementedError("a recurrent layer that is not one direction of one layer of an LSTM")
    (steps, rows, width), size = a.input.shape, a.hidden_size
    products = ops.matmul(a.input.reshape((steps * rows, width)), a.weight0, transpose_x2=True)
    if a.has_biases:
        products = ops.add(products, ops.add(a.weight2, a.weight3))
    states = [one.reshape((rows, size)) for one in (a.hx_, a.cx_)]
    recurrent = a.weight1 if steps < _LEAST_STEPS else ops.permute(a.weight1, (1, 0))
    steps_of = recurrence(_STEP, 4)
    (hidden,), last = steps_of([products.reshape((steps, rows, 4 * size))], states, [recurrent], backwards=a.reverse)
    return hidden, *last, None


def _last(a: Arguments) -> tuple[int, ...]:
    """Return as many of the last axes as there are sizes."""
    return tuple(range(-len(a.normalized_shape), 0))


def _group_norm_backward(_: AtenCall, a: Arguments) -> Any:
    if a.weight is None and a.output_mask[2]:
        raise NotImplementedError("a bias without a weight")
    given = a.grad_out, a.input, a.mean, a.rstd, a.weight, a.weight  # a bias is like the weight
    return ops.group_norm_grad(*given, num_groups=a.group, wanted=a.output_mask)


def _options(a: Arguments) -> dict[str, Any]:
    if a.dropout_p:
        raise NotImplementedError("attention with dropout")
    return {"is_causal": a.is_causal, "scale": a.scale}


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


def _pool_options(a: Arguments) -> dict[str, Any]:
    """Return the options of a pool."""
    kernel = [*a.kernel_size] * (len(a.steps["strides"]) // len(a.kernel_size))
    return {"kernel": kernel, **a.steps, "ceil_mode": a.ceil_mode}


def _average_options(a: Arguments) -> dict[str, Any]:
    return {**_pool_options(a), "count_include_pad": a.count_include_pad, "divisor": a.divisor_override}


@_batched
def _max_pool(c: AtenCall, a: Arguments) -> Any:
    if not c.is_read(1):
        return ops.max_pool(a.self, **_pool_options(a)), None
    return ops.max_pool_with_indices(a.self, **_pool_options(a))


add({
    "mm.default bmm.default": lambda _, a: ops.matmul(a.self, a.mat2),
    "native_layer_norm": lambda _, a: ops.layer_norm(
        a.input, a.weight, a.bias, _last(a), a.eps, return_statistics=True
    ),
    "native_layer_norm_backward": lambda _, a: ops.layer_norm_grad(
        a.grad_out, a.input, a.mean, a.rstd, a.weight, a.bias, _last(a), wanted=a.output_mask
    ),
    "native_group_norm": lambda _, a: ops.group_norm(
        a.input, a.weight, a.bias, num_groups=a.group, epsilon=a.eps, return_statistics=True
    ),
    "native_group_norm_backward": _group_norm_backward,
    "_scaled_dot_product_flash_attention_for_cpu": lambda _, a: ops.attention(
        a.query, a.key, a.value, a.attn_mask, return_lse=True, **_options(a)
    ),
    "_scaled_dot_product_flash_attention_for_cpu_backward": lambda _, a: ops.attention_grad(
        a.grad_out, a.query, a.key, a.value, a.out, a.logsumexp, a.attn_mask, **_options(a)
    ),
    "mkldnn_rnn_layer.default": _layer,
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
