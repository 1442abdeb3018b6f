"""Attention: mixtures of values, by softmaxes of the products of queries and keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ep import ops
from ep.onnx.operators.fitting import check, check_broadcasts, check_rank, check_shape
from ep.onnx.operators.line import line, one_of
from ep.onnx.operators.placing import places
from ep.onnx.operators.types import wide_of
from ep.onnx.types import dtype_of

_NOWHERE: Final = -math.inf


@line("Attention", 23, check=one_of(qk_matmul_output_mode=(0, 1, 2, 3), softmax_precision=(0, 1, 10, 11, 16)))
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
    for name, distance in (("left_window_size", left_window_size), ("right_window_size", right_window_size)):
        check(distance >= -1, name, distance, "-1 or more")
    factor, right = 1 / math.sqrt(max(size, 1)) if scale is None else scale, 0 if is_causal else right_window_size
    shape = batch, heads, rows, key.shape[2]
    mask, allowed = _mask(mask, shape), _allowed(query, shape, before, valid, left_window_size, right)
    products = _products(query, key, mask, allowed, factor, softcap, softmax_precision)
    options: dict[str, Any] = {"scale": factor, "softcap": softcap}
    if valid is not None or left_window_size >= 0:
        mask = allowed if mask is None else _masked(mask, allowed)
    elif right >= 0:  # no array has as many elements as there are products
        options |= {"is_causal": True, "offset": before + right}
    wide = dtype if value.dtype == dtype else np.result_type(wide_of(dtype), wide_of(value.dtype))
    q, k, v = (ops.cast(one, wide) for one in (query, key, value))
    y = ops.cast(ops.attention(q, k, v, mask, **options), dtype)
    if is_flat:
        y = ops.permute(y, (0, 2, 1, 3)).reshape((batch, rows, heads * value.shape[3]))
    return y, key, value, products[qk_matmul_output_mode]


def _products(
    query: Any, key: Any, mask: Any, allowed: Any, factor: float, softcap: float, precision: int
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Return the products of queries and keys; the same with a cap; with a mask; and the parts of keys in mixtures."""
    (batch, heads, rows, size), (groups, keys) = query.shape, key.shape[1:3]
    root = math.sqrt(abs(factor))  # of both, so that products do not overflow
    grouped = ops.mul(query, math.copysign(root, factor)).reshape((batch, groups, heads // groups * rows, size))
    products = ops.matmul(grouped, ops.mul(key, root), False, True).reshape((batch, heads, rows, keys))
    capped = ops.mul(ops.tanh(ops.div(products, softcap)), softcap) if softcap else products
    scores = capped
    for each in (mask, allowed):
        scores = scores if each is None else _masked(scores, each)
    wide = ops.cast(scores, dtype_of(precision)) if precision else scores
    parts = ops.softmax(wide, -1)
    if (mask is not None or allowed is not None) and keys:
        parts = ops.where(ops.equal(ops.max(wide, -1, keepdims=True), _NOWHERE), 0.0, parts)
    return products, capped, scores, ops.cast(parts, query.dtype)


def _by_heads(array: Any, heads: int, name: str) -> Any:
    """Return an array of three axes with an axis of heads before that of places."""
    check_rank("Q, K or V", array, 3)
    check(heads > 0 and array.shape[2] % heads == 0, name, heads, f"a divisor of the last axis of {array.shape}")
    return ops.permute(array.reshape((*array.shape[:2], heads, array.shape[2] // heads)), (0, 2, 1, 3))


def _allowed(query: Any, shape: Sequence[int], before: int, valid: Any, left: int, right: int) -> Any:
    """Return which keys each query may have, None for all.

    shape: that of the products. before: the number of keys of the past. valid: the number of keys of each sample, if it
    is given. left, right: how far keys may be from the query, -1 for any distance.
    """
    rows, keys = shape[2:]
    at, key = places(rows, 2, 4, query), places(keys, 3, 4, query)
    found = []
    if valid is None:
        at = ops.add(at, before)
    else:
        check_shape("nonpad_kv_seqlen", valid, shape[:1])
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
    return allowed


def _mask(mask: Any, shape: Sequence[int]) -> Any:
    """Return a mask that broadcasts to the shape of products; what it lacks along its last axis is forbidden."""
    if mask is None:
        return None
    check_rank("attn_mask", mask, least=1)
    if 1 < mask.shape[-1] < shape[-1]:
        more = [(0, 0)] * (len(mask.shape) - 1) + [(0, shape[-1] - mask.shape[-1])]
        mask = ops.pad(mask, more, constant_values=False if mask.dtype.kind == "b" else _NOWHERE)
    check_broadcasts("attn_mask", mask, shape)
    return mask


def _masked(scores: Any, mask: Any) -> Any:
    """Return scores, or another mask, with a mask: of truths, or of numbers that are added."""
    if scores.dtype.kind == "b":
        return ops.logical_and(scores, mask)
    return (
        ops.where(mask, scores, _NOWHERE) if mask.dtype.kind == "b" else ops.add(scores, ops.cast(mask, scores.dtype))
    )
