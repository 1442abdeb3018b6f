"""Records of normalisations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tests.onnx.operators.record import Draw, Output, Record, Refused
from tests.onnx.operators.reductions import axis_of

EPSILONS = (1e-5, 1e-3, 1.0)
STASH = {1: np.float32, 10: np.float16, 11: np.float64, 16: ml_dtypes.bfloat16}


def _numbers(d: Draw, shape: Sequence[int], dtype: Any = None) -> Any:
    """Return numbers around a mean that may be far from 0."""
    dtype = d.dtype if dtype is None else dtype
    mean = d.pick("mean", (0.0, 0.0, 1.0, -1000.0, 10_000.0))
    if d.rarely("equal numbers"):
        return np.full(shape, mean + 0.1).astype(dtype)
    return (d.array(shape, np.float64, wild=d.rarely("wild") and dtype != np.float64) + mean).astype(dtype)


def _fits(shape: Sequence[int], wanted: Sequence[int]) -> bool:
    try:
        return np.broadcast_shapes(shape, wanted) == tuple(wanted)
    except ValueError:
        return False


def _standardised(x: Any, axes: Sequence[int], epsilon: float, centred: bool = True) -> tuple[Any, Any, Any, Any]:
    """Return normalised numbers, what their errors are relative to, the mean, and 1 over the deviation."""
    axes = tuple(axes)
    if x.size == 0:
        return x, x, np.zeros([1 if k in axes else n for k, n in enumerate(x.shape)]), None
    exact = x.astype(np.longdouble)  # a mean that is rounded to float64 is not that of equal numbers
    mean = np.mean(exact, axes, keepdims=True) if centred else np.longdouble(0)
    rest, mean = (exact - mean).astype(np.float64), mean.astype(np.float64)
    inverse = 1 / np.sqrt(np.mean(rest**2, axes, keepdims=True) + epsilon)
    return rest * inverse, (np.abs(rest) + np.max(np.abs(rest), axes, keepdims=True)) * inverse, mean, inverse


def _coarse(stash: int, *dtypes: Any) -> float:
    """Return how much coarser the coarsest type of a computation is than that of the result, the last one."""
    steps = [float(ml_dtypes.finfo(one).eps) for one in (STASH[stash], *dtypes)]
    return max(steps) / steps[-1]


def _layer(d: Draw) -> Any:
    x = _numbers(d, d.shape(least=0))
    axis = d.axis(x.ndim) if x.ndim and not d.rarely("no such axis") else x.ndim + 1
    first = axis % max(x.ndim, 1)
    scale, bias = (d.array(x.shape[first:] if d.maybe("usual") else d.narrowed(x.shape), wild=False) for _ in range(2))
    if d.rarely("contradictory shapes"):
        scale = d.array((2, *x.shape), wild=False)
    stash = d.pick("stash_type", (1, 1, 16))
    bias = bias if d.maybe("bias") else None
    return [x, scale, bias], {"axis": axis, "epsilon": d.pick("epsilon", EPSILONS), "stash_type": stash}


def _layer_norm(d: Draw, x: Any, scale: Any, bias: Any = None, *, axis: int, epsilon: float, stash_type: int) -> Any:
    at = axis_of(axis, x.ndim, "Scale axis")
    if not _fits(scale.shape, x.shape) or (bias is not None and not _fits(bias.shape, x.shape)):
        raise Refused("Scale B scale")
    stash = STASH[stash_type]
    wide = x.astype(stash).astype(np.float64)
    normed, size, mean, inverse = _standardised(wide, range(at, x.ndim), float(np.float32(epsilon)))
    bias = 0.0 if bias is None else bias
    size = (size * np.abs(scale) + np.abs(bias)) * _coarse(stash_type, d.dtype)
    y = Output(normed * scale + bias, magnitude=size)
    if inverse is None:
        return y
    return (
        y,
        Output(mean, stash, np.mean(np.abs(wide), tuple(range(at, x.ndim)), keepdims=True)),
        Output(inverse, stash),
    )


def _rms(d: Draw) -> Any:
    inputs, attributes = _layer(d)
    kinds = d.types["V"]
    scale = inputs[1].astype(kinds[int(d.rng.integers(len(kinds)))])
    return [inputs[0], scale], attributes


def _rms_norm(d: Draw, x: Any, scale: Any, axis: int, epsilon: float, stash_type: int) -> Any:
    at, given = axis_of(axis, x.ndim, "scale axis"), d.drawn[1].dtype
    if not _fits(scale.shape, x.shape):
        raise Refused("Scale scale")
    wide = x.astype(STASH[stash_type]).astype(np.float64)
    normed, size, _, _ = _standardised(wide, range(at, x.ndim), float(np.float32(epsilon)), centred=False)
    normed = normed.astype(d.dtype).astype(np.float64)
    return Output(normed * scale, magnitude=size * np.abs(scale) * _coarse(stash_type, d.dtype, given))


def _channels(d: Draw, least: int = 2) -> Any:
    x = _numbers(d, d.shape(least=least))
    count = x.shape[1] + (2 if d.rarely("contradictory channels") else 0)
    return x, [d.array((count,), wild=False) for _ in range(2)]


def _of_channels(x: Any, *each: Any) -> Any:
    if any(one.shape != (x.shape[1],) for one in each):
        raise Refused("scale B bias input_mean input_var")
    return [one.reshape(-1, *[1] * (x.ndim - 2)) for one in each]


def _instance(d: Draw) -> Any:
    x, each = _channels(d, 3)
    return [x, *each], {"epsilon": d.pick("epsilon", EPSILONS)}


def _instance_norm(d: Draw, x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    scale, bias = _of_channels(x, scale, bias)
    normed, size, _, _ = _standardised(x, range(2, x.ndim), float(np.float32(epsilon)))
    return Output(normed * scale + bias, magnitude=size * np.abs(scale) + np.abs(bias))


def _group(d: Draw) -> Any:
    groups = d.pick("groups", (1, 2, 3, 5))
    each = d.pick("each", (1, 2, 3))
    shape = d.shape(least=2)
    x = _numbers(d, (shape[0], groups * each, *shape[2:]))
    count = groups * each
    if d.rarely("contradictory channels"):
        count += 1
    given = groups + (1 if d.rarely("contradictory groups") else 0)
    stash = d.pick("stash_type", (1, 1, 10, 11, 16))
    scales = [d.array((count,), wild=False) for _ in range(2)]
    return [x, *scales], {"num_groups": given, "epsilon": d.pick("epsilon", EPSILONS), "stash_type": stash}


def _group_norm(
    d: Draw, x: Any, scale: Any, bias: Any, num_groups: int, epsilon: float, stash_type: int = 1
) -> Any:  # fmt: skip
    channels = x.shape[1]
    if channels % num_groups:
        raise Refused("num_groups scale bias")
    if scale.shape != (channels,):
        raise Refused("scale bias")
    scale, bias = (one.reshape(-1, *[1] * (x.ndim - 2)) for one in (scale, bias))
    wide = x.astype(STASH[stash_type]).astype(np.float64)
    flat = wide.reshape(x.shape[0], num_groups, channels // num_groups * math.prod(x.shape[2:]))
    normed, size, _, _ = _standardised(flat, [2], float(np.float32(epsilon)))
    size = (size.reshape(x.shape) * np.abs(scale) + np.abs(bias)) * _coarse(stash_type, d.dtype)
    return Output(normed.reshape(x.shape) * scale + bias, magnitude=size)


def _mean_variance(d: Draw) -> Any:
    x = _numbers(d, d.shape(most=4))
    axes = [int(one) for one in d.rng.permutation(x.ndim)[: int(d.rng.integers(1, x.ndim + 1))]] if x.ndim else None
    if x.ndim and d.rarely("no such axis"):
        axes = [x.ndim + 1]
    return [x], {"axes": None if x.ndim == 4 and d.maybe("default axes") else axes}


def _mean_variance_norm(d: Draw, x: Any, axes: Sequence[int]) -> Any:
    found = [axis_of(axis, x.ndim, "axes") for axis in axes]
    if x.size == 0:
        return x
    flat = np.all(np.isfinite(x) & (x == np.max(x, tuple(found), keepdims=True)), tuple(found), keepdims=True)
    normed, size, _, _ = _standardised(x, found, 0.0)
    return Output(np.where(flat, 0.0, normed), magnitude=size)


def _lp(d: Draw) -> Any:
    x = np.array(d.array(d.shape(), wild=d.dtype == np.float16))
    if x.ndim and x.size and d.maybe("zeros"):
        x[..., :1] = 0
    factor = d.pick("factor", (1.0, 1.0, 0.25, 2.0**-12, 2.0**12) if d.dtype == np.float16 else (1.0, 1.0, 1e30, 1e-30))
    x = (x.astype(np.float64) * factor).astype(d.dtype)
    axis = d.axis(x.ndim) if not d.rarely("no such axis") else x.ndim + 1
    return [x], {"axis": axis, "p": d.pick("p", (1, 2))}


def _lp_norm(d: Draw, x: Any, axis: int, p: int) -> Any:
    at = axis_of(axis, x.ndim)
    if x.size == 0:
        return x
    most = np.max(np.abs(x), at, keepdims=True)
    x = x / np.where(np.isfinite(most) & (most > 0), most, 1.0)
    norm = np.sum(np.abs(x), at, keepdims=True) if p == 1 else np.sqrt(np.sum(x * x, at, keepdims=True))
    return np.where(norm == 0, 0.0, x / norm)


def _batch(d: Draw) -> Any:
    x, (scale, bias) = _channels(d)
    mean, variance = d.array(scale.shape, wild=False), d.array(scale.shape, low=0.0, wild=False)
    if d.since >= 14 and d.maybe("other types"):
        names = ("U", "U") if d.since == 14 else ("T1", "T2")
        first, second = (d.types[name][int(d.rng.integers(len(d.types[name])))] for name in names)
        if d.since == 14:
            second = first
            mean, variance = mean.astype(first), variance.astype(first)
        else:
            scale, bias = scale.astype(first), bias.astype(first)
            mean, variance = mean.astype(second), variance.astype(second)
    mean = (mean.astype(np.float64) + d.pick("mean", (0.0, 0.0, 10_000.0))).astype(mean.dtype)
    given = {"epsilon": d.pick("epsilon", EPSILONS), "momentum": d.pick("momentum", (0.9, 0.1))}
    return [x, scale, bias, mean, variance], {**given, "spatial": d.pick("spatial", (None, 1)) if d.since < 9 else None}


def _batch_norm(
    d: Draw, x: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float, **_: Any
) -> Any:  # fmt: skip
    scale, bias, mean, variance = _of_channels(x, scale, bias, mean, variance)
    factor = scale / np.sqrt(variance + float(np.float32(epsilon)))
    size = (np.abs(x) + np.abs(mean)) * np.abs(factor) + np.abs(bias)
    return Output((x - mean) * factor + bias, magnitude=size)


_ALL = (
    Record("LayerNormalization", _layer, _layer_norm, 8),
    Record("RMSNormalization", _rms, _rms_norm, 8),
    Record("InstanceNormalization", _instance, _instance_norm, 8),
    Record("GroupNormalization", _group, _group_norm, 8),
    Record("MeanVarianceNormalization", _mean_variance, _mean_variance_norm, 64),
    Record("LpNormalization", _lp, _lp_norm, 8),
    Record("BatchNormalization", _batch, _batch_norm, 8),
)
RECORDS = {one.name: one for one in _ALL}
