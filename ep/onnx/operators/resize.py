"""Resize and Upsample: each axis by itself, as sums of elements at places that follow from sizes alone."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ep import ops
from ep.onnx.operators import fitting
from ep.onnx.operators.fitting import axes_in
from ep.onnx.operators.line import line, one_of
from ep.onnx.operators.placing import placed
from ep.ops.resize import resampled

NDArray = np.ndarray[Any, Any]

_ROUNDED: Final[dict[str, Callable[[NDArray], NDArray]]] = {
    "ceil": np.ceil,
    "floor": np.floor,
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
}
check: Final = one_of(
    mode=("nearest", "linear", "cubic"),
    coordinate_transformation_mode=(
        "align_corners", "asymmetric", "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
        "tf_crop_and_resize", "tf_half_pixel_for_nn",
    ),
    nearest_mode=_ROUNDED,
    keep_aspect_ratio_policy=("stretch", "not_larger", "not_smaller"),
)  # fmt: skip
_WIDTH: Final = {"linear": 1, "cubic": 2}
"""How far from an element's place its weight is not 0, in elements."""


class _Axis(NamedTuple):
    """How one axis is resized. region: its part of x that is taken, as fractions of it."""

    before: int
    after: int
    scale: float
    region: tuple[float, float]


@line("Resize", 10, host=(1,), check=check)
@line("Upsample", 9, host=(1,), check=check)
@line("Upsample", 7, attributes=("scales",), check=check)
def upsample(x: Any, scales: NDArray, *, mode: str) -> Any:
    """Return x with each axis some times as long."""
    return resize(x, None, scales, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor")


@line("Resize", 11, host=(1, 2, 3), check=check)
def resize(
    x: Any, region: NDArray | None = None, scales: NDArray | None = None, sizes: NDArray | None = None, *, mode: str,
    coordinate_transformation_mode: str, nearest_mode: str, axes: Sequence[int] | None = None, antialias: int = 0,
    keep_aspect_ratio_policy: str = "stretch", cubic_coeff_a: float = -0.75, exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
) -> Any:  # fmt: skip
    """Return x with axes of other sizes: what is between elements is the nearest one, or by a line or a cubic."""
    places = axes_in(len(x.shape), range(len(x.shape)) if axes is None else axes)
    parts = np.array([0.0, 1.0]).repeat(len(places)) if region is None or not len(region) else region
    fitting.check(parts.shape == (2 * len(places),), "roi of shape", parts.shape, f"of two numbers for axes {places}")
    how = _axes(x.shape, places, scales, sizes, parts.reshape(2, -1).T, keep_aspect_ratio_policy)
    tables: dict[int, tuple[NDArray, NDArray]] = {}
    inside = [np.ones(size, bool) for size in x.shape]
    for place, one in zip(places, how, strict=True):
        at = _coordinates(one, coordinate_transformation_mode)
        inside[place] = (at >= 0) & (at <= one.before - 1)
        if one.before == one.after and one.scale == 1 and one.region == (0.0, 1.0):
            continue
        if mode != "nearest":
            tables[place] = _taps(one, at, mode, bool(antialias), cubic_coeff_a, bool(exclude_outside))
            continue
        order = np.clip(_ROUNDED[nearest_mode](at), 0, one.before - 1)
        tables[place] = order[np.newaxis], np.ones((1, one.after))
    result = resampled(x, tables)
    if coordinate_transformation_mode == "tf_crop_and_resize" and not all(one.all() for one in inside):
        whole = functools.reduce(np.logical_and.outer, inside)
        result = ops.where(placed(whole, x), result, placed(np.array(extrapolation_value).astype(x.dtype), x))
    return result


def _axes(
    shape: Sequence[int], places: Sequence[int], scales: NDArray | None, sizes: NDArray | None, regions: NDArray,
    policy: str,
) -> list[_Axis]:  # fmt: skip
    given = sizes if sizes is not None and len(sizes) else scales
    if given is not scales and scales is not None and len(scales):
        raise ValueError("scales and sizes have numbers; only one of them may be given")
    if given is None or len(given) != len(places) or len(regions) != len(places):
        raise ValueError(f"scales, sizes or roi do not have a number for each of axes {[*places]} of shape {shape}")
    if not np.isfinite(given).all() or (given < 0).any() or (given is scales and (given == 0).any()):
        raise ValueError(f"scales or sizes are {given.tolist()}; they must be finite and positive")
    before = [shape[place] for place in places]
    if given is scales:
        each = [float(one) for one in scales]
        after = [math.floor(size * scale) for size, scale in zip(before, each, strict=True)]
    else:
        after = given.tolist()
        each = [one / max(size, 1) for size, one in zip(before, after, strict=True)]
        if policy != "stretch":
            each = [(min if policy == "not_larger" else max)(each)] * len(each)
            after = [math.floor(size * scale + 0.5) for size, scale in zip(before, each, strict=True)]
    if any(size == 0 and new > 0 for size, new in zip(before, after, strict=True)):
        raise ValueError(f"axes {[*places]} of shape {shape} have no elements that {after} could be made of")
    parts = [(float(first), float(last)) for first, last in regions]
    return [*map(_Axis, before, after, each, parts)]


def _coordinates(axis: _Axis, mode: str) -> NDArray:
    """Return where in x each element of the result is, in elements of x."""
    at, (size, new, scale, (first, last)) = np.arange(axis.after, dtype=np.float64), axis
    whole = scale * size
    if mode == "align_corners":
        return at * (size - 1) / (whole - 1) if whole > 1 else 0 * at
    if mode == "asymmetric":
        return at / scale
    if mode == "tf_crop_and_resize":
        middle = (last - first) * (size - 1) * (at / (whole - 1) if whole > 1 else 0 * at + 0.5)
        return middle + first * (size - 1)
    if mode == "tf_half_pixel_for_nn":
        return (at + 0.5) / scale
    if mode == "pytorch_half_pixel" and new == 1:
        return 0 * at
    offset = size / 2 * (1 - new / whole) if mode == "half_pixel_symmetric" else 0.0
    return offset + (at + 0.5) / scale - 0.5


def _taps(axis: _Axis, at: NDArray, mode: str, antialias: bool, a: float, exclude: bool) -> tuple[NDArray, NDArray]:
    """Return which elements of x each of the result is a sum of, and their weights: a row of both for each addend."""
    narrow = min(axis.scale, 1.0) if antialias else 1.0
    reach = math.ceil(_WIDTH[mode] / narrow)
    places = np.floor(at) + np.arange(1 - reach, 1 + reach)[:, None]
    far = np.abs(places - at) * narrow
    if mode == "linear":
        weights = np.maximum(1 - far, 0)
    else:
        near = ((a + 2) * far - (a + 3)) * far * far + 1
        weights = np.where(far <= 1, near, np.where(far < 2, a * (((far - 5) * far + 8) * far - 4), 0))
    inside = np.clip(places, 0, axis.before - 1)
    weights = np.where(inside != places, 0, weights) if exclude else weights
    weights /= weights.sum(0)
    weights[:, (inside == inside[0]).all(0)] = np.eye(len(places), 1)  # one element is not changed
    return inside, weights
