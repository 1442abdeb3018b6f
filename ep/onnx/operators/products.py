"""Matrix products, and normalisations of channels."""

from __future__ import annotations

from typing import Any, Final

from ep import ops
from ep.onnx.operators.attributes import one_of


def gemm(a: Any, b: Any, c: Any = None, *, alpha: float, beta: float, transA: int, transB: int) -> Any:
    """Return `alpha a b + beta c`."""
    product = ops.matmul(a, b, bool(transA), bool(transB))
    product = product if alpha == 1 else ops.mul(product, alpha)
    if c is None:
        return product
    return ops.add(product, c if beta == 1 else ops.mul(c, beta))


check_normalization: Final = one_of(spatial=(1,), training_mode=(0,))


def batch_normalization(x: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float, **_: Any) -> Any:
    """Return each channel minus its mean, divided by the root of its variance, times a scale, plus a bias."""
    factor = ops.mul(scale, ops.rsqrt(ops.add(variance, epsilon)))
    offset = ops.sub(bias, ops.mul(mean, factor))
    return ops.add(ops.mul(x, of_channels(factor, x)), of_channels(offset, x))


def instance_normalization(x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    """Return each channel of each sample minus its mean, divided by the root of its variance, times a scale, plus a
    bias."""
    axes = tuple(range(2, len(x.shape)))
    rest = ops.sub(x, ops.mean(x, axes, keepdims=True))
    variance = ops.mean(ops.mul(rest, rest), axes, keepdims=True)
    normed = ops.mul(rest, ops.rsqrt(ops.add(variance, epsilon)))
    return ops.add(ops.mul(normed, of_channels(scale, x)), of_channels(bias, x))


def of_channels(numbers: Any, x: Any) -> Any:
    """Return one number for each channel of x in a shape that broadcasts to it."""
    return numbers.reshape((*numbers.shape, *[1] * (len(x.shape) - 2)))
