"""Permute: reorder the axes of an array."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, num_dims
from ep.include.stream import Stream


class Permute(Primitive):
    """Axis `i` of dst is axis `permutation[i]` of src, as in `numpy.transpose` (`permute.h`)."""

    @abstractmethod
    def Launch(
        self,
        stream: Stream,
        data_type: DTypeLike,
        src_dims: Sequence[int],
        src: Any,
        permutation: Sequence[int],
        dst: Any,
    ) -> None:
        """Permute on `stream`.

        data_type: the type of the elements of both buffers.
        src_dims: at most max_num_dims sizes >= 0.
        permutation: every axis of src once, from 0.
        src, dst: buffers with as many elements as src_dims has; they do not overlap.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (src_dims, permutation), (src, dst), data_type)


class PermuteFactory(Factory[Permute]):
    """The factory of Permute for a number of dims; its data type is an argument of Launch."""

    primitive = Permute

    def New(self, max_num_dims: int) -> Permute | None:
        """Return a Permute, or None if the device has none; see `NewPrimitive`.

        max_num_dims: the most dims of src, at most 8 (New returns None for more).
        """
        return self.Select(Request(Permute, None, None, num_dims(max_num_dims)))
