"""pad: an array with more, or fewer, elements around it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.common.checks import as_integer
from ep.common.primitive.pad_shape import PadShape
from ep.common.scalar import is_scalar
from ep.include.arrays import Array, ArrayLike
from ep.include.device_type import DeviceType
from ep.include.primitive.constant_pad import ConstantPad, ConstantPadFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.registry import RequirePrimitive
from ep.ops.devices import arrays_of
from ep.ops.names import launch


def pad(x: ArrayLike, pad_width: Any, *, constant_values: complex = 0, out: Array | None = None) -> Array:
    """Return `x` with elements of one value around it, as `numpy.pad` with its mode "constant".

    x: array of any type.
    pad_width: how many elements each axis gets before and after: `((before, after), ...)`, or `(before, after)` for all
        axes, or one integer for all sides. Negative ones take elements away, which NumPy's do not.
    constant_values: a number that the dtype of x holds.
    out: where to put the result, an array of its shape and dtype.

    The result has the dtype of x. Raises ValueError for widths of another form, for those that leave an axis fewer than
    no elements, and where more than 8 axes are left once those without padding are part of their neighbours.
    """
    arrays = arrays_of((x,), ("x",))
    src = arrays.as_buffer(x, "x")
    if not is_scalar(constant_values):
        raise TypeError(f"constant_values must be a number, not {constant_values!r}")
    before, after = _widths(pad_width, len(src.shape))
    shape = PadShape(src.shape, before, after)
    for axis, size in enumerate(shape.dst_dims):
        if size < 0:
            raise ValueError(f"pad_width {pad_width} leaves {size} elements of x, of shape {src.shape}, at axis {axis}")
    dst = arrays.destination(shape.dst_dims, src.dtype, out)
    simple = shape if len(src.shape) <= kMaxNumDims else shape.simplified()
    if len(simple.src_dims) > kMaxNumDims:
        raise ValueError(
            f"x of shape {src.shape} with pad_width {pad_width} needs {len(simple.src_dims)} axes; at most "
            f"{kMaxNumDims} are possible"
        )
    primitive = _pad(arrays.device_type, src.dtype)
    names = {"src": "x", "pad_val": "constant_values", "dst": "out"}
    operands = simple.src_dims, src, simple.padding_before, simple.padding_after, constant_values, dst
    launch(primitive, names, arrays.stream, *operands)
    return arrays.delivered(dst, out)


def _widths(pad_width: Any, num_dims: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return what each axis gets before and after."""
    widths = np.asarray(pad_width, object)
    if widths.shape not in ((), (1,), (2,), (1, 2), (num_dims, 2)):
        raise ValueError(
            f"pad_width is {pad_width!r}; it must be an integer, a pair of them, or a pair for each of {num_dims} axes"
        )
    pairs = np.broadcast_to(widths, (num_dims, 2)).tolist()
    before, after = ([as_integer(pair[side], "pad_width") for pair in pairs] for side in (0, 1))
    return tuple(before), tuple(after)


@cache
def _pad(device_type: DeviceType, dtype: np.dtype[Any]) -> ConstantPad:
    return RequirePrimitive(ConstantPadFactory, device_type, dtype)
