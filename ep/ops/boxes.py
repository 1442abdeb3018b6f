"""Boxes of arrays, copied to where they belong: what operators that cut and join have in common."""

from __future__ import annotations

from functools import cache

from ep.common.primitive.box_copy import BoxCopy
from ep.include.arrays import Array, Arrays
from ep.include.device_type import DeviceType
from ep.include.primitive.copy_nd import CopyNd, CopyNdFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.registry import RequirePrimitive
from ep.ops.names import launch


def copy_box(on: Arrays, box: BoxCopy, src: Array, dst: Array) -> None:
    """Queue the copy of a box of `src` to its place in `dst`; ValueError where it has more than 8 axes."""
    if len(box.extent) > kMaxNumDims:
        raise ValueError(f"slices of x leave {len(box.extent)} axes; at most {kMaxNumDims} are possible")
    launch(
        *(_copy_nd(on.device_type), {"src": "x", "dst": "out"}, on.stream, src.dtype),
        *(dst, box.dst_dims, box.dst_pos, src, box.src_dims, box.src_pos, box.extent),
    )


@cache
def _copy_nd(device_type: DeviceType) -> CopyNd:
    return RequirePrimitive(CopyNdFactory, device_type, kMaxNumDims)
