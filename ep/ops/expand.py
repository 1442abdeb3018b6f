"""expand: an array repeated along axes of size 1 and along new axes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, ArrayLike, Arrays
from ep.include.device_type import DeviceType
from ep.include.primitive.expand import Expand, ExpandFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.registry import RequirePrimitive
from ep.ops.devices import arrays_of
from ep.ops.names import launch
from ep.ops.shapes import as_sizes, launch_dims


def expand(x: ArrayLike, *sizes: Any, out: Array | None = None) -> Array:
    """Return `x` repeated to `sizes`.

    x: array of no more axes than there are sizes; they stand for the last ones.
    sizes: integers, or one sequence of them. An axis of size 1 may become any size >= 0, any other keeps its size;
        -1 keeps it as well. New axes come first and cannot be -1.
    out: where to put the result, an array of its shape and dtype.

    The result has the shape `sizes` and the dtype of x; it is no view. Raises ValueError for sizes that do not fit.
    """
    arrays = arrays_of((x,), ("x",))
    x = arrays.as_buffer(x, "x")
    shape = expanded_shape(x.shape, as_sizes(sizes))
    dst = arrays.destination(shape, x.dtype, out)
    launch_expand(arrays, "expand", x, x.shape, dst, shape)
    return arrays.delivered(dst, out)


def expanded_shape(shape: Dims, sizes: Dims) -> Dims:
    """Return the shape of an array of `shape` that is expanded to `sizes`; ValueError where it cannot be."""
    num_new = len(sizes) - len(shape)
    if num_new < 0:
        raise ValueError(f"sizes {sizes} has fewer axes than x, whose shape is {shape}")
    result = []
    for axis, size in enumerate(sizes):
        old = shape[axis - num_new] if axis >= num_new else None
        if size < 0 and (size != -1 or old is None):
            which = "new" if old is None else "kept"
            raise ValueError(
                f"sizes[{axis}] is {size}; a {which} axis takes {'' if old is None else '-1 or '}a size >= 0"
            )
        if size != -1 and old not in (None, 1, size):
            raise ValueError(f"sizes[{axis}] is {size}, but x of shape {shape} has {old} there; only 1 can be expanded")
        result.append(old if size == -1 and old is not None else size)
    return tuple(result)


def launch_expand(arrays: Arrays, operator: str, src: Array, src_dims: Dims, dst: Array, dst_dims: Dims) -> None:
    """Fill `dst`, seen as an array of `dst_dims`, with `src`, seen as one of `src_dims`.

    Raises ValueError where the dims need more axes than a primitive has.
    """
    src_dims, dst_dims = launch_dims(operator, src_dims, dst_dims)
    primitive = expand_primitive(arrays.device_type, dst.dtype)
    launch(primitive, {"src": "x", "dst": "out"}, arrays.stream, src_dims, src, dst_dims, dst)


@cache
def expand_primitive(device_type: DeviceType, dtype: np.dtype[Any]) -> Expand:
    """The Expand of a device and a dtype."""
    return RequirePrimitive(ExpandFactory, device_type, dtype, kMaxNumDims)
