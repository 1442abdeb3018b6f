"""Attention: mixtures of values, by softmaxes of the products of queries and keys."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ep import ops
from ep.onnx.operators.attributes import one_of
from ep.onnx.operators.fitting import check, check_broadcasts, check_rank, check_shape
from ep.onnx.operators.placing import placed, places
from ep.onnx.types import dtype_of

check_attention: Final = one_of(qk_matmul_output_mode=(0, 1, 2, 3), softmax_precision=(0, 1, 10, 11, 16))
_NOWHERE: Final = -math.inf


def attention(
    query: Any, key: Any, value: Any, mask: Any = None, past_key: Any = None, past_value: Any = None,
    valid: Any = None, *, is_causal: int = 0, q_num_heads: int = 0, kv_num_heads: int = 0,
    qk_matmul_output_mode: int = 0, scale: float | None = None, softcap: float = 0.0, softmax_precision: int = 0,
    left_window_size: int = -1, right_window_size: int = -1,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Return the mixtures; the keys and values with those of the past before them; and products, by their mode.

    A query to which each key is forbidden has the result 0.
    """
    dtype, is_flat = query.dtype, len(query.shape) == 3
    if is_flat:
        query, key, value = (
            _by_heads(array, heads, name)
            for array, heads, name in (
                (query, q_num_heads, "q_num_heads"),
                (key, kv_num_heads, "kv_num_heads"),
                (value, kv_num_heads, "kv_num_heads"),
            )
        )
    for name, array in (("Q", query), ("K", key), ("V", value)):
        check_rank(name, array, 4)
    batch, heads, rows, size = query.shape
    groups = key.shape[1]
    for name, given, count in (("q_num_heads", q_num_heads, heads), ("kv_num_heads", kv_num_heads, groups)):
        check(given in (0, count), name, given, f"{count}, as the inputs of 4 axes have, or omitted")
    check_shape("K", key, (batch, groups, key.shape[2], size))
    check_shape("V", value, (batch, groups, key.shape[2], value.shape[3]))
    check(groups > 0 and heads % groups == 0, "Q of shape", query.shape, f"of a multiple of the {groups} heads of K")
    check((past_key is None) == (past_value is None), "past_key without past_value", None, "both, or none")
    before = 0
    if past_key is not None:
        before = past_key.shape[2]
        check_shape("past_key", past_key, (batch, groups, before, size))
        check_shape("past_value", past_value, (batch, groups, before, value.shape[3]))
        key, value = ops.concat((past_key, key), 2), ops.concat((past_value, value), 2)
    factor = 1 / math.sqrt(max(size, 1)) if scale is None else scale
    root = math.sqrt(abs(factor))  # of both, so that products do not overflow
    grouped = ops.mul(query, math.copysign(root, factor)).reshape((batch, groups, heads // groups * rows, size))
    products = ops.matmul(grouped, ops.mul(key, root), False, True).reshape((batch, heads, rows, key.shape[2]))
    capped = ops.mul(ops.tanh(ops.div(products, softcap)), softcap) if softcap else products
    for name, distance in (("left_window_size", left_window_size), ("right_window_size", right_window_size)):
        check(distance >= -1, name, distance, "-1 or more")
    allowed = _allowed(products, before, valid, left_window_size, 0 if is_causal else right_window_size)
    scores = _biased(capped, mask)
    scores = scores if allowed is None else ops.where(allowed, scores, _NOWHERE)
    wide = ops.cast(scores, dtype_of(softmax_precision)) if softmax_precision else scores
    parts = ops.softmax(wide, -1)
    if (mask is not None or valid is not None or left_window_size >= 0) and key.shape[2]:
        parts = ops.where(ops.equal(ops.max(wide, -1, keepdims=True), _NOWHERE), 0.0, parts)
    parts = ops.cast(parts, dtype)
    mixed = ops.matmul(ops.cast(parts, value.dtype).reshape((*grouped.shape[:3], key.shape[2])), value)
    y = ops.cast(mixed, dtype).reshape((batch, heads, rows, value.shape[3]))
    if is_flat:
        y = ops.permute(y, (0, 2, 1, 3)).reshape((batch, rows, heads * value.shape[3]))
    return y, key, value, (products, capped, scores, parts)[qk_matmul_output_mode]


def _by_heads(array: Any, heads: int, name: str) -> Any:
    """Return an array of three axes with an axis of heads before that of places."""
    check_rank("Q, K or V", array, 3)
    check(heads > 0 and array.shape[2] % heads == 0, name, heads, f"a divisor of the last axis of {array.shape}")
    return ops.permute(array.reshape((*array.shape[:2], heads, array.shape[2] // heads)), (0, 2, 1, 3))


def _allowed(products: Any, before: int, valid: Any, left: int, right: int) -> Any:
    """Return which keys each query may have, None for all.

    before: the number of keys of the past. valid: the number of keys of each sample, if it is given. left, right: how
    far keys may be from the query, -1 for any distance.
    """
    rows, keys = products.shape[2:]
    like = np.zeros(0) if valid is None else valid
    at, key = places(rows, 2, 4, like), places(keys, 3, 4, like)
    found = []
    if valid is None:
        at = ops.add(at, before)
    else:
        check_shape("nonpad_kv_seqlen", valid, products.shape[:1])
        counts = places(keys + 1, 0, 1, valid)
        valid = ops.gather(counts, valid, 0, mode="raise").reshape((-1, 1, 1, 1))  # an IndexError for other numbers
        found.append(ops.less(key, valid))
        at = ops.add(at, before if before else ops.sub(valid, rows))
    if right >= 0:
        found.append(ops.less_equal(key, ops.add(at, right)))
    if left >= 0:
        found.append(ops.greater_equal(key, ops.sub(at, left)))
    if not found:
        return None
    allowed = found[0]
    for one in found[1:]:
        allowed = ops.logical_and(allowed, one)
    return placed(allowed, products) if valid is None else allowed


def _biased(scores: Any, mask: Any) -> Any:
    """Return scores with those of forbidden keys -inf, or with the numbers of a mask added; what the mask lacks along
    its last axis is forbidden."""
    if mask is None:
        return scores
    check_rank("attn_mask", mask, least=1)
    is_truth = mask.dtype.kind == "b"
    mask = mask if is_truth else ops.cast(mask, scores.dtype)
    if 1 < mask.shape[-1] < scores.shape[-1]:
        more = [(0, 0)] * (len(mask.shape) - 1) + [(0, scores.shape[-1] - mask.shape[-1])]
        mask = ops.pad(mask, more, constant_values=False if is_truth else _NOWHERE)
    check_broadcasts("attn_mask", mask, scores.shape)
    return ops.where(mask, scores, _NOWHERE) if is_truth else ops.add(scores, mask)
