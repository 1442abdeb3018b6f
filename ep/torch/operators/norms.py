"""Normalisations, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ep import ops
from ep.torch.operators.reductions import variance
from ep.torch.table import Call, computes


@computes("native_layer_norm")
def _(call: Call, x: Any, shape: Any, weight: Any, bias: Any, epsilon: float) -> Any:
    return ops.layer_norm(x, weight, bias, _last(shape), epsilon, return_statistics=True)


@computes("native_layer_norm_backward")
def _(call: Call, dy: Any, x: Any, shape: Any, mean: Any, inverse: Any, weight: Any, bias: Any, wanted: Any) -> Any:
    return ops.layer_norm_grad(dy, x, mean, inverse, weight, bias, _last(shape), wanted=wanted)


def _last(shape: Any) -> tuple[int, ...]:
    """Return as many of the last axes as there are sizes."""
    return tuple(range(-len(shape), 0))


@computes("native_group_norm")
def _(
    call: Call, x: Any, weight: Any, bias: Any, samples: int, channels: int, plane: int, groups: int, epsilon: float
) -> Any:
    return ops.group_norm(x, weight, bias, num_groups=groups, epsilon=epsilon, return_statistics=True)


@computes("native_group_norm_backward")
def _(
    call: Call, dy: Any, x: Any, mean: Any, inverse: Any, weight: Any, samples: int, channels: int, plane: int,
    groups: int, wanted: Any,
) -> Any:  # fmt: skip
    if weight is None and wanted[2]:
        raise NotImplementedError("a bias without a weight")
    return ops.group_norm_grad(dy, x, mean, inverse, weight, weight, num_groups=groups, wanted=wanted)


@computes("_fused_rms_norm")
def _(call: Call, x: Any, shape: Any, weight: Any, epsilon: float | None) -> Any:
    step = torch.finfo(torch.float64 if x.dtype == np.float64 else torch.float32).eps
    return ops.rms_norm(x, weight, _last(shape), step if epsilon is None else epsilon, return_statistics=True)


@computes("_fused_rms_norm_backward")
def _(call: Call, dy: Any, x: Any, shape: Any, inverse: Any, weight: Any, wanted: Any) -> Any:
    return ops.rms_norm_grad(dy, x, inverse, weight, _last(shape), wanted=wanted)


def _channels(x: Any, array: Any) -> Any:
    """Return an array of one number for each channel in a shape that broadcasts with x."""
    return array.reshape((array.size, *[1] * (len(x.shape) - 2)))


@computes("_native_batch_norm_legit_no_training")
def _(call: Call, x: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float) -> Any:
    factor = ops.rsqrt(ops.add(var, eps))
    factor = factor if weight is None else ops.mul(factor, call.cast(weight, factor.dtype))
    offset = ops.negative(ops.mul(mean, factor))
    offset = offset if bias is None else ops.add(offset, call.cast(bias, factor.dtype))
    y = ops.add(ops.mul(call.cast(x, factor.dtype), _channels(x, factor)), _channels(x, offset))
    none = call.constant(np.empty(0, factor.dtype))  # no statistics are taken
    return call.cast(y), none, none


@computes("_native_batch_norm_legit_functional")
def _(
    call: Call, x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float
) -> Any:
    if not training:
        raise NotImplementedError("batch norm with given statistics")
    axes, count = (0, *range(2, len(x.shape))), x.size // max(x.shape[1], 1)
    wide = call.cast(x, mean.dtype)
    var_x, mean_x = variance(call, wide, axes, 0, True)
    rstd = ops.rsqrt(ops.add(var_x, eps))
    y = ops.mul(ops.sub(wide, mean_x), rstd)
    y = y if weight is None else ops.mul(y, _channels(x, weight))
    y = y if bias is None else ops.add(y, _channels(x, bias))
    var_x, mean_x, rstd = (one.reshape((x.shape[1],)) for one in (var_x, mean_x, rstd))

    def followed(old: Any, new: Any) -> Any:
        return ops.add(ops.mul(new, momentum), ops.mul(old, 1 - momentum))

    unbiased = ops.mul(var_x, count / max(count - 1, 1))
    return call.cast(y), mean_x, rstd, followed(mean, mean_x), followed(var, unbiased)
