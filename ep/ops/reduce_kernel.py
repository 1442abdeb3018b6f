"""The kernels of reductions: one launch of Reduce, after a Cast, and the means of pieces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.reduce_shape import ReduceShape
from ep.include.arrays import RESULT, Array, Arrays, Placeholder
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.broadcast_elementwise_binary import BroadcastElementwiseBinaryFactory
from ep.include.primitive.cast import CastFactory
from ep.include.primitive.fill import FillFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.reduce import ReduceFactory
from ep.include.primitive.reduce_op import ReduceOp
from ep.ops.kernels import Calls, Launches, OneLaunch, data_type, primitive_exists


def reduce_kernel(calls: Calls, reduce: Any, cast: Any = None) -> Launches:
    """Return one launch of Reduce, after a Cast, if there is one, to another type than that of x."""
    (shape,), axes, types = calls.shapes, calls.attributes["axes"], calls.subject.data_types
    count, converted = math.prod(shape), (shape, types["out"].dtype)
    if len(shape) > kMaxNumDims:
        shape, axes = _simplified(shape, axes)
    reducing = OneLaunch(reduce, shape, Placeholder(0), axes, RESULT)
    if cast is None or types["out"] is types["x"]:
        return reducing

    def launches(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        x = arrays.empty(*converted)
        cast.Launch(arrays.stream, inputs[0], x, count)
        reducing(arrays, [x], outputs)

    return launches


def mean_of_piece_kernel(calls: Calls, mean: Any, cast: Any, mul: Any, fill: Any) -> Launches:
    """Return the launches of the mean of a piece, times its share of the elements; 0 for no elements."""
    averaging = reduce_kernel(calls, mean, cast)
    mine = math.prod(calls.shapes[0][axis] for axis in calls.attributes["axes"])
    share = mine / calls.attributes["count"]

    def share_of_mean(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        (out,) = outputs
        averaging(arrays, inputs, outputs)
        mul.Launch(arrays.stream, (math.prod(out.shape),), out, (), share, out)

    def zeros(arrays: Arrays, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        (out,) = outputs
        fill.Launch(arrays.stream, out, 0, math.prod(out.shape))

    return share_of_mean if mine else zeros


def _simplified(shape: Dims, axes: tuple[int, ...]) -> tuple[Dims, tuple[int, ...]]:
    """Return shape and axes with merged neighbours; ValueError if more than 8 axes remain."""
    kept = ReduceShape(shape, axes).simplified() if 0 not in shape else ()
    if not kept:
        stay = [size for axis, size in enumerate(shape) if axis not in axes]
        gone = [shape[axis] for axis in axes]
        return (int(np.prod(stay)), int(np.prod(gone))), (1,)
    if len(kept) > kMaxNumDims:
        raise ValueError(
            f"x of shape {shape} along axes {axes} needs {len(kept)} axes where neighbours of one kind are one; "
            f"at most {kMaxNumDims} are possible"
        )
    return tuple(axis.size for axis in kept), tuple(place for place, axis in enumerate(kept) if axis.reduced)


def exists(op: ReduceOp, converts: bool) -> Any:
    """Return the condition that a device has Reduce for an op. converts: whether in the type of the result."""
    return primitive_exists(ReduceFactory, op, data_type("out" if converts else "x"), kMaxNumDims)


CAST = primitive_exists(CastFactory, data_type("x"), data_type("out"))
MUL = primitive_exists(BroadcastElementwiseBinaryFactory, BinaryOp.kMul, data_type("out"), data_type("out"), 1)
FILL = primitive_exists(FillFactory, data_type("out"))
