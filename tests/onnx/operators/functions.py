"""Records of ranges, windows of signals, grids, losses and casts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from tests.onnx.operators.elementwise import _sigmoid
from tests.onnx.operators.record import Draw, Output, Record, Refused
from tests.onnx.operators.reductions import _log_softmax, axis_of


def _range(d: Draw) -> Any:
    if d.dtype.kind == "i":
        info = np.iinfo(d.dtype)
        start = d.pick("start", (0, 3, -7, info.max - 5, info.min + 1))
        step = d.pick("delta", (1, 2, -1, -3, 1000, info.max // 2, info.min // 2, 0))
        limit = d.pick("limit", (0, 5, 10, -20, info.max, info.min))
        if step and abs((limit - start) / step) > 1e4:
            limit = min(max(start + 9 * step + 1, info.min), info.max)
    else:
        start, step = d.pick("start", (0.0, -2.5, 100.25)), d.pick("delta", (0.1, 0.5, -0.3, 1.0, 7.0, 0.0))
        limit = d.pick("limit", (3.0, -4.0, 0.3, 10.0, 100.0))
    given = [np.array(one).astype(d.dtype) for one in (start, limit, step)]
    return given, {}


def _numbers(d: Draw, start: Any, limit: Any, delta: Any, **_: Any) -> Any:
    first, last, step = (one.item() for one in (start, limit, delta))
    if step == 0:
        raise Refused("delta")
    count = max(math.ceil((Fraction(last) - Fraction(first)) / Fraction(step)), 0)
    found = np.array([first + k * step for k in range(count)], d.dtype if d.dtype.kind == "i" else np.float64)
    return Output(found, magnitude=np.abs(found).astype(np.float64) + abs(first) + abs(count * step))


_WINDOW_TYPES = ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "INT32", "UINT8", "INT64")


def _window(name: str) -> Record:
    factors = {
        "BlackmanWindow": (0.42, 0.5, 0.08),
        "HammingWindow": (25 / 46, 21 / 46, 0.0),
        "HannWindow": (0.5, 0.5, 0.0),
    }

    def draw(d: Draw) -> Any:
        kind = TensorProto.DataType.Value(d.pick("output_datatype", _WINDOW_TYPES))
        size = np.array(d.pick("size", (0, 1, 2, 3, 7, 64, 1001)), d.dtype)
        return [size], {"output_datatype": kind, "periodic": d.pick("periodic", (0, 1))}

    def reference(d: Draw, size: Any, output_datatype: int, periodic: int) -> Any:
        steps, (mean, first, second) = int(size) if periodic else int(size) - 1, factors[name]
        angles = [2 * math.pi * k / max(steps, 1) for k in range(int(size))]
        found = [mean - first * math.cos(one) + second * math.cos(2 * one) for one in angles]
        found = found if steps else [1.0] * len(found)
        dtype = helper.tensor_dtype_to_np_dtype(output_datatype)
        if dtype.kind in "iu":
            found = [math.floor(one) if abs(one) > 0.5 else 0 for one in found]
        return Output(np.array(found).reshape(-1), dtype, magnitude=np.ones(int(size)))

    return Record(name, draw, reference, 4, constants=(0,))


def _grid(d: Draw) -> Any:
    batch, num = d.pick("batch", (1, 2, 3)), d.pick("spatial", (2, 3))
    sizes = [int(one) for one in d.rng.integers(1, 6, num)]
    rows = num + (1 if d.rarely("contradictory sizes") else 0)
    theta = d.array((batch, rows, num + 1), wild=False)
    return [theta, np.array([batch, 2, *sizes])], {"align_corners": d.pick("align_corners", (0, 1))}


def _grid_of(d: Draw, theta: Any, size: Any, align_corners: int) -> Any:
    batch, _, *spatial = size.tolist()
    if theta.shape[1] != len(spatial):
        raise Refused("theta")
    found = np.zeros((batch, *spatial, len(spatial)))
    scale = np.zeros_like(found)
    for place in np.ndindex(*spatial):
        at = [
            (2 * k / (n - 1) - 1 if n > 1 else 0.0) if align_corners else (2 * k + 1) / n - 1
            for k, n in zip(place, spatial, strict=True)
        ]
        column = np.array([*at[::-1], 1.0])
        found[(slice(None), *place)] = theta @ column
        scale[(slice(None), *place)] = np.abs(theta) @ np.abs(column)
    return Output(found, magnitude=scale)


def _loss(d: Draw) -> Any:
    rest = d.shape(most=2, empty=False)
    batch, classes = d.pick("batch", (1, 2, 5)), d.pick("classes", (1, 3, 7))
    scores = d.array((batch, classes, *rest), wild=False)
    kinds = d.types["Tind"]
    ignore = d.pick("ignore_index", (None, 0, -1, 255))
    labels = d.rng.integers(0, classes, (batch, *rest))
    if ignore is not None:
        labels = np.where(d.rng.random(labels.shape) < 0.3, ignore, labels)
    if d.rarely("contradictory labels"):
        labels = labels[..., :0] if labels.ndim > 1 else np.repeat(labels, 2)
    elif labels.size and d.rarely("labels of no class"):
        labels.reshape(-1)[int(d.rng.integers(labels.size))] = d.pick("no class", (-1, -classes, classes, -classes - 1))
    labels = labels.astype(kinds[int(d.rng.integers(len(kinds)))])
    weights = d.array((classes,), low=0.1, wild=False) if d.maybe("weights") else None
    reduction = d.pick("reduction", ("none", "sum", "mean"))
    return [scores, labels, weights], {"ignore_index": ignore, "reduction": reduction}


def _lost(is_softmax: bool) -> Any:
    def reference(
        d: Draw, x: Any, labels: Any, weights: Any = None, *, reduction: str, ignore_index: int | None = None
    ) -> Any:  # fmt: skip
        if labels.shape != (x.shape[0], *x.shape[2:]):
            raise Refused("labels target indices index broadcast shape")
        logs = _log_softmax(x, 1) if is_softmax else x
        taken = np.zeros(labels.shape, bool) if ignore_index is None else labels == ignore_index
        if ((labels < 0) | (labels >= x.shape[1]))[~taken].any():
            raise Refused("labels target indices")
        found, factors = np.zeros(labels.shape), np.zeros(labels.shape)
        for place in np.ndindex(*labels.shape):
            if not taken[place]:
                factors[place] = 1.0 if weights is None else weights[labels[place]]
                found[place] = -logs[(place[0], labels[place], *place[1:])] * factors[place]
        scale = (1 + np.max(np.abs(x), initial=0, where=np.isfinite(x))) * max(np.max(factors, initial=0), 1)
        if reduction == "none":
            result = Output(found, magnitude=np.full(found.shape, scale))
        elif reduction == "sum":
            result = Output(np.sum(found), magnitude=scale * found.size)
        else:
            count = np.sum(factors) if weights is not None or ignore_index is not None else found.size
            total = np.sum(found)
            result = Output(total / count, magnitude=scale * found.size / max(count, 1e-9))
        return (result, Output(logs, d.dtype, np.full(logs.shape, scale))) if is_softmax else result

    return reference


def _cropped(d: Draw) -> Any:
    x = d.array(d.shape(least=1, empty=False), wild=False)
    axes = [int(one) for one in d.rng.permutation(x.ndim)[: int(d.rng.integers(1, x.ndim + 1))]]
    axes = [axis - (x.ndim if d.maybe("negative axes") else 0) for axis in axes] if d.maybe("axes") else None
    sizes = d.rng.integers(1, 9, x.ndim if axes is None else len(axes))
    kinds = d.types["Tind"]
    return [x, sizes.astype(kinds[int(d.rng.integers(len(kinds)))])], {"axes": axes}


def _cropped_to(d: Draw, x: Any, sizes: Any, axes: Any = None) -> Any:
    for axis, size in zip(range(x.ndim) if axes is None else axes, sizes.tolist(), strict=True):
        axis = axis_of(axis, x.ndim, "axes")
        more = size - x.shape[axis]
        if more >= 0:
            x = np.pad(x, [(more // 2, more - more // 2) if k == axis else (0, 0) for k in range(x.ndim)])
        else:
            first = -more // 2
            x = np.take(x, range(first, first + size), axis)
    return x


def _rotary(d: Draw) -> Any:
    batch, heads, length, half = d.pick("batch", (1, 2)), d.pick("heads", (1, 3)), d.pick("length", (1, 4)), 4
    is_flat = d.maybe("three axes")
    part = d.pick("rotary_embedding_dim", (None, 4, 8))
    x = d.array((batch, length, heads * 2 * half) if is_flat else (batch, heads, length, 2 * half), wild=False)
    width = (part or 2 * half) // 2
    has_ids = d.maybe("position_ids")
    shape = (9, width) if has_ids else (batch, length, width)
    shapes = [shape, shape]
    ids = d.rng.integers(0, 9, (batch, length)) if has_ids else None
    if d.rarely("contradictory caches"):
        axis = int(d.rng.integers(len(shape)))
        shapes[d.pick("cache", (0, 1))] = tuple(1 if k == axis else n for k, n in enumerate(shape))
    elif ids is not None and d.rarely("contradictory positions"):
        ids = d.pick("positions", (ids[:, :0], np.repeat(ids, 2, 0), np.full_like(ids, -1), np.full_like(ids, 9)))
    elif d.rarely("contradictory part"):
        part = d.pick("part", (3, 10, -2))
    caches = [d.array(one, wild=False) for one in shapes]
    flags = {"interleaved": d.pick("interleaved", (0, 1)), "num_heads": heads if is_flat else None}
    return [x, *caches, ids], {**flags, "rotary_embedding_dim": part}


def _rotated(
    d: Draw, x: Any, cos: Any, sin: Any, ids: Any = None, *, interleaved: int = 0, num_heads: int = 0,
    rotary_embedding_dim: int = 0,
) -> Any:  # fmt: skip
    wide = x.reshape(*x.shape[:2], num_heads, -1) if x.ndim == 3 else np.transpose(x, (0, 2, 1, 3))
    size = rotary_embedding_dim or wide.shape[-1]
    if size % 2 or not 0 <= size <= wide.shape[-1]:
        raise Refused("rotary_embedding_dim")
    width, (batch, length, *_) = size // 2, wide.shape
    shape = (batch, length, width) if ids is None else (len(cos), width)
    if cos.shape != shape or sin.shape != shape:
        raise Refused("cos_cache sin_cache")
    if ids is not None and (ids.shape != (batch, length) or ((ids < 0) | (ids >= len(cos))).any()):
        raise Refused("position_ids indices")
    found, scale = wide.copy(), np.abs(wide)
    for b, t, h in np.ndindex(*wide.shape[:3]):
        c, s = (one[ids[b, t]] if ids is not None else one[b, t] for one in (cos, sin))
        for k in range(width):
            i, j = (2 * k, 2 * k + 1) if interleaved else (k, k + width)
            a, e = wide[b, t, h, i], wide[b, t, h, j]
            found[b, t, h, i], found[b, t, h, j] = c[k] * a - s[k] * e, s[k] * a + c[k] * e
            scale[b, t, h, i] = scale[b, t, h, j] = 4 * (abs(c[k]) + abs(s[k])) * (abs(a) + abs(e))
    if x.ndim == 3:
        return Output(found.reshape(x.shape), magnitude=scale.reshape(x.shape))
    return Output(np.transpose(found, (0, 2, 1, 3)), magnitude=np.transpose(scale, (0, 2, 1, 3)))


def _gated(d: Draw) -> Any:
    shape = d.shape()
    return [d.array(shape, wild=False), d.array(shape, wild=False)], {"alpha": d.pick("alpha", (1.0, 0.5, 2.0))}


def _gated_of(d: Draw, a: Any, b: Any, alpha: float) -> Any:
    found = a * _sigmoid(float(np.float32(alpha)) * a) * b
    return Output(found, magnitude=np.abs(found) * (2 + np.abs(alpha * a)))


def _cast(d: Draw) -> Any:
    kinds = [one for one in d.types["T2"] if one.kind != "c"]
    x = d.array(d.shape(), low=0.0, wild=False)
    return [x], {"to": helper.np_dtype_to_tensor_dtype(kinds[int(d.rng.integers(len(kinds)))])}


def _cast_like(d: Draw) -> Any:
    kinds = [one for one in d.types["T2"] if one.kind != "c"]
    x = d.array(d.shape(), low=0.0, wild=False)
    return [x, d.array(d.shape(), kinds[int(d.rng.integers(len(kinds)))], low=0.0, wild=False)], {}


def converted(x: Any, dtype: Any) -> Output:
    """Return numbers in another type: integers are without the part behind the point, and 0 for NaN."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return Output(x != 0, dtype)
    if dtype.kind in "iu":
        return Output(np.trunc(np.nan_to_num(x.astype(np.float64))), dtype)
    return Output(x.astype(np.float64), dtype)


_ALL = (
    Record("Range", _range, _numbers, 4, constants=(0, 1, 2)),
    *map(_window, ("BlackmanWindow", "HammingWindow", "HannWindow")),
    Record("AffineGrid", _grid, _grid_of, 8, constants=(1,)),
    Record("SoftmaxCrossEntropyLoss", _loss, _lost(True), 16),
    Record("NegativeLogLikelihoodLoss", _loss, _lost(False), 8),
    Record("CenterCropPad", _cropped, _cropped_to, 0, constants=(1,)),
    Record("RotaryEmbedding", _rotary, _rotated, 4),
    Record("SwiGLU", _gated, _gated_of, 8),
    Record("Cast", _cast, lambda d, x, to, **_: converted(x, helper.tensor_dtype_to_np_dtype(to)), 1),
    Record("CastLike", _cast_like, lambda d, x, like, **_: converted(x, d.drawn[1].dtype), 1),
)
RECORDS = {one.name: one for one in _ALL}
