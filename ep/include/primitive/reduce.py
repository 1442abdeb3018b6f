"""Reduce: one value for all elements along some axes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.plane_windows import PlaneWindows
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types, enumerator, num_dims
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.stream import Stream

WindowReduction = Callable[[Stream, Any, Any], None]
"""A launch (stream, src, dst) of a reduction of windows: src has the planes, dst one element for each window."""


class Reduce(Primitive):
    """`dst = op of src along axes`; upstream has separate kernels for it (`ndarray/ndarray_reduce`).

    The order in which elements are combined depends only on src_dims and axes, so the result has the same bits in every
    run. 16-bit floating types are computed in float32 or wider and rounded once.
    """

    @abstractmethod
    def Launch(self, stream: Stream, src_dims: Sequence[int], src: Any, axes: Sequence[int], dst: Any) -> None:
        """Reduce on `stream`.

        src_dims: at most max_num_dims sizes >= 0, row-major.
        src: buffer of data_type with as many elements as src_dims has.
        axes: the axes that are reduced, in any order, each once; negative ones count from the last. Without axes, each
            element is reduced by itself.
        dst: buffer with an element for each position along the other axes, which keep their order; not overlapping src.
            Its type is data_type, for kAny and kAll bool.

        kSum and kProd of integers wrap around, of bool they are "or" and "and". kMin and kMax propagate NaN, and a NaN
        is true. If a reduced axis has no elements, kSum and kAny give 0, kProd and kAll 1, kMean NaN; kMin and kMax
        raise ValueError.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (src_dims, axes), (src, dst))

    def over_windows(self, windows: PlaneWindows) -> WindowReduction | None:
        """Return a launch that reduces windows read in place; None if windows must be written out.

        windows: no size or count is 0. A window without elements gives the lowest or highest number of the type.
        """
        return None


class ReduceFactory(Factory[Reduce]):
    """The factory of Reduce for an op, a type and a number of dims."""

    primitive = Reduce

    def New(self, op: ReduceOp, data_type: DTypeLike, max_num_dims: int) -> Reduce | None:
        """Return a Reduce by `op` of `data_type`, or None if the device has none; see `NewPrimitive`.

        max_num_dims: the most dims of src, at most 8 (New returns None for more).
        """
        enumerator(op, ReduceOp, "op")
        return self.Select(Request(Reduce, op, data_types(data_type=data_type), num_dims(max_num_dims)))
