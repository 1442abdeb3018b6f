"""Records of Resize and Upsample: each axis by itself, an element of the result at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.onnx.operators.record import Draw, Output, Record, Refused
from tests.onnx.operators.reductions import axis_of

MODES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
)
POLICIES = ("stretch", "stretch", "not_larger", "not_smaller")
NEAREST = {
    "round_prefer_floor": lambda at: math.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: math.floor(at + 0.5),
    "floor": math.floor,
    "ceil": math.ceil,
}


def _shape(d: Draw) -> tuple[int, ...]:
    return tuple(int(one) for one in d.rng.integers(1, 7, d.pick("rank", (1, 2, 3, 4))))


def _draw(d: Draw) -> Any:
    x = d.array(_shape(d), wild=False)
    kinds = (
        ("nearest",)
        if d.dtype.kind not in "fV"
        else ("nearest", "linear")
        if d.since < 11
        else ("nearest", "linear", "cubic")
    )
    mode = d.pick("mode", kinds)
    scales = d.rng.choice((0.5, 0.6, 1.0, 1.0, 1.5, 2.0, 3.0), x.ndim).astype(np.float32)
    if d.rarely("another number of scales"):
        scales = np.append(scales, np.float32(2))
    if d.since == 7:
        return [x], {"mode": mode, "scales": np.maximum(scales, 1).tolist()}
    if d.since < 11:
        return [x, scales], {"mode": mode}
    given: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": d.pick("coordinates", MODES)}
    if given["coordinate_transformation_mode"] == "half_pixel_symmetric" and d.since < 19:
        given["coordinate_transformation_mode"] = "half_pixel"
    given["nearest_mode"] = d.pick("nearest_mode", sorted(NEAREST)) if mode == "nearest" else None
    given["cubic_coeff_a"] = d.pick("cubic_coeff_a", (-0.75, -0.5)) if mode == "cubic" else None
    given["exclude_outside"] = d.pick("exclude_outside", (0, 1)) if mode == "cubic" else None
    given["extrapolation_value"] = d.pick("extrapolation_value", (0.0, 7.0))
    count = x.ndim
    if d.since >= 18 and d.maybe("axes"):
        count = int(d.rng.integers(1, x.ndim + 1))
        given["axes"] = [int(one) - (x.ndim if d.maybe("negative") else 0) for one in d.rng.permutation(x.ndim)[:count]]
        scales = scales[:count]
    if d.since >= 18:
        given["antialias"] = d.pick("antialias", (0, 1)) if mode != "nearest" else None
    sizes = None
    if d.maybe("sizes"):
        sizes = d.rng.integers(1, 9, count)
        given["keep_aspect_ratio_policy"] = d.pick("policy", POLICIES) if d.since >= 18 else None
        scales = None if d.since >= 13 else np.zeros(0, np.float32)
        if d.rarely("both"):
            scales = np.ones(count, np.float32)
    region = None
    if given["coordinate_transformation_mode"] == "tf_crop_and_resize":
        region = np.concatenate([d.rng.choice((0.0, 0.1), count), d.rng.choice((1.0, 0.8, 1.2), count)]).astype(
            np.float32
        )
    elif d.since < 13:
        region = np.zeros(0, np.float32)
    return [x, region, scales, sizes], given


def _kernel(far: float, mode: str, a: float) -> float:
    far = abs(far)
    if mode == "linear":
        return max(1 - far, 0.0)
    if far <= 1:
        return (a + 2) * far**3 - (a + 3) * far**2 + 1
    return a * far**3 - 5 * a * far**2 + 8 * a * far - 4 * a if far < 2 else 0.0


def _at(k: int, size: int, new: int, scale: float, part: tuple[float, float], how: str) -> float:
    whole = scale * size
    if how == "align_corners":
        return k * (size - 1) / (whole - 1) if whole > 1 else 0.0
    if how == "asymmetric":
        return k / scale
    if how == "tf_crop_and_resize":
        first, last = part
        if whole <= 1:
            return 0.5 * (first + last) * (size - 1)
        return first * (size - 1) + k * (last - first) * (size - 1) / (whole - 1)
    if how == "pytorch_half_pixel" and new == 1:
        return 0.0
    offset = size / 2 * (1 - new / whole) if how == "half_pixel_symmetric" else 0.0
    return offset + (k + 0.5) / scale - 0.5


def _of_taps(is_tap: Any, weights: Any, x: Any, axis: int) -> Any:
    """Return the sums of weighted taps along an axis; what is no tap may be NaN."""
    added = np.where(is_tap, weights * np.moveaxis(x, axis, -1)[..., None, :], 0)
    return np.moveaxis(added.sum(-1), -1, axis)


def _resized(
    d: Draw, x: Any, region: Any = None, scales: Any = None, sizes: Any = None, *, mode: str,
    coordinate_transformation_mode: str = "asymmetric", nearest_mode: str = "floor", axes: Any = None,
    antialias: int = 0, keep_aspect_ratio_policy: str = "stretch", cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0, extrapolation_value: float = 0.0,
) -> Any:  # fmt: skip
    places = [axis_of(axis, x.ndim, "axes") for axis in (range(x.ndim) if axes is None else axes)]
    if scales is not None and len(scales) and sizes is not None:
        raise Refused("scales sizes")
    given = sizes if sizes is not None else scales
    if len(given) != len(places):
        raise Refused("scales sizes")
    before = [x.shape[axis] for axis in places]
    if sizes is None:
        each, after = (
            [float(one) for one in scales],
            [math.floor(n * float(s)) for n, s in zip(before, scales, strict=True)],
        )
    else:
        each, after = [one / n for n, one in zip(before, sizes.tolist(), strict=True)], sizes.tolist()
        if keep_aspect_ratio_policy != "stretch":
            each = [(min if keep_aspect_ratio_policy == "not_larger" else max)(each)] * len(each)
            after = [math.floor(n * s + 0.5) for n, s in zip(before, each, strict=True)]
    parts = (
        [(0.0, 1.0)] * len(places) if region is None or not len(region) else [*zip(*region.reshape(2, -1), strict=True)]
    )
    found, scale = x, np.abs(x).astype(np.float64) if d.dtype.kind in "fV" else None
    outside = np.zeros([1] * x.ndim, bool)
    for axis, size, new, factor, part in zip(places, before, after, each, parts, strict=True):
        weights, gone = np.zeros((new, size)), np.zeros(new, bool)
        errors = np.zeros((new, size))  # of weights, since their places are rounded, too
        for k in range(new):
            at = _at(k, size, new, factor, part, coordinate_transformation_mode)
            gone[k] = not 0 <= at <= size - 1
            if mode == "nearest":
                weights[k, min(max(NEAREST[nearest_mode](at), 0), size - 1)] = 1
                continue
            narrow = min(factor, 1.0) if antialias else 1.0
            reach = math.ceil((1 if mode == "linear" else 2) / narrow)
            taps = range(math.floor(at) + 1 - reach, math.floor(at) + 1 + reach)
            row = [_kernel((tap - at) * narrow, mode, float(np.float32(cubic_coeff_a))) for tap in taps]
            row = [0.0 if exclude_outside and not 0 <= tap < size else one for tap, one in zip(taps, row, strict=True)]
            for tap, one in zip(taps, row, strict=True):
                if exclude_outside and not 0 <= tap < size:
                    continue
                weights[k, min(max(tap, 0), size - 1)] += one / sum(row)
                errors[k, min(max(tap, 0), size - 1)] += 1 + abs(one / sum(row))
        if mode == "nearest":
            found = np.take(found, np.argmax(weights, 1), axis)
        else:
            found, scale = (_of_taps(errors > 0, *each, axis) for each in ((weights, found), (errors, scale)))
        if coordinate_transformation_mode == "tf_crop_and_resize":
            outside = outside | gone.reshape([-1 if k == axis else 1 for k in range(x.ndim)])
    if outside.any():
        filled = np.asarray(
            float(np.float64(extrapolation_value).astype(d.dtype)) if scale is not None else extrapolation_value
        )
        found = np.where(np.broadcast_to(outside, found.shape), filled.astype(found.dtype), found)
    return found if mode == "nearest" else Output(found, magnitude=scale)


def _upsampled(d: Draw, x: Any, scales: Any, mode: str) -> Any:
    return _resized(d, x, None, np.asarray(scales, np.float32), mode=mode)


def _either(d: Draw, x: Any, *others: Any, **given: Any) -> Any:
    return _upsampled(d, x, *others, **given) if d.since < 11 else _resized(d, x, *others, **given)


_KINDS = ("float16", "float32", "float64", "bfloat16", "int8", "int32", "int64", "uint8", "uint16", "bool")
_ALL = (
    Record("Resize", _draw, _either, 256, constants=(1, 2, 3), types=_KINDS),
    Record("Upsample", _draw, _upsampled, 256, constants=(1,), types=_KINDS),
)
RECORDS = {one.name: one for one in _ALL}
