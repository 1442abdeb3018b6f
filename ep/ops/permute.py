"""permute and transpose: the axes of an array in another order."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, ArrayLike, Arrays
from ep.include.device_type import DeviceType
from ep.include.primitive.permute import Permute, PermuteFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.registry import RequirePrimitive
from ep.ops.devices import arrays_of
from ep.ops.names import launch
from ep.ops.shapes import from_front


def permute(x: ArrayLike, axes: Iterable[int], *, out: Array | None = None) -> Array:
    """Return `x` with its axes in the order `axes`, as `numpy.permute_dims`: axis i of the result is axis axes[i] of x.

    x: array of any type.
    axes: each axis of x once; negative ones are counted from the last.
    out: where to put the result, an array of its shape and dtype.

    The result has the dtype of x, and is no view. Raises ValueError for axes that are not those of x, and where there
    are more than 8 once neighbours that stay together are one.
    """
    arrays = arrays_of((x,), ("x",))
    src = arrays.as_buffer(x, "x")
    return _permuted(arrays, src, _order(axes, len(src.shape)), out)


def transpose(x: ArrayLike, axes: Iterable[int] | None = None, *, out: Array | None = None) -> Array:
    """Return `x` with its axes in another order, as `numpy.transpose`: as `permute`, or reversed without `axes`.

    PyTorch's function of this name takes two axes, and exchanges them.
    """
    if axes is not None:
        return permute(x, axes, out=out)
    arrays = arrays_of((x,), ("x",))
    src = arrays.as_buffer(x, "x")
    return _permuted(arrays, src, tuple(reversed(range(len(src.shape)))), out)


permute_dims = permute
"""The array API's name."""


def _order(axes: Any, num_dims: int) -> tuple[int, ...]:
    """Return axes, counted from the front."""
    if not isinstance(axes, Iterable):
        raise TypeError(f"axes must be a sequence of integers, not {axes!r}")
    order = tuple(from_front(axis, f"axes[{place}]", num_dims, num_dims) for place, axis in enumerate(axes))
    if sorted(order) != list(range(num_dims)):
        raise ValueError(f"axes are {order}; each of the {num_dims} axes of x must be there once")
    return order


def _permuted(arrays: Arrays, src: Array, order: tuple[int, ...], out: Array | None) -> Array:
    dst = arrays.destination([src.shape[axis] for axis in order], src.dtype, out)
    dims, merged = (src.shape, order) if len(order) <= kMaxNumDims else _merged(src.shape, order)
    if len(dims) > kMaxNumDims:
        raise ValueError(
            f"x of shape {src.shape} by axes {order} needs {len(dims)} axes where neighbours that stay together are "
            f"one; at most {kMaxNumDims} are possible"
        )
    launch(
        *(_permute(arrays.device_type), {"src": "x", "dst": "out"}),
        *(arrays.stream, src.dtype, dims, src, merged, dst),
    )
    return arrays.delivered(dst, out)


def _merged(shape: Dims, order: tuple[int, ...]) -> tuple[Dims, tuple[int, ...]]:
    """Return dims and order without axes of size 1, and with axes that follow one another in both as one."""
    groups: list[list[int]] = []
    last = None
    kept = [axis for axis in range(len(shape)) if shape[axis] != 1]
    for axis in order:
        if shape[axis] == 1:
            continue
        if last is not None and kept.index(axis) == kept.index(last) + 1:
            groups[-1].append(axis)
        else:
            groups.append([axis])
        last = axis
    in_src = sorted(groups)
    dims = []
    for group in in_src:
        size = 1
        for axis in group:
            size *= shape[axis]
        dims.append(size)
    return tuple(dims), tuple(in_src.index(group) for group in groups)


@cache
def _permute(device_type: DeviceType) -> Permute:
    return RequirePrimitive(PermuteFactory, device_type, kMaxNumDims)
