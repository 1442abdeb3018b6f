"""Copies of elements between strided arrays, by the primitive of the device that they are on."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ep.common.primitive.broadcast import Dims, simplify_strided
from ep.include.device_type import DeviceType
from ep.include.primitive.expand import Expand, ExpandFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.registry import NewPrimitive
from ep.include.stream import Stream


def copy_strided(stream: Stream, shape: Dims, src: Any, src_strides: Dims, dst: Any, dst_strides: Dims) -> bool:
    """Launch a copy of elements of `shape`, which has no size 0. Return False if the device has no primitive for it.

    src, dst: buffers of one dtype that begin with the first element. Strides are in elements; dst's elements do not
        overlap.
    """
    dims, src_strides, dst_strides = simplify_strided(shape, src_strides, dst_strides)
    expand = _expand(stream.device_type(), src.dtype) if len(dims) <= kMaxNumDims else None
    if expand is None:
        return False
    expand.Launch(stream, dims, src, dims, dst, src_strides, dst_strides)
    return True


@cache
def _expand(device_type: DeviceType, dtype: np.dtype[Any]) -> Expand | None:
    return NewPrimitive(ExpandFactory, device_type, dtype, kMaxNumDims)
