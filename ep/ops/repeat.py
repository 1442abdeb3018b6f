"""repeat and tile: an array laid side by side."""

from __future__ import annotations

from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, ArrayLike, Arrays
from ep.ops.devices import arrays_of
from ep.ops.expand import launch_expand
from ep.ops.shapes import as_sizes


def repeat(x: ArrayLike, *sizes: Any, out: Array | None = None) -> Array:
    """Return `sizes` copies of `x` side by side along each axis, as `numpy.tile`; `numpy.repeat` is another function.

    x: array of no more axes than there are sizes; they stand for the last ones.
    sizes: integers >= 0, or one sequence of them.
    out: where to put the result, an array of its shape and dtype.

    The result has the dtype of x and, along each axis, its size times the number of copies; axes that x lacks count
    as 1. Raises ValueError for sizes that do not fit, and where the walk needs more than 8 axes even after neighbours
    have been merged: an axis of which there are several copies counts as two.
    """
    arrays = arrays_of((x,), ("x",))
    return _repeated(arrays, arrays.as_buffer(x, "x"), as_sizes(sizes), out)


def tile(x: ArrayLike, repetitions: Any, *, out: Array | None = None) -> Array:
    """Return `repetitions` copies of `x` side by side along each axis, as `numpy.tile`.

    repetitions: an integer >= 0, or a sequence of them. Where x has more axes, they are for the last
        ones; `repeat` refuses that, and is this function otherwise.
    """
    arrays = arrays_of((x,), ("x",))
    x = arrays.as_buffer(x, "x")
    sizes = as_sizes((repetitions,), "repetitions")
    return _repeated(arrays, x, (1,) * (len(x.shape) - len(sizes)) + sizes, out)


def _repeated(arrays: Arrays, x: Array, sizes: Dims, out: Array | None) -> Array:
    src_dims, dst_dims, shape = repeat_dims(x.shape, sizes)
    dst = arrays.destination(shape, x.dtype, out)
    launch_expand(arrays, "repeat", x, src_dims, dst, dst_dims)
    return arrays.delivered(dst, out)


def repeat_dims(shape: Dims, sizes: Dims) -> tuple[Dims, Dims, Dims]:
    """Return the dims between which a repetition is an expansion, and the shape of its result.

    An axis of size d that is repeated r times is `(1, d)` expanded to `(r, d)`, seen as one axis of size r d:
    `(3, 1, 5)` repeated `(5, 3, 1)` is `(1, 3, 1, 5)` expanded to `(5, 3, 3, 5)`, seen as `(15, 3, 5)`. An axis of
    size 1, or one that is not repeated, needs no second one.
    """
    num_new = len(sizes) - len(shape)
    if num_new < 0:
        raise ValueError(f"sizes {sizes} has fewer axes than x, whose shape is {shape}")
    src_dims: list[int] = []
    dst_dims: list[int] = []
    result: list[int] = []
    for axis, (size, times) in enumerate(zip((1,) * num_new + shape, sizes, strict=True)):
        if times < 0:
            raise ValueError(f"sizes[{axis}] is {times}; it must not be negative")
        if size != 1 and times != 1:
            src_dims.append(1)
            dst_dims.append(times)
        src_dims.append(size)
        dst_dims.append(times if size == 1 else size)
        result.append(size * times)
    return tuple(src_dims), tuple(dst_dims), tuple(result)
