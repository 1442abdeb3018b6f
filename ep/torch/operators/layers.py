"""Layers: products, normalisations, attention, recurrent ones, convolutions, pools, with their gradients."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ep import ops
from ep.expressions.recurrent import lstm_step, recurrence
from ep.torch.table import AtenCall, add, add_named, in_order

_LSTM: Final = 2
"""The number that PyTorch gives to this kind of layer."""
_STEP: Final = lstm_step((ops.sigmoid, ops.tanh, ops.tanh), "ifco")
_LEAST_STEPS: Final = 16
"""The fewest steps for which the recurrent weight is transposed: a product of few rows reads it faster then."""


def _layer(c: AtenCall) -> Any:
    """Return h of all steps, and the last h and c. What PyTorch keeps for gradients is not computed."""
    if c.mode != _LSTM or c.num_layers != 1 or c.bidirectional or c.batch_first or c.batch_sizes or c.is_read(3):
        raise NotImplementedError("a recurrent layer that is not one direction of one layer of an LSTM")
    (steps, rows, width), size = c.input.shape, c.hidden_size
    products = ops.matmul(c.input.reshape((steps * rows, width)), c.weight0, transpose_x2=True)
    if c.has_biases:
        products = ops.add(products, ops.add(c.weight2, c.weight3))
    states = [one.reshape((rows, size)) for one in (c.hx_, c.cx_)]
    recurrent = c.weight1 if steps < _LEAST_STEPS else ops.permute(c.weight1, (1, 0))
    steps_of = recurrence(_STEP, 4)
    (hidden,), last = steps_of([products.reshape((steps, rows, 4 * size))], states, [recurrent], backwards=c.reverse)
    return hidden, *last, None


def _last(c: AtenCall) -> range:
    """Return as many of the last axes as there are sizes."""
    return range(-len(c.normalized_shape), 0)


def _options(c: AtenCall) -> dict[str, Any]:
    if c.dropout_p:
        raise NotImplementedError("attention with dropout")
    return {"is_causal": c.is_causal, "scale": c.scale}


def _steps(c: AtenCall) -> dict[str, Any]:
    """Return the options of windows. A list of one number has that of all axes."""
    lists = {"strides": c.stride or c.kernel_size, "pads": c.padding, "dilations": c.dilation or [1]}
    found = {name: one if len(one) > 1 else one[0] for name, one in lists.items()}
    return found | ({"pads": c.padding * 2} if len(c.padding) > 1 else {})


def _extended(c: AtenCall) -> Any:
    """Return the operand of a transposed convolution with zeros behind it, for windows in the padding of the result."""
    more = np.broadcast_to(np.asarray(c.output_padding) // c.stride, len(c.weight.shape) - 2)
    return ops.pad(c.input, [(0, 0), (0, 0), *((0, count) for count in more.tolist())]) if more.any() else c.input


def _convolution(c: AtenCall) -> Any:
    w, options = c.weight, {**_steps(c), "groups": c.groups}
    if not c.transposed:
        return ops.conv(c.input, w, c.bias, **options)
    y = ops.conv_x_grad(_extended(c), w, c.shape, **options)
    return y if c.bias is None else ops.add(y, c.bias.reshape((-1, *[1] * (len(w.shape) - 2))))


def _convolution_backward(c: AtenCall) -> Any:
    dy, x, w, options = c.grad_output, c.input, c.weight, {**_steps(c), "groups": c.groups}
    by_x, by_w, by_bias = c.output_mask
    pair = (_extended(c), dy) if c.transposed else (dy, x)  # the gradient of a convolution, whose result is x, or one
    dw = ops.conv_w_grad(*pair, w.shape, **options) if by_w else None
    dx = None
    if by_x and c.transposed:
        dx = ops.slice(ops.conv(dy, w, **options), *map(slice, x.shape))
    elif by_x:
        dx = ops.conv_x_grad(dy, w, x.shape, **options)
    return dx, dw, ops.sum(dy, (0, *range(2, len(dy.shape))), dy.dtype) if by_bias else None


def _pool(c: AtenCall) -> dict[str, Any]:
    """Return the options of a pool."""
    kernel = c.kernel_size * (len(c.self.shape) - 2) if len(c.kernel_size) == 1 else c.kernel_size
    return {"kernel": kernel, **_steps(c), "ceil_mode": c.ceil_mode}


def _average(c: AtenCall) -> dict[str, Any]:
    return {**_pool(c), "count_include_pad": c.count_include_pad, "divisor": c.divisor_override}


add_named(
    in_order,
    """
    mm.default=matmul bmm.default=matmul _adaptive_avg_pool2d=adaptive_average_pool
    _adaptive_avg_pool3d=adaptive_average_pool
""",
)
add({
    "native_layer_norm": lambda c: ops.layer_norm(c.input, c.weight, c.bias, _last(c), c.eps, return_statistics=True),
    "native_layer_norm_backward": lambda c: ops.layer_norm_grad(
        c.grad_out, c.input, c.mean, c.rstd, c.weight, c.bias, _last(c), wanted=c.output_mask
    ),
    "native_group_norm": lambda c: ops.group_norm(
        c.input, c.weight, c.bias, num_groups=c.group, epsilon=c.eps, return_statistics=True
    ),
    "native_group_norm_backward": lambda c: ops.group_norm_grad(  # of the bias, the shape counts
        c.grad_out, c.input, c.mean, c.rstd, c.weight, c.constant(np.zeros(c.C, c.dtype)),
        num_groups=c.group, wanted=c.output_mask,
    ),
    "_scaled_dot_product_flash_attention_for_cpu": lambda c: ops.attention(
        c.query, c.key, c.value, c.attn_mask, return_lse=True, **_options(c)
    ),
    "_scaled_dot_product_flash_attention_for_cpu_backward": lambda c: ops.attention_grad(
        c.grad_out, c.query, c.key, c.value, c.out, c.logsumexp, c.attn_mask, **_options(c)
    ),
    "mkldnn_rnn_layer.default": _layer,
    "convolution": _convolution,
    "convolution_backward": _convolution_backward,
    "max_pool2d_with_indices max_pool3d_with_indices": lambda c: (
        ops.max_pool_with_indices(c.self, **_pool(c)) if c.is_read(1) else (ops.max_pool(c.self, **_pool(c)), None)
    ),
    "max_pool2d_with_indices_backward max_pool3d_with_indices_backward": lambda c: ops.max_unpool(
        c.grad_output, c.indices, c.self.shape[2:]
    ),
    "avg_pool2d avg_pool3d": lambda c: ops.average_pool(c.self, **_average(c)),
    "avg_pool2d_backward avg_pool3d_backward": lambda c: ops.average_pool_grad(
        c.grad_output, c.self.shape, **_average(c)
    ),
    "_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward": lambda c: ops.adaptive_average_pool_grad(
        c.grad_output, c.self.shape
    ),
})  # fmt: skip
