"""Where: select elements of one of two broadcast operands by those of a third."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types, num_dims
from ep.include.stream import Stream


class Where(Primitive):
    """`z = x where cond != 0 else y`, with NumPy's broadcasting of all three (`where.h`)."""

    @abstractmethod
    def Launch(
        self,
        stream: Stream,
        cond_dims: Sequence[int],
        cond: Any,
        x_dims: Sequence[int],
        x: Any,
        y_dims: Sequence[int],
        y: Any,
        z: Any,
    ) -> None:
        """Choose on `stream`.

        cond: buffer of cond_type with as many elements as its dims have.
        x, y: buffers of data_type with as many elements as their dims have.
        cond, x, y: if the dims are `()`, a plain number that the type can hold is accepted, as by Fill.
        cond_dims, x_dims, y_dims: at most max_num_dims sizes >= 0, row-major, aligned at the last axis; the sizes of
            one axis that are not 1 are equal.
        z: buffer of data_type with the broadcast dims. It may be the storage of an operand that has as many elements as
            z and elements of the same size; it must not overlap an operand otherwise.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (cond_dims, x_dims, y_dims), (cond, x, y, z))


class WhereFactory(Factory[Where]):
    """The factory of Where for a type of the condition, a type of the data and a number of dims."""

    primitive = Where

    def New(self, cond_type: DTypeLike, data_type: DTypeLike, max_num_dims: int) -> Where | None:
        """Return a Where of `data_type` by `cond_type`, or None if the device has none; see `NewPrimitive`.

        max_num_dims: the most dims of an operand, at most 8 (New returns None for more).
        """
        types = data_types(cond_type=cond_type, data_type=data_type)
        return self.Select(Request(Where, None, types, num_dims(max_num_dims)))
