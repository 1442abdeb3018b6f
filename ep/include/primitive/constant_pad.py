"""ConstantPad: put a border of one value around the data, or crop it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types
from ep.include.stream import Stream


class ConstantPad(Primitive):
    """`dst[i] = src[i - padding_before]`, or `pad_val` if that is outside src (`constant_pad.h`)."""

    @abstractmethod
    def Launch(
        self,
        stream: Stream,
        src_dims: Sequence[int],
        src: Any,
        padding_before: Sequence[int],
        padding_after: Sequence[int],
        pad_val: Any,
        dst: Any,
    ) -> None:
        """Pad on `stream`.

        src_dims: at most 8 sizes >= 0.
        src: buffer of data_type with as many elements as src_dims has.
        padding_before, padding_after: for each dim, the elements to add in front and behind; negative ones crop.
        pad_val: a number that data_type can hold, as for Fill.
        dst: buffer of data_type with the dims `src_dims + padding_before + padding_after`, each >= 0; it does not
            overlap src.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (src_dims, padding_before, padding_after), (src, dst), pad_val)


class ConstantPadFactory(Factory[ConstantPad]):
    """The factory of ConstantPad for a type."""

    primitive = ConstantPad

    def New(self, data_type: DTypeLike) -> ConstantPad | None:
        """Return a ConstantPad of `data_type`, or None if the device has none; see `NewPrimitive`."""
        return self.Select(Request(ConstantPad, None, data_types(data_type=data_type)))
