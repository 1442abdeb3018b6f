"""Boxes of arrays, copied to where they belong: what operators that cut and join have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ep.common.primitive.box_copy import BoxCopy
from ep.include.arrays import Array
from ep.include.primitive.copy_nd import CopyNdFactory
from ep.include.primitive.primitive import kMaxNumDims
from ep.ops.kernels import Call, Kernel, Subject, primitive_exists
from ep.ops.names import launch


class BoxKernel(Kernel):
    """Launches of CopyNd."""

    exists = primitive_exists(CopyNdFactory, kMaxNumDims)

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._copy_nd = self.exists.make(subject)

    def copy(self, call: Call, box: BoxCopy, src: Array, dst: Array) -> None:
        """Queue the copy of a box of `src` to its place in `dst`; ValueError where it has more than 8 axes."""
        if len(box.extent) > kMaxNumDims:
            raise ValueError(f"slices of x leave {len(box.extent)} axes; at most {kMaxNumDims} are possible")
        launch(
            *(self._copy_nd, {"src": "x", "dst": "out"}, call.stream, src.dtype),
            *(dst, box.dst_dims, box.dst_pos, src, box.src_dims, box.src_pos, box.extent),
        )

    def copy_columns(
        self, call: Call, whole: Array, axis: int, begin: int, parts: Sequence[Array], *, to_parts: bool
    ) -> None:
        """Queue copies between `whole` and its parts along `axis`, of which the first begins at column `begin`.

        Columns are those of the rows that the axes before `axis` make.
        """
        rows = math.prod(whole.shape[:axis])
        if whole.size == 0:
            return
        self._copy_nd.LaunchColumns(
            *(call.stream, whole.dtype, whole, rows, whole.size // rows, begin, parts, to_parts)
        )
