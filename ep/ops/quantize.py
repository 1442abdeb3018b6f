"""quantize and dequantize: floating-point numbers as integers of a few bits, by scales and zero points."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.checks import as_count
from ep.include.arrays import Array, ArrayLike
from ep.include.data_type import DataType, DTypeLike, as_data_type
from ep.include.number_kind import FLOATS
from ep.ops.composition import composition
from ep.ops.declare.function import FUNCTIONS
from ep.ops.joined import joined
from ep.ops.shapes import check_shape, from_front
from ep.ops.terms import in_type, viewed

QUANTIZED: Final = DataType.kInt8, DataType.kUInt8, DataType.kInt16, DataType.kUInt16
"""The types that numbers are quantized to."""
_INTEGERS: Final = (*QUANTIZED, DataType.kInt32)


@composition(FLOATS, alike=False, also={"x": (DataType.kInt32,), "zero_point": QUANTIZED})
@joined
def quantize(
    x: ArrayLike,
    scale: ArrayLike,
    zero_point: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
    axis: int = 1,
    block_size: int = 0,
) -> Array:
    """Return `rint(x / scale) + zero_point`, limited to the range of an integer type, as ONNX's QuantizeLinear.

    x: array of a floating type or int32.
    scale: array of a floating type, in which the quotient is computed: of 16 bits, in float32. One number is for all
        of `x`; an array of one axis has a number for each place along `axis`; with a `block_size`, `scale` has the
        shape of `x` but for `axis`, along which it has a number for that many places, the last one perhaps for fewer.
    zero_point: array of the shape of `scale` and of the dtype of the result; None for 0.
    dtype: int8, uint8, int16 or uint16; by default that of `zero_point`, or uint8.

    Of two nearest integers the even one is taken, infinities become the ends of the range, and NaN becomes 0. Raises
    TypeError for other types, ValueError for shapes that do not fit.
    """
    told = "zero_point has dtype" if dtype is None and zero_point is not None else "dtype is"
    if dtype is None:
        dtype = DataType.kUInt8 if zero_point is None else zero_point.dtype
    wanted = _checked(as_data_type(dtype), told, QUANTIZED)
    found = _fitted(x, scale, zero_point, wanted, axis, block_size)
    carried = _carried(scale)
    whole = FUNCTIONS["rint"](FUNCTIONS["div"](*(in_type(one, carried) for one in (found.x, found.scale))))
    if found.zero_point is not None:
        whole = FUNCTIONS["add"](whole, in_type(found.zero_point, carried))
    return viewed(FUNCTIONS["cast"](whole, wanted), x.shape)


@composition((), alike=False, also={"x": _INTEGERS, "scale": FLOATS, "zero_point": _INTEGERS})
@joined
def dequantize(
    x: ArrayLike,
    scale: ArrayLike,
    zero_point: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
    axis: int = 1,
    block_size: int = 0,
) -> Array:
    """Return `(x - zero_point) * scale`, as ONNX's DequantizeLinear.

    x: array of int8, uint8, int16, uint16 or int32. scale, axis, block_size: as of `quantize`.
    zero_point: array of the shape of `scale` and of the dtype of `x`; None for 0.
    dtype: that of the result, a floating type; by default that of `scale`.

    Types of 16 bits are computed in float32, and rounded once. The gradient by `scale` is that of the product. Raises
    TypeError for other types, ValueError for shapes that do not fit.
    """
    wanted = _checked(as_data_type(scale.dtype if dtype is None else dtype), "dtype is", FLOATS)
    found = _fitted(x, scale, zero_point, as_data_type(x.dtype), axis, block_size)
    carried, whole = _carried(scale), found.x
    if found.zero_point is not None:
        exact = np.dtype(np.float64) if x.dtype.itemsize == 4 else carried
        whole = FUNCTIONS["sub"](in_type(whole, exact), in_type(found.zero_point, exact))
    y = FUNCTIONS["mul"](in_type(whole, carried), in_type(found.scale, carried))
    return viewed(in_type(y, wanted.dtype), x.shape)


class _Fitted(NamedTuple):
    """An array, and the scales and zero points that broadcast to it."""

    x: Any
    scale: Any
    zero_point: Any = None


def _fitted(x: Any, scale: Any, zero_point: Any, of_zero: DataType, axis: int, block_size: int) -> _Fitted:
    """Return x in a shape to which its scales and zero points broadcast. of_zero: the type that these must have."""
    several = [scale] if zero_point is None else [scale, zero_point]
    if zero_point is not None and zero_point.dtype != of_zero.dtype:
        raise TypeError(f"zero_point has dtype {zero_point.dtype}; it must have {of_zero.dtype}")
    shape, per_block = tuple(x.shape), as_count(block_size, "block_size")
    if not per_block and all(map(_is_single, several)):
        return _Fitted(x, *(viewed(one, ()) for one in several))
    place = from_front(axis, "axis", len(shape), len(shape))
    size, before, after = shape[place], shape[:place], shape[place + 1 :]
    count = -(-size // per_block) if per_block else size
    for argument, one in zip(("scale", "zero_point"), several, strict=False):
        check_shape(argument, one, (*before, count, *after) if per_block else (size,))
    if not per_block:
        return _Fitted(x, *(viewed(one, (size, *[1] * len(after))) for one in several))
    found = [viewed(one, (*before, count, 1, *after)) for one in several]
    if size == count * per_block:
        return _Fitted(viewed(x, (*before, count, per_block, *after)), *found)
    expanded = [FUNCTIONS["expand"](one, (*before, count, per_block, *after)) for one in found]
    whole, slices = (*before, count * per_block, *after), [*[(None, None)] * place, (0, size)]
    return _Fitted(x, *(FUNCTIONS["slice"](viewed(one, whole), *slices) for one in expanded))


def _is_single(array: Any) -> bool:
    """Return whether an array has one number, for all of another array."""
    return tuple(array.shape) in ((), (1,))


def _carried(scale: Any) -> np.dtype[Any]:
    """Return the type for all but the result: each whole number of the types that are quantized to is exact in it."""
    return np.dtype(np.float32 if scale.dtype.itemsize == 2 else scale.dtype)


def _checked(data_type: DataType, told: str, takes: tuple[DataType, ...]) -> DataType:
    """Return a type; TypeError for another one than the function takes. told: the begin of its message."""
    if data_type not in takes:
        names = ", ".join(one.dtype.name for one in takes)
        raise TypeError(f"{told} {data_type.dtype}; it must be one of {names}")
    return data_type
