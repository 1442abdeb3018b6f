"""Gather: copy rows of a table, chosen by indices."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types
from ep.include.stream import Stream


class Gather(Primitive):
    """`out[o, i, n] = params[o, indices[i] - offset, n]`, zeros if the index is out of range.

    Upstream has it as a separate kernel (`user/kernels/gather_kernel_util`), and as a primitive in a proposal.
    """

    @abstractmethod
    def Launch(
        self,
        stream: Stream,
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

        params: buffer of `[outer_dim_size, gather_dim_size, inner_dim_size]` elements of params_type.
        indices: buffer of `[num_indices]` elements of indices_type.
        out: buffer of `[outer_dim_size, num_indices, inner_dim_size]` elements of params_type, overlapping neither.
        offset: the index of row 0, at most 2^62 in magnitude. If an index minus `offset` is outside
            `[0, gather_dim_size)`, its row is zeros; it is neither wrapped nor reported: that is left to the operator.

        Sizes are in elements, >= 0; nothing happens if `out` is empty. Raises TypeError or ValueError, naming the
        argument, before anything is written.
        """
        sizes = 1, outer_dim_size, gather_dim_size, inner_dim_size, num_indices, offset
        self._launch_with(stream, sizes, (params, indices, out))


class GatherFactory(Factory[Gather]):
    """The factory of Gather for a type of params and a type of indices."""

    primitive = Gather

    def New(self, params_type: DTypeLike, indices_type: DTypeLike) -> Gather | None:
        """Return a Gather of `params_type` by `indices_type`, or None if the device has none; see `NewPrimitive`."""
        return self.Select(Request(Gather, None, data_types(params_type=params_type, indices_type=indices_type)))
