"""BatchScatter: write rows to the places that indices name, or combine them with those there: BatchGather reversed."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types, enumerator
from ep.include.primitive.scatter_op import ScatterOp
from ep.include.stream import Stream


class BatchScatter(Primitive):
    """`out[b, o, indices[b, i] - offset, n] = op(out[...], updates[b, o, i, n])`, for one i after another.

    Upstream has kernels for elements along an axis (`user/kernels/dim_scatter_kernels`).
    """

    @abstractmethod
    def Launch(
        self,
        stream: Stream,
        batch_dim_size: int,
        outer_dim_size: int,
        scatter_dim_size: int,
        inner_dim_size: int,
        updates: Any,
        num_indices: int,
        indices: Any,
        out: Any,
        offset: int = 0,
    ) -> None:
        """Scatter rows on `stream`.

        updates: buffer of `[batch_dim_size, outer_dim_size, num_indices, inner_dim_size]` elements of data_type.
        num_indices: the number of indices of one batch.
        indices: buffer of `[batch_dim_size, num_indices]` elements of indices_type, in any order.
        out: buffer of `[batch_dim_size, outer_dim_size, scatter_dim_size, inner_dim_size]` elements of data_type,
            overlapping neither. Rows that no index names are not written.
        offset: the index of row 0, at most 2^62 in magnitude. If an index minus `offset` is outside
            `[0, scatter_dim_size)`, its row is ignored; the index is neither wrapped nor reported.

        kUpdate writes the update: the last one of several rows with the same index stays. The other ops give the same
        bits in every run: up to 64 rows with the same index are combined with that of `out` in the order of i. A device
        may divide more rows into parts of 64, 128, 256 or 512 neighbours; it combines the rows of each part in that
        order, and then `out` with the parts in their order. Sums and products of integers wrap around, of bool they are
        "or" and "and"; kMax and kMin propagate NaN. 16-bit floating types are computed in float32 and rounded once.

        Sizes are in elements, >= 0. Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        sizes = batch_dim_size, outer_dim_size, scatter_dim_size, inner_dim_size, num_indices, offset
        self._launch_with(stream, sizes, (updates, indices, out))


class BatchScatterFactory(Factory[BatchScatter]):
    """The factory of BatchScatter for an op, a type of data and a type of indices."""

    primitive = BatchScatter

    def New(self, op: ScatterOp, data_type: DTypeLike, indices_type: DTypeLike) -> BatchScatter | None:
        """Return one of `data_type` by `indices_type`, or None if the device has none; see `NewPrimitive`."""
        types = data_types(data_type=data_type, indices_type=indices_type)
        return self.Select(Request(BatchScatter, enumerator(op, ScatterOp, "op"), types))
