"""BatchGather: Gather within each batch, by the batch's own indices."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types
from ep.include.stream import Stream


class BatchGather(Primitive):
    """`out[b, o, i, n] = params[b, o, indices[b, i] - offset, n]`, zeros if the index is out of range.

    Upstream has it as a separate kernel (`user/kernels/batch_gather_kernel_util`), and as a primitive in a proposal.
    """

    @abstractmethod
    def Launch(
        self,
        stream: Stream,
        batch_dim_size: int,
        outer_dim_size: int,
        gather_dim_size: int,
        inner_dim_size: int,
        params: Any,
        num_indices: int,
        indices: Any,
        out: Any,
        offset: int = 0,
    ) -> None:
        """Gather on `stream`.

        params: buffer of `[batch_dim_size, outer_dim_size, gather_dim_size, inner_dim_size]` elements of params_type.
        num_indices: the number of indices of one batch.
        indices: buffer of `[batch_dim_size, num_indices]` elements of indices_type.
        out: buffer of `[batch_dim_size, outer_dim_size, num_indices, inner_dim_size]` elements of params_type,
            overlapping neither.
        offset: the index of row 0, at most 2^62 in magnitude. If an index minus `offset` is outside
            `[0, gather_dim_size)`, its row is zeros; it is neither wrapped nor reported: that is left to the operator.

        Sizes are in elements, >= 0; nothing happens if `out` is empty. Raises TypeError or ValueError, naming the
        argument, before anything is written.
        """
        sizes = batch_dim_size, outer_dim_size, gather_dim_size, inner_dim_size, num_indices, offset
        self._launch_with(stream, sizes, (params, indices, out))


class BatchGatherFactory(Factory[BatchGather]):
    """The factory of BatchGather for a type of params and a type of indices."""

    primitive = BatchGather

    def New(self, params_type: DTypeLike, indices_type: DTypeLike) -> BatchGather | None:
        """Return one of `params_type` by `indices_type`, or None if the device has none; see `NewPrimitive`."""
        return self.Select(Request(BatchGather, None, data_types(params_type=params_type, indices_type=indices_type)))
