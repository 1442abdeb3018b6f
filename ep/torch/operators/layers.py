"""Layers: products of matrices, normalisations, attention and recurrent ones, with their gradients."""

from __future__ import annotations

from typing import Any, Final

from ep import ops
from ep.expressions.recurrent import lstm_step, recurrence
from ep.torch.table import Arguments, AtenCall, add

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
})  # fmt: skip
