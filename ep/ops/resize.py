"""resize and its gradient: arrays with axes of other sizes, whose elements are between those of the array."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from ep.common.checks import are_several, as_truth, kMaxSize
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, ArrayLike
from ep.include.data_type import as_data_type
from ep.include.errors import UnsupportedPrimitiveError
from ep.include.number_kind import ALL, FLOATS
from ep.include.shown import in_short, shown
from ep.include.suggest import did_you_mean
from ep.ops.composition import composition
from ep.ops.declare.function import FUNCTIONS
from ep.ops.devices import arrays_of
from ep.ops.resample import arithmetic_of
from ep.ops.shapes import as_sizes
from ep.ops.terms import viewed
from ep.ops.windows import for_each, num_spatial

NDArray: TypeAlias = np.ndarray[Any, Any]
Table: TypeAlias = tuple[NDArray, NDArray]
"""The places along an axis and the weights of the addends of each element: a row of both for each addend."""

ResizeMode: TypeAlias = Literal["nearest", "nearest_exact", "linear", "cubic"]
"""A way to compute what is between elements; `resize` describes them."""

_MODES: Final = get_args(ResizeMode)
_CUBIC: Final = -0.75  # PyTorch's coefficient


@composition(ALL)
def resize(
    x: ArrayLike, sizes: Any, mode: ResizeMode = "nearest", align_corners: bool = False, scales: Any = None
) -> Array:
    """Return `x` with spatial axes of other sizes, as PyTorch's `interpolate` without anti-aliasing.

    x: array of shape (N, C, sizes...), with one to three spatial axes; of a floating dtype, but of any to copy the
        nearest elements.
    sizes: those of the spatial axes of the result; one integer for all of them.
    mode: "nearest", the element at or before each place; "nearest_exact", the nearest one; "linear" or "cubic", what is
        between elements. With several axes they are PyTorch's bilinear, trilinear and bicubic.
    align_corners: whether the first and the last element along an axis keep their places; if mode is linear or cubic.
    scales: how many times as long axes are, for the places of elements; one number for all axes. None: by the sizes.
        They are not read, as in PyTorch, for "linear" along an axis that keeps its size, and for "nearest" along one of
        two axes whose size stays or is doubled.

    The result has shape (N, C, sizes...). float16 and bfloat16 are computed in float32 and rounded once. Raises
    ValueError for shapes and arguments that do not fit.
    """
    of_x = tuple(x.shape)
    tables = _tables(of_x, _sizes(of_x, sizes), mode, align_corners, scales, x.dtype)
    if not mode.startswith("nearest") and as_data_type(x.dtype) not in FLOATS:
        listed = ", ".join(one.dtype.name for one in FLOATS)
        raise UnsupportedPrimitiveError(f"x has dtype {x.dtype}; resize takes {listed} if mode is {mode}")
    return resampled(x, dict(enumerate(tables, 2)))


@composition(FLOATS)
def resize_grad(
    dy: ArrayLike, shape: Any, mode: ResizeMode = "nearest", align_corners: bool = False, scales: Any = None
) -> Array:
    """Return the gradient of `resize`: for each element of x, the weighted sum of the `dy` that it is an addend of.

    dy: the gradient with respect to the result, of its shape and of a floating dtype.
    shape: that of x. mode, align_corners, scales: as of `resize`.

    float16 and bfloat16 are accumulated in float32 and rounded once. Raises ValueError for shapes and arguments that do
    not fit.
    """
    of_dy, of_x = tuple(dy.shape), as_sizes((shape,), "shape")
    if len(of_dy) != len(of_x):
        raise ValueError(f"dy has shape {of_dy}; it must have {len(of_x)} axes, as shape {of_x} has")
    counts = _sizes(of_x, of_dy[2:])
    if of_dy[:2] != of_x[:2]:
        raise ValueError(f"dy has shape {of_dy}; it must begin with {of_x[:2]}, as shape {of_x} does")
    tables = _tables(of_x, counts, mode, align_corners, scales, dy.dtype)
    times = [_times(places, size) for (places, _), size in zip(tables, of_x[2:], strict=True)]
    if all(times):  # each element was repeated
        return FUNCTIONS["average_pool"](dy, times, times, divisor=1)
    each = zip(tables, of_x[2:], strict=True)
    return resampled(dy, {axis: transposed(table, size) for axis, (table, size) in enumerate(each, 2)})


def resampled(x: ArrayLike, tables: dict[int, Table]) -> Array:
    """Return an array of which each element along an axis is a sum of elements of x: the axes one after the other.

    tables: by axis. Elements of which each is one of x are copied. Other sums are computed in float32, of float64 and
    of integers of 32 and 64 bits in float64, and converted to the type of x at the end.
    """
    data_type, arrays, result, shape = as_data_type(x.dtype), arrays_of((x,), ("x",)), x, tuple(x.shape)
    wide = arithmetic_of(data_type).dtype
    if x.dtype.kind in "iu" and x.dtype.itemsize >= 4:
        wide = np.dtype(np.float64)
    repeated = [1] * len(shape)
    for axis, (places, weights) in tables.items():
        used = weights.any(1)  # others add nothing
        places, weights = (places[used], weights[used]) if used.any() else (places[:1], weights[:1])
        alone = _alone(places, weights)
        if alone is None:
            result = result if result.dtype == wide else FUNCTIONS["cast"](result, wide)
            placed = [arrays.copy_from_host(one) for one in (places.astype(np.int64), weights.astype(wide))]
            result = FUNCTIONS["resample"](result, *placed, axis)
        elif (times := _times(alone[np.newaxis], shape[axis])) and len(alone):
            repeated[axis] = times
        else:
            order = arrays.copy_from_host(alone.astype(np.int64))
            result = FUNCTIONS["gather"](result, order, axis, mode="zero")
    result = _repeated(result, repeated)
    if result is x:
        return FUNCTIONS["identity"](x)
    return result if result.dtype == x.dtype else FUNCTIONS["cast"](result, x.dtype)


def _alone(places: NDArray, weights: NDArray) -> NDArray | None:
    """Return the place of the one element that each sum consists of; None if sums have several, or weights."""
    if not places.size:
        return places[0] if len(places) else None
    largest = np.abs(weights).argmax(0)[np.newaxis]
    main, weight = np.take_along_axis(places, largest, 0)[0], np.take_along_axis(weights, largest, 0)[0]
    is_one = np.isfinite(weights).all() and ((places == main) | (weights == 0)).all()
    return main if is_one and np.allclose(weights.sum(0), 1, rtol=0, atol=0) and (weight > 0).all() else None


def _times(places: NDArray, size: int) -> int:
    """Return how often each of `size` elements is repeated; 0 if places are not such."""
    times = places.shape[1] // max(size, 1)
    return times if len(places) == 1 and np.array_equal(places[0], np.arange(size).repeat(times)) else 0


def _repeated(x: Any, times: Sequence[int]) -> Any:
    """Return each element some times, one behind the other, along each axis."""
    if {*times} == {1}:
        return x
    shape, between, wide = tuple(x.shape), list[int](), list[int]()
    for size, count in zip(shape, times, strict=True):  # kernels have few axes
        between += [size] if count == 1 else [size, 1]
        wide += [size] if count == 1 else [size, count]
    return viewed(FUNCTIONS["expand"](viewed(x, between), wide), list(map(math.prod, zip(shape, times, strict=True))))


def transposed(table: Table, size: int) -> Table:
    """Return the table of the gradient: the sums that each of `size` elements is an addend of, and its weights."""
    places, weights = table
    sums, there = np.broadcast_to(np.arange(places.shape[1]), places.shape), (weights != 0) & (places >= 0)
    of, by, weight = (one[there] for one in (places, sums, weights))
    order = np.argsort(of, kind="stable")
    of, by, weight = of[order], by[order], weight[order]
    counts = np.bincount(of, minlength=size)
    row = np.arange(len(of)) - (np.cumsum(counts) - counts)[of]
    shape = max(int(counts.max(initial=0)), 1), size
    found, factors = np.full(shape, -1, np.int64), np.zeros(shape, weights.dtype)
    found[row, of], factors[row, of] = by, weight
    return found, factors


def _sizes(of_x: Dims, sizes: Any) -> Dims:
    """Return the sizes of the result; ValueError if there is no such result."""
    wanted = for_each(sizes, "sizes", num_spatial(of_x), least=0)
    for axis, (size, count) in enumerate(zip(of_x[2:], wanted, strict=True), 2):
        if size == 0 and count > 0:
            raise ValueError(f"sizes[{axis - 2}] is {count}; axis {axis} of x of shape {of_x} has no elements")
    return wanted


def _tables(of_x: Dims, counts: Dims, mode: str, align_corners: bool, scales: Any, dtype: Any) -> list[Table]:
    """Return the table of each spatial axis; raises for arguments that do not fit."""
    if not isinstance(mode, str) or mode not in _MODES:
        raise ValueError(
            f"mode is {shown(mode)}; it must be one of {', '.join(_MODES)}{did_you_mean(str(mode), _MODES)}"
        )
    if as_truth(align_corners, "align_corners") and mode.startswith("nearest"):
        raise ValueError(f"align_corners is True, and mode is {mode}; it must be linear or cubic")
    factors = _factors(scales, len(counts))
    kind = "float64" if dtype == np.float64 else "float32"
    if mode == "nearest" and len(counts) == 2:
        each_size = zip(factors, of_x[2:], counts, strict=True)
        factors = [None if count in (size, 2 * size) else factor for factor, size, count in each_size]
    each = zip(of_x[2:], counts, factors, strict=True)
    return [_table(size, count, mode, align_corners, factor, kind) for size, count, factor in each]


def _factors(scales: Any, length: int) -> list[float | None]:
    """Return a factor for each axis, or None for all of them; raises for other numbers than positive ones."""
    given = list(scales) if are_several(scales) else [scales] * length
    if len(given) != length:
        raise ValueError(f"scales has {len(given)} values; it must be one number, or {length} of them")
    for place, one in enumerate(given):
        if one is None:
            continue
        if isinstance(one, bool) or not isinstance(one, int | float | np.integer | np.floating):
            raise TypeError(f"scales[{place}] must be a number, not {shown(one)}")
        if not 0 < one <= kMaxSize:
            raise ValueError(f"scales[{place}] is {in_short(one)}; it must be positive, and below 2**63")
    return [None if one is None else float(one) for one in given]


@functools.lru_cache(maxsize=256)
def _table(size: int, count: int, mode: str, align_corners: bool, factor: float | None, kind: str) -> Table:
    """Return the table of an axis, which is computed as in PyTorch: in float32, or in float64 for float64."""
    real = np.dtype(kind).type
    at = np.arange(count).astype(real)
    if align_corners:
        step = real(size - 1) / real(count - 1) if count > 1 else real(0)
    else:
        step = real(size) / real(max(count, 1)) if factor is None else real(1.0 / factor)
    if mode == "linear" and count == size:
        return np.arange(size)[np.newaxis], np.ones((1, size), real)
    if mode == "nearest":
        return np.minimum(np.floor(at * step), size - 1).astype(np.int64)[np.newaxis], np.ones((1, count), real)
    if mode == "nearest_exact":
        return np.minimum(np.floor((at + real(0.5)) * step), size - 1).astype(np.int64)[np.newaxis], np.ones(
            (1, count), real
        )
    at = at * step if align_corners else (at + real(0.5)) * step - real(0.5)
    if mode == "linear":
        at = np.maximum(at, real(0))
        first = np.minimum(np.floor(at), max(size - 1, 0)).astype(np.int64)
        second = np.clip(at - first.astype(real), real(0), real(1))
        return np.stack([first, np.minimum(first + 1, size - 1)]), np.stack([real(1) - second, second])
    first = np.floor(at)
    part = at - first
    places = np.clip(first.astype(np.int64) + np.arange(-1, 3)[:, np.newaxis], 0, max(size - 1, 0))
    far = np.abs(part - np.arange(-1, 3).astype(real)[:, np.newaxis])
    near = ((real(_CUBIC) + 2) * far - (real(_CUBIC) + 3)) * far * far + 1
    beyond = real(_CUBIC) * (((far - 5) * far + 8) * far - 4)
    return places, np.where(far <= 1, near, beyond).astype(real)
