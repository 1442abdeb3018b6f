"""Records of attention, one query at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.onnx.operators.record import Draw, Output, Record


def _attention(d: Draw) -> Any:
    heads, groups = d.pick("heads", ((1, 1), (2, 2), (4, 2), (3, 1)))
    batch, rows, keys = d.pick("batch", (1, 2)), d.pick("rows", (1, 3, 5)), d.pick("keys", (1, 4, 7))
    size, width = d.pick("head size", (1, 4, 6)), d.pick("value size", (2, 6))
    before = d.pick("past", (None, None, 3))
    other = d.types["T2"][int(d.rng.integers(len(d.types["T2"])))] if d.since < 0 else d.dtype
    query, key, value = (
        d.array(shape, kind, wild=False)
        for shape, kind in (
            ((batch, heads, rows, size), d.dtype),
            ((batch, groups, keys, size), d.dtype),
            ((batch, groups, keys, width), other),
        )
    )
    past = [None, None]
    if before is not None:
        past = [d.array((batch, groups, before, one), wild=False) for one in (size, width)]
    total = keys + (before or 0)
    given = {"is_causal": d.pick("is_causal", (0, 1)), "softcap": d.pick("softcap", (0.0, 2.0))}
    given |= {"scale": d.pick("scale", (None, 0.5)), "qk_matmul_output_mode": d.pick("mode", (0, 3))}
    if d.maybe("three axes"):
        query, key, value = (np.swapaxes(one, 1, 2).reshape(batch, one.shape[2], -1) for one in (query, key, value))
        given |= {"q_num_heads": heads, "kv_num_heads": groups}
    kind = d.pick("attn_mask", (None, "numbers", "truths"))
    shape = d.pick("mask shape", ((rows, total), (1, 1, rows, total), (batch, heads, rows, total)))
    mask = None
    if kind == "numbers":
        mask = d.array(shape, wild=False)
    elif kind == "truths":
        mask = d.rng.random(shape) < 0.7
        mask[..., 0] = True  # each row has a key
    return [query, key, value, mask, *past], given


def _attended(
    d: Draw, query: Any, key: Any, value: Any, mask: Any = None, past_key: Any = None, past_value: Any = None, *,
    is_causal: int, softcap: float, qk_matmul_output_mode: int, scale: float | None = None, q_num_heads: int = 0,
    kv_num_heads: int = 0, **_: Any,
) -> Any:  # fmt: skip
    is_flat = query.ndim == 3
    if is_flat:
        query = np.swapaxes(query.reshape(*query.shape[:2], q_num_heads, -1), 1, 2)
        key, value = (np.swapaxes(one.reshape(*one.shape[:2], kv_num_heads, -1), 1, 2) for one in (key, value))
    offset = 0
    if past_key is not None:
        offset = past_key.shape[2]
        key, value = np.concatenate([past_key, key], 2), np.concatenate([past_value, value], 2)
    batch, heads, rows, size = query.shape
    factor = 1 / math.sqrt(size) if scale is None else float(np.float32(scale))
    share, total = heads // key.shape[1], key.shape[2]
    bias = np.zeros((batch, heads, rows, total))
    if mask is not None:
        bias = bias + (np.where(mask, 0.0, -np.inf) if mask.dtype.kind == "b" else mask)
    y, scores = np.zeros((batch, heads, rows, value.shape[-1])), np.zeros((batch, heads, rows, total))
    for b, h, i in np.ndindex(batch, heads, rows):
        row = factor * (key[b, h // share] @ query[b, h, i])
        scores[b, h, i] = row
        row = softcap * np.tanh(row / softcap) if softcap else row
        row = row + bias[b, h, i]
        if is_causal:
            row = np.where(np.arange(total) <= i + offset, row, -np.inf)
        parts = np.exp(row - np.max(row)) if np.isfinite(np.max(row)) else np.zeros(total)
        parts = parts / max(np.sum(parts), 1e-300)
        y[b, h, i] = parts @ value[b, h // share]
        if qk_matmul_output_mode == 3:
            scores[b, h, i] = parts
    rough = 64 * np.max(np.abs(value)) * (1 + factor * size * np.max(np.abs(query)) * np.max(np.abs(key)))
    rough = rough * (1 + 16 * (d.dtype.itemsize == 2))
    y = np.swapaxes(y, 1, 2).reshape(batch, rows, -1) if is_flat else y
    large = np.full(y.shape, rough)
    if past_key is None:
        return Output(y, magnitude=large)
    whole = (Output(key, d.dtype), Output(value, d.drawn[2].dtype))
    return (Output(y, magnitude=large), *whole, Output(scores, d.dtype, np.full(scores.shape, rough)))


def _linear(d: Draw) -> Any:
    heads, groups = d.pick("heads", ((1, 1), (2, 2), (4, 2)))
    batch, steps, size, width = d.pick("batch", (1, 2)), d.pick("steps", (1, 3, 6)), d.pick("size", (2, 4)), 3
    rule = d.pick("update_rule", ("linear", "gated", "delta", "gated_delta"))
    query = d.array((batch, steps, heads * size), wild=False)
    key, value = (d.array((batch, steps, groups * one), wild=False) for one in (size, width))
    key = (key / 8).astype(key.dtype)
    states = d.types["S"]
    state = states[int(d.rng.integers(len(states)))]
    past = d.array((batch, groups, size, width), state, wild=False) if d.maybe("past") else None
    decay = beta = None
    if "gated" in rule:
        shape = (batch, steps, groups * (size if d.maybe("each") else 1))
        decay = (-np.abs(d.array(shape, np.float64, wild=False)) / 4).astype(d.dtype)
    if "delta" in rule:
        beta = d.rng.random((batch, steps, groups if d.maybe("beta of heads") else 1)).astype(d.dtype)
    given = {"q_num_heads": heads, "kv_num_heads": groups, "update_rule": rule, "scale": d.pick("scale", (0.0, 0.5))}
    return [query, key, value, past, decay, beta], given


def _linear_of(
    d: Draw, query: Any, key: Any, value: Any, past: Any = None, decay: Any = None, beta: Any = None, *,
    q_num_heads: int, kv_num_heads: int, update_rule: str, scale: float, **_: Any,
) -> Any:  # fmt: skip
    batch, steps, _ = query.shape
    q = query.reshape(batch, steps, q_num_heads, -1)
    k, v = (one.reshape(batch, steps, kv_num_heads, -1) for one in (key, value))
    size, width, share = k.shape[-1], v.shape[-1], q_num_heads // kv_num_heads
    scale = scale or 1 / math.sqrt(size)
    states = np.zeros((batch, kv_num_heads, size, width)) if past is None else past.copy()
    y = np.zeros((batch, steps, q_num_heads, width))
    for b, t, g in np.ndindex(batch, steps, kv_num_heads):
        s, x = states[b, g], v[b, t, g]
        if "gated" in update_rule:
            s = np.exp(decay[b, t].reshape(kv_num_heads, -1)[g])[:, None] * s
        if "delta" in update_rule:
            x = beta[b, t, g if beta.shape[2] > 1 else 0] * (x - s.T @ k[b, t, g])
        states[b, g] = s = s + np.outer(k[b, t, g], x)
        for h in range(g * share, (g + 1) * share):
            y[b, t, h] = scale * (s.T @ q[b, t, h])
    rough = 64 * (1 + np.max(np.abs(y), initial=0) + np.max(np.abs(states), initial=0))
    state = d.dtype if past is None else d.drawn[3].dtype
    y = y.reshape(batch, steps, -1)
    return Output(y, magnitude=np.full(y.shape, rough)), Output(states, state, np.full(states.shape, rough))


def _causal(d: Draw) -> Any:
    batch, channels, length, kernel = (d.pick(name, some) for name, some in _CAUSAL)
    x, w = d.array((batch, channels, length), wild=False), d.array((channels, 1, kernel), wild=False)
    bias = d.array((channels,), wild=False) if d.maybe("bias") else None
    past = d.array((batch, channels, kernel - 1), wild=False) if d.maybe("past") else None
    return [x, w, bias, past], {"activation": d.pick("activation", ("none", "silu", "swish"))}


_CAUSAL = (("batch", (1, 2)), ("channels", (1, 3)), ("length", (1, 4, 7)), ("kernel", (2, 3, 4)))


def _causal_of(d: Draw, x: Any, w: Any, bias: Any = None, past: Any = None, *, activation: str = "none") -> Any:
    before = np.zeros((*x.shape[:2], w.shape[2] - 1)) if past is None else past
    whole = np.concatenate([before, x], 2)
    y, scale = np.zeros(x.shape), np.zeros(x.shape)
    for t in range(x.shape[2]):
        y[..., t] = np.sum(whole[..., t : t + w.shape[2]] * w[:, 0], -1)
        scale[..., t] = np.sum(np.abs(whole[..., t : t + w.shape[2]] * w[:, 0]), -1)
    if bias is not None:
        y, scale = y + bias[:, None], scale + np.abs(bias)[:, None]
    y = y / (1 + np.exp(-y)) if activation != "none" else y
    return Output(y, magnitude=8 * scale), whole[..., whole.shape[2] - w.shape[2] + 1 :]


_ALL = (
    Record("Attention", _attention, _attended, 4),
    Record("LinearAttention", _linear, _linear_of, 4),
    Record("CausalConvWithState", _causal, _causal_of, 4),
)
RECORDS = {one.name: one for one in _ALL}
