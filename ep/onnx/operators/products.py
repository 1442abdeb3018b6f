"""Matrix products, and normalisations with given statistics."""

from __future__ import annotations

from typing import Any

from ep import ops


def gemm(a: Any, b: Any, c: Any = None, *, alpha: float, beta: float, transA: int, transB: int) -> Any:
    """Return `alpha a b + beta c`."""
    product = ops.matmul(a, b, bool(transA), bool(transB))
    product = product if alpha == 1 else ops.mul(product, alpha)
    if c is None:
        return product
    return ops.add(product, c if beta == 1 else ops.mul(c, beta))


def batch_normalization(x: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float, **_: Any) -> Any:
    """Return each channel minus its mean, divided by the root of its variance, times a scale, plus a bias."""
    shape = (-1, *[1] * (len(x.shape) - 2))
    factor = ops.mul(scale, ops.rsqrt(ops.add(variance, epsilon)))
    offset = ops.sub(bias, ops.mul(mean, factor))
    return ops.add(ops.mul(x, factor.reshape(_channels(factor, shape))), offset.reshape(_channels(offset, shape)))


def instance_normalization(x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    """Return each channel of each sample minus its mean, divided by the root of its variance, times a scale, plus a
    bias."""
    axes, shape = tuple(range(2, len(x.shape))), (-1, *[1] * (len(x.shape) - 2))
    rest = ops.sub(x, ops.mean(x, axes, keepdims=True))
    variance = ops.mean(ops.mul(rest, rest), axes, keepdims=True)
    normed = ops.mul(rest, ops.rsqrt(ops.add(variance, epsilon)))
    return ops.add(ops.mul(normed, scale.reshape(_channels(scale, shape))), bias.reshape(_channels(bias, shape)))


def _channels(numbers: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*numbers.shape, *shape[1:])
