"""Views in host memory. Primitives accept them as buffers once their elements are in C order."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ep.common.arrays.checks import DTYPES
from ep.common.arrays.strided_copy import copy_strided
from ep.common.primitive.broadcast import Dims
from ep.common.primitive.strides import contiguous_strides, extent
from ep.include.stream import Stream

NDArray = np.ndarray[Any, Any]

_LEAST_ELEMENTS: Final = 1 << 16  # a smaller view is copied before threads have shared the work
_LEAST_PIECES: Final = 1 << 13  # runs of adjacent elements
_LONGEST_PIECE: Final = 128  # bytes; NumPy copies longer ones at the memory bandwidth of one thread


def gains(view: NDArray) -> bool:
    """Return whether a device may copy a view that is not C-contiguous faster than NumPy does.

    NumPy uses one thread and copies piece by piece, which is slow if the pieces are short and many. Wide elements take
    less time per byte, especially if the view is not transposed but has a step.
    """
    if view.size < min(_LEAST_ELEMENTS, 2 * _LEAST_PIECES):
        return False
    size, axes = view.itemsize, [axis for axis in zip(view.shape, view.strides, strict=True) if axis[0] != 1]
    piece = size
    for count, stride in reversed(axes):
        if stride != piece:
            break
        piece *= count
    if piece > size:
        return piece <= _LONGEST_PIECE and view.nbytes >= _LEAST_PIECES * piece
    step = axes[-1][1]
    if any(0 < stride < step for _, stride in axes):  # transposed
        return view.size >= (_LEAST_ELEMENTS if size <= 8 else 4 * _LEAST_ELEMENTS)
    return step > 0 and size <= 4 and view.size >= (_LEAST_ELEMENTS if size <= 2 else 4 * _LEAST_ELEMENTS)


def to_c_order(stream: Stream, view: NDArray, dtype: np.dtype[Any]) -> NDArray:
    """Return a C-contiguous array of a view's elements. dtype: the view's own, in native byte order."""
    strides = _walked(view)
    if strides is not None:
        result = np.empty(view.shape, dtype)
        steps = contiguous_strides(view.shape)
        if copy_strided(stream, view.shape, _memory(view, strides), strides, result, steps):
            return result
    return np.asarray(view, dtype, order="C")


def write_view(stream: Stream, array: NDArray, view: NDArray) -> None:
    """Write the elements of a C-contiguous array to a view of the same shape and dtype, which share no memory."""
    strides = _walked(view)
    if strides is not None:
        steps = contiguous_strides(array.shape)
        if copy_strided(stream, array.shape, array, steps, _memory(view, strides), strides):
            return
    view[...] = array


def _walked(view: NDArray) -> Dims | None:
    """Return the strides of a view in elements, or None if primitives cannot read the view.

    NumPy copies those views, with the same bits: in another byte order, not aligned, with negative strides, or with
    strides that are not multiples of the element size.
    """
    size = view.itemsize
    if view.dtype not in DTYPES or not view.flags.aligned:
        return None
    if any(stride < 0 or stride % size for stride in view.strides):
        return None
    return tuple(stride // size for stride in view.strides)


def _memory(view: NDArray, strides: Dims) -> NDArray:
    """Return the memory of a view, from its first element to its last, as an array."""
    return np.lib.stride_tricks.as_strided(view, (extent(view.shape, strides),), (view.itemsize,))
