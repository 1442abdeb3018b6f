"""cast: an array in another data type."""

from __future__ import annotations

from functools import cache

from ep.include.arrays import Array, ArrayLike
from ep.include.data_type import DataType, DTypeLike, as_data_type
from ep.include.device_type import DeviceType
from ep.include.number_kind import COMPLEXES
from ep.include.primitive.cast import Cast, CastFactory
from ep.include.primitive.registry import RequirePrimitive
from ep.ops.devices import arrays_of
from ep.ops.names import launch


def cast(x: ArrayLike, dtype: DTypeLike, *, out: Array | None = None) -> Array:
    """Return `x` in another data type, as `numpy.astype`.

    x: array of any shape and type.
    dtype: a DataType, a NumPy dtype or a sized name, such as "float16" or "bfloat16".
    out: where to put the result, an array of its shape and dtype.

    The result is an array of its own, even where x has that type already. Floating-point numbers become integers toward
    zero, the largest or smallest one where they are out of range, and 0 for NaN; integers wrap. Raises TypeError for a
    complex array and a real type: take `real(x)` or `imag(x)`.
    """
    arrays = arrays_of((x,), ("x",))
    src, dst_type = arrays.as_buffer(x, "x"), as_data_type(dtype)
    src_type = as_data_type(src.dtype)
    if src_type in COMPLEXES and dst_type not in COMPLEXES:
        raise TypeError(f"dtype is {dst_type.dtype}, and x has dtype {src.dtype}; take real(x) or imag(x) first")
    primitive = _cast(arrays.device_type, src_type, dst_type)
    dst = arrays.destination(src.shape, dst_type.dtype, out)
    launch(primitive, {"src": "x", "dst": "out"}, arrays.stream, src, dst, src.size)
    return arrays.delivered(dst, out)


astype = cast
"""The array API's name."""


@cache
def _cast(device_type: DeviceType, src_type: DataType, dst_type: DataType) -> Cast:
    return RequirePrimitive(CastFactory, device_type, src_type, dst_type)
