"""ArgSort: the places of the first elements in an order, along an axis."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types, enumerator
from ep.include.primitive.sort_order import SortOrder
from ep.include.stream import Stream


class ArgSort(Primitive):
    """`x[i, places[i, 0, j], j], x[i, places[i, 1, j], j], ...` are in order; upstream has a kernel `arg_sort`.

    All elements may be sorted, or only the first few found. One place is that of an extreme.
    """

    @abstractmethod
    def Launch(
        self,
        stream: Stream,
        outer_dim_size: int,
        sort_dim_size: int,
        inner_dim_size: int,
        num_places: int,
        x: Any,
        places: Any,
    ) -> None:
        """Sort on `stream`.

        x: buffer of `[outer_dim_size, sort_dim_size, inner_dim_size]` elements of data_type.
        places: buffer of `[outer_dim_size, num_places, inner_dim_size]` int64 elements, not overlapping x.
        num_places: at most sort_dim_size. More than one place is found among less than 2**31 elements.

        -0 and 0 are equal, and so are all NaN. Raises TypeError or ValueError, naming the argument, before anything is
        written.
        """
        self._launch_with(stream, (outer_dim_size, sort_dim_size, inner_dim_size, num_places), (x, places))


class ArgSortFactory(Factory[ArgSort]):
    """The factory of ArgSort for an order and a type."""

    primitive = ArgSort

    def New(self, op: SortOrder, data_type: DTypeLike) -> ArgSort | None:
        """Return an ArgSort of `data_type` in the order `op`, or None if the device has none; see `NewPrimitive`."""
        enumerator(op, SortOrder, "op")
        return self.Select(Request(ArgSort, op, data_types(data_type=data_type)))
