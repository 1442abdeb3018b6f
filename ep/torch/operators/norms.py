"""Normalisations and attention, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep import ops
from ep.torch.table import Arguments, Call, add


def _last(a: Arguments) -> tuple[int, ...]:
    """Return as many of the last axes as there are sizes."""
    return tuple(range(-len(a.normalized_shape), 0))


def _group_norm_backward(_: Call, a: Arguments) -> Any:
    if a.weight is None and a.output_mask[2]:
        raise NotImplementedError("a bias without a weight")
    given = a.grad_out, a.input, a.mean, a.rstd, a.weight, a.weight  # a bias is like the weight
    return ops.group_norm_grad(*given, num_groups=a.group, wanted=a.output_mask)


def _rms_norm(_: Call, a: Arguments) -> Any:
    step: Any = np.finfo(np.float64 if a.input.dtype == np.float64 else np.float32).eps
    return ops.rms_norm(a.input, a.weight, _last(a), step if a.eps is None else a.eps, return_statistics=True)


def _options(a: Arguments) -> dict[str, Any]:
    if a.dropout_p:
        raise NotImplementedError("attention with dropout")
    return {"is_causal": a.is_causal, "scale": a.scale}


add({
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
    "_fused_rms_norm": _rms_norm,
    "_fused_rms_norm_backward": lambda _, a: ops.rms_norm_grad(
        a.grad_out, a.input, a.rstd, a.weight, _last(a), wanted=a.output_mask
    ),
    "_scaled_dot_product_flash_attention_for_cpu": lambda _, a: ops.attention(
        a.query, a.key, a.value, a.attn_mask, return_lse=True, **_options(a)
    ),
    "_scaled_dot_product_flash_attention_for_cpu_backward": lambda _, a: ops.attention_grad(
        a.grad_out, a.query, a.key, a.value, a.out, a.logsumexp, a.attn_mask, **_options(a)
    ),
})  # fmt: skip
