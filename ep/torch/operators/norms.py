"""Normalisations and attention, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep import ops
from ep.torch.table import Arguments, Call, add


def _last(a: Arguments) -> tuple[int, ...]:
    """Return as many of the last axes as there are sizes."""
    return tuple(range(-len(a.normalized_shape), 0))


def _wide(a: Arguments, *arrays: Any) -> list[Any]:
    """Return arrays in the type that norms are computed in."""
    dtype = np.float64 if a.input.dtype == np.float64 else np.float32
    return [one if one is None or one.dtype == dtype else ops.cast(one, dtype) for one in arrays]


def _layer_norm_backward(_: Call, a: Arguments) -> Any:
    mean, inverse = _wide(a, a.mean, a.rstd)
    return ops.layer_norm_grad(a.grad_out, a.input, mean, inverse, a.weight, a.bias, _last(a), wanted=a.output_mask)


def _group_norm_backward(_: Call, a: Arguments) -> Any:
    if a.weight is None and a.output_mask[2]:
        raise NotImplementedError("a bias without a weight")
    given: Any = a.grad_out, a.input, *_wide(a, a.mean, a.rstd), a.weight, a.weight
    return ops.group_norm_grad(*given, num_groups=a.group, wanted=a.output_mask)


def _rms_norm(_: Call, a: Arguments) -> Any:
    step: Any = np.finfo(np.float64 if a.input.dtype == np.float64 else np.float32).eps
    return ops.rms_norm(a.input, a.weight, _last(a), step if a.eps is None else a.eps, return_statistics=True)


def _channels(x: Any, array: Any) -> Any:
    """Return an array of one number for each channel in a shape that broadcasts with x."""
    return array.reshape((array.size, *[1] * (len(x.shape) - 2)))


def _batch_norm(c: Call, a: Arguments) -> Any:
    x, var, mean, weight, bias = _wide(a, a.input, a.running_var, a.running_mean, a.weight, a.bias)
    factor = ops.rsqrt(ops.add(var, a.eps))
    factor = factor if weight is None else ops.mul(factor, weight)
    offset = ops.negative(ops.mul(mean, factor))
    offset = offset if bias is None else ops.add(offset, bias)
    none = c.constant(np.empty(0, factor.dtype))  # no statistics are taken
    return ops.add(ops.mul(x, _channels(x, factor)), _channels(x, offset)), none, none


def _options(a: Arguments) -> dict[str, Any]:
    if a.dropout_p:
        raise NotImplementedError("attention with dropout")
    return {"is_causal": a.is_causal, "scale": a.scale}


def _attention(_: Call, a: Arguments) -> Any:
    return ops.attention(a.query, a.key, a.value, a.attn_mask, return_lse=True, **_options(a))


def _attention_backward(_: Call, a: Arguments) -> Any:
    given = a.grad_out, a.query, a.key, a.value, a.out, a.logsumexp, a.attn_mask
    return ops.attention_grad(*given, **_options(a))


add({
    "native_layer_norm": lambda _, a: ops.layer_norm(
        a.input, a.weight, a.bias, _last(a), a.eps, return_statistics=True
    ),
    "native_layer_norm_backward": _layer_norm_backward,
    "native_group_norm": lambda _, a: ops.group_norm(
        a.input, a.weight, a.bias, num_groups=a.group, epsilon=a.eps, return_statistics=True
    ),
    "native_group_norm_backward": _group_norm_backward,
    "_fused_rms_norm": _rms_norm,
    "_fused_rms_norm_backward": lambda _, a: ops.rms_norm_grad(
        a.grad_out, a.input, _wide(a, a.rstd)[0], a.weight, _last(a), wanted=a.output_mask
    ),
    "_native_batch_norm_legit_no_training": _batch_norm,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _attention_backward,
})  # fmt: skip
