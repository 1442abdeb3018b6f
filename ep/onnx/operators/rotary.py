"""RotaryEmbedding: pairs of numbers, turned by angles that follow from the positions of tokens."""

from __future__ import annotations

from typing import Any

from ep import ops
from ep.onnx.operators.fitting import check, check_rank, check_shape
from ep.onnx.operators.line import line
from ep.onnx.operators.types import in_float32


@line("RotaryEmbedding", 23, indices="position_ids")
@in_float32
def rotary_embedding(
    x: Any, cos: Any, sin: Any, ids: Any = None, *, interleaved: int, rotary_embedding_dim: int, num_heads: int = 0
) -> Any:
    """Return x, of which the first `rotary_embedding_dim` numbers of each head are turned; 0 stands for all.

    A pair is two numbers behind each other if `interleaved`, else one of the first half and one of the second half.
    """
    check_rank("X", x, 3, 4)
    if len(x.shape) == 3:
        (batch, length, hidden), heads = x.shape, 2
        fits = num_heads > 0 and hidden % num_heads == 0
        check(fits, "num_heads", num_heads, f"a divisor of the last axis of X of shape {tuple(x.shape)}")
        wide = x.reshape((batch, length, num_heads, hidden // num_heads))
    else:
        (batch, _, length, _), heads, wide = x.shape, 1, x
    size = wide.shape[-1]
    turned = rotary_embedding_dim or size
    fits = 0 <= turned <= size and turned % 2 == 0
    check(
        fits, "rotary_embedding_dim", rotary_embedding_dim, f"even, or 0 for even heads; heads of X have {size} numbers"
    )
    half = turned // 2
    if ids is None:
        sizes: tuple[int, ...] = (batch, length, half)
    else:
        check_rank("cos_cache", cos, 2)
        check_shape("position_ids", ids, (batch, length))
        sizes = (cos.shape[0], half)
    check_shape("cos_cache", cos, sizes)
    check_shape("sin_cache", sin, sizes)
    around = [batch, length, half]
    around.insert(heads, 1)
    cos, sin = ((one if ids is None else ops.gather(one, ids, 0)).reshape(tuple(around)) for one in (cos, sin))
    part = ops.slice(wide, ..., (None, turned))
    each = wide.shape[:-1]
    if interleaved:
        pairs = part.reshape((*each, half, 2))
        first, second = (ops.slice(pairs, ..., (k, k + 1)).reshape((*each, half)) for k in range(2))
    else:
        first, second = ops.slice(part, ..., (None, half)), ops.slice(part, ..., (half, None))
    found = (
        ops.sub(ops.mul(cos, first), ops.mul(sin, second)),
        ops.add(ops.mul(sin, first), ops.mul(cos, second)),
    )
    if interleaved:
        result = ops.concat(tuple(one.reshape((*each, half, 1)) for one in found), -1).reshape((*each, turned))
    else:
        result = ops.concat(found, -1)
    if turned < size:
        result = ops.concat((result, ops.slice(wide, ..., (turned, None))), -1)
    return result.reshape(x.shape)
