"""where: elements of one of two arrays, chosen by a third."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.primitive.broadcast import broadcast_dims
from ep.include.arrays import Array, ArrayLike
from ep.include.device_type import DeviceType
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.registry import RequirePrimitive
from ep.include.primitive.where import Where, WhereFactory
from ep.ops.devices import arrays_of
from ep.ops.names import launch
from ep.ops.operands import as_operands
from ep.ops.shapes import launch_dims

_NAMES: Final = "condition", "x", "y"


def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the elements of `x` where `condition` is not 0, else those of `y`, as `numpy.where`.

    condition: array of bool or of an integer type.
    x, y: arrays of one dtype; a Python number takes the dtype of the other one.
    out: where to put the result, an array of its shape and dtype.

    The result has the shape to which all three broadcast, by NumPy's rules, and the dtype of x and y. Raises TypeError
    where their dtypes differ and for a condition of another type, ValueError for shapes that do not broadcast.
    """
    arrays = arrays_of((condition, x, y), _NAMES)
    chosen = arrays.as_buffer(condition, "condition")
    if chosen.dtype.kind not in "biu":
        raise TypeError(f"condition has dtype {chosen.dtype}; it must be bool or an integer type")
    a, b = as_operands(arrays, x, y, _NAMES[1:])
    primitive = _where(arrays.device_type, chosen.dtype, a.dtype)
    shape = broadcast_dims(a.shape, b.shape, names=_NAMES[1:])
    shape = broadcast_dims(chosen.shape, shape, names=("condition", "x and y"))
    dims = launch_dims("where", chosen.shape, a.shape, b.shape)
    dst = arrays.destination(shape, a.dtype, out)
    operands: list[Any] = [part for pair in zip(dims, (chosen, a, b), strict=True) for part in pair]
    launch(primitive, {"cond": "condition", "z": "out"}, arrays.stream, *operands, dst)
    return arrays.delivered(dst, out)


@cache
def _where(device_type: DeviceType, cond_dtype: np.dtype[Any], dtype: np.dtype[Any]) -> Where:
    return RequirePrimitive(WhereFactory, device_type, cond_dtype, dtype, kMaxNumDims)
