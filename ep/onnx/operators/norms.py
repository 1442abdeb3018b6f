"""Normalisations: numbers minus their mean, over the root of their variance, the mean of squares of the differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ep import ops
from ep.onnx.operators.fitting import axes_in, axis_in, check, check_broadcasts, check_rank, check_shape
from ep.onnx.operators.line import line, one_of
from ep.onnx.operators.types import in_float32, wide_of
from ep.onnx.types import dtype_of

check_stash: Final = one_of(stash_type=(1, 10, 11, 16))  # the numbers of the floating-point types


@line("BatchNormalization", 7, check=one_of(spatial=(1,), training_mode=(0,)), most_outputs=1)
def batch_normalization(
    x: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float, **_: Any
) -> Any:  # fmt: skip
    """Return each channel minus its mean, over the root of its variance, times a scale, plus a bias.

    The types may differ: the widest one is computed in, at least float32.
    """
    check_rank("X", x, least=1)
    each = {"scale": scale, "B": bias, "input_mean": mean, "input_var": variance}
    for name, numbers in each.items():
        of_channels(numbers, x, name)
    wide = np.result_type(*(wide_of(one.dtype) for one in (x, *each.values())))
    scale, bias, mean, variance = (ops.cast(one, wide) for one in each.values())
    factor = of_channels(ops.mul(scale, ops.rsqrt(ops.add(variance, epsilon))), x, "scale")
    normed = ops.mul(ops.sub(ops.cast(x, wide), of_channels(mean, x, "input_mean")), factor)
    return ops.cast(ops.add(normed, of_channels(bias, x, "B")), x.dtype)


@line("InstanceNormalization", 6)
def instance_normalization(x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    """Return each channel of each sample, normalised over its places, times a scale, plus a bias."""
    scale, bias = of_channels(scale, x, "scale"), of_channels(bias, x, "B")
    return ops.layer_norm(x, scale, bias, range(2, len(x.shape)), epsilon)


@line("LayerNormalization", 17, check=check_stash)
def layer_normalization(
    x: Any, scale: Any, bias: Any = None, *, axis: int, epsilon: float, stash_type: int
) -> tuple[Any, Any, Any]:
    """Return x, normalised over its axes from `axis` on, times a scale, plus a bias; the means and 1 over the roots of
    the variances. The normalisation is computed in `stash_type`, at least in float32."""
    check_broadcasts("Scale", scale, x.shape)
    check_broadcasts("B", bias, x.shape)
    stash, rank = dtype_of(stash_type), len(x.shape)
    axes = range(axis_in(rank, axis), rank)
    found = ops.layer_norm(ops.cast(x, stash), scale, bias, axes, epsilon, return_statistics=True)
    y, mean, inverse = (ops.cast(one, dtype) for one, dtype in zip(found, (x.dtype, stash, stash), strict=True))
    return y, mean, inverse


@line("RMSNormalization", 23, check=check_stash)
def rms_normalization(x: Any, scale: Any, *, axis: int, epsilon: float, stash_type: int) -> Any:
    """Return x over the root of the mean of its squares over the axes from `axis` on, times a scale, in its dtype. The
    normalisation is computed in `stash_type`, at least in float32."""
    check_broadcasts("scale", scale, x.shape)
    axes = range(axis_in(len(x.shape), axis), len(x.shape))
    normed = ops.rms_norm(ops.cast(x, dtype_of(stash_type)), None, axes, epsilon)
    return ops.mul(ops.cast(ops.cast(normed, x.dtype), scale.dtype), scale)


@line("GroupNormalization", 21, check=check_stash)
def group_normalization(
    x: Any, scale: Any, bias: Any, *, num_groups: int, epsilon: float, stash_type: int = 1
) -> Any:  # fmt: skip
    """Return x, normalised over each group of channels of each sample, times the scale of each channel, plus its bias.

    The normalisation is computed in `stash_type`, at least in float32.
    """
    check_rank("X", x, least=2)
    fits = num_groups > 0 and x.shape[1] % num_groups == 0
    check(fits, "num_groups", num_groups, f"a divisor of the channels of X, {x.shape[1]}")
    check_shape("scale", scale, x.shape[1:2])
    check_shape("bias", bias, x.shape[1:2])
    wide = ops.cast(x, dtype_of(stash_type))
    return ops.cast(ops.group_norm(wide, scale, bias, num_groups=num_groups, epsilon=epsilon), x.dtype)


@line("MeanVarianceNormalization", 9)
def mean_variance_normalization(x: Any, axes: Sequence[int]) -> Any:
    """Return x minus its mean over some axes, over the root of its variance; 0 where that is 0."""
    found = tuple(axes_in(len(x.shape), axes))
    normed, _, inverse = ops.layer_norm(x, axis=found, epsilon=0.0, return_statistics=True)
    return ops.where(ops.equal(inverse, math.inf), 0.0, normed)


@line("LpNormalization", 1, check=one_of(p=(1, 2)))
@in_float32
def lp_normalization(x: Any, axis: int, p: int) -> Any:
    """Return x over its norm along an axis, and 0 where the norm is 0. Sums are of x over its largest element, so that
    they are in the range of the type."""
    axis_in(len(x.shape), axis)
    if 0 in x.shape:
        return ops.identity(x)
    most = ops.max(ops.abs(x), axis, keepdims=True)
    x = ops.div(x, ops.where(ops.logical_and(ops.is_finite(most), ops.greater(most, 0.0)), most, 1.0))
    terms = ops.abs(x) if p == 1 else ops.mul(x, x)
    norm = ops.sum(terms, axis, keepdims=True)
    norm = norm if p == 1 else ops.sqrt(norm)
    return ops.where(ops.equal(norm, 0.0), 0.0, ops.div(x, norm))


def of_channels(numbers: Any, x: Any, name: str) -> Any:
    """Return one number for each channel of x in a shape that broadcasts to it; ValueError for another number of them.

    name: of the argument.
    """
    channels = x.shape[1] if len(x.shape) > 1 else 1
    check_shape(name, numbers, (channels,))
    return numbers.reshape((channels, *[1] * (len(x.shape) - 2)))
