"""OneHot: a row per index, with one value at the index and another elsewhere."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types
from ep.include.stream import Stream


class OneHot(Primitive):
    """`out[i, j] = on_value if indices[i] == lower_bound + j else off_value` (`one_hot.h`)."""

    @abstractmethod
    def Launch(
        self,
        stream: Stream,
        indices: Any,
        out: Any,
        on_value: Any,
        off_value: Any,
        num_indices: int,
        lower_bound: int,
        upper_bound: int,
    ) -> None:
        """Encode on `stream`.

        indices: buffer of `[num_indices]` elements of indices_type. An index outside `[lower_bound, upper_bound)` gives
            a row of `off_value`; it is neither wrapped nor reported.
        out: buffer of `[num_indices, upper_bound - lower_bound]` elements of out_type, not overlapping indices.
        on_value, off_value: numbers that out_type can hold, as for Fill.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (num_indices, lower_bound, upper_bound), (indices, out), on_value, off_value)


class OneHotFactory(Factory[OneHot]):
    """The factory of OneHot for a type of indices and a type of out."""

    primitive = OneHot

    def New(self, indices_type: DTypeLike, out_type: DTypeLike) -> OneHot | None:
        """Return a OneHot of `indices_type` into `out_type`, or None if the device has none; see `NewPrimitive`."""
        return self.Select(Request(OneHot, None, data_types(indices_type=indices_type, out_type=out_type)))
