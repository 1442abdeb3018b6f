"""Attention, and its gradient."""

from __future__ import annotations

from typing import Any

from ep import ops
from ep.torch.table import Call, computes


@computes("_scaled_dot_product_flash_attention_for_cpu")
def _(
    call: Call, q: Any, k: Any, v: Any, dropout: float = 0.0, is_causal: bool = False, *, attn_mask: Any = None,
    scale: float | None = None,
) -> Any:  # fmt: skip
    _check_dropout(dropout)
    return ops.attention(q, k, v, attn_mask, is_causal=is_causal, scale=scale, return_lse=True)


@computes("_scaled_dot_product_flash_attention_for_cpu_backward")
def _(
    call: Call, dy: Any, q: Any, k: Any, v: Any, y: Any, lse: Any, dropout: float, is_causal: bool, *,
    attn_mask: Any = None, scale: float | None = None,
) -> Any:  # fmt: skip
    _check_dropout(dropout)
    return ops.attention_grad(dy, q, k, v, y, lse, attn_mask, is_causal=is_causal, scale=scale)


def _check_dropout(dropout: float) -> None:
    if dropout:
        raise NotImplementedError("attention with dropout")
