"""What a primitive takes, declared once: compiled checks and the checks in Python, of every device, come from this."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ep.common.buffer_checks import check_overlap
from ep.include.data_type import DataType

Reader = Callable[[Any, str, DataType | None, int, bool], tuple[Any, int]]
"""Checks one buffer: (buffer, argument, data type, elements it must have, whether it is written).

Where the data type is None, elements may be of any type, and the buffer must have so many bytes.

Returns what the device's launch takes for it, and its address; raises TypeError or ValueError that names the argument.
"""


@dataclass(frozen=True, slots=True)
class Operand:
    """A buffer of a launch.

    data_type: which of the data types of New it has; None where the data type is an argument of Launch.
    count: the sizes of the launch whose product is the number of elements that it must have at least.
    any_type: whether its elements may be of any type; `count` is then in bytes, and data_type None.
    in_place: of a written operand: whether it may be the storage of an operand that has as many elements of the same
        size. Where the launch walks over dims, the walks of the two must agree, too.
    """

    name: str
    data_type: int | None
    count: tuple[str, ...]
    written: bool = False
    in_place: bool = False
    any_type: bool = False

    @property
    def type_at_launch(self) -> bool:
        """Whether its data type is an argument of Launch."""
        return self.data_type is None and not self.any_type


def reads(name: str, data_type: int | None, *count: str) -> Operand:
    """An operand that is only read."""
    return Operand(name, data_type, count)


def writes(name: str, data_type: int | None, *count: str, in_place: bool = False) -> Operand:
    """An operand that is written."""
    return Operand(name, data_type, count, True, in_place)


def reads_bytes(name: str, *count: str) -> Operand:
    """An operand of elements of any type that is only read."""
    return Operand(name, None, count, any_type=True)


def writes_bytes(name: str, *count: str, in_place: bool = False) -> Operand:
    """An operand of elements of any type that is written."""
    return Operand(name, None, count, True, in_place, any_type=True)


@dataclass(frozen=True)
class Signature:
    """The operands of a primitive in the order of Launch, and what their numbers of elements follow from.

    sizes: the numbers that counts are products of. They are arguments of Launch, or follow from its dims.
    others: integers that Launch takes besides.
    whole: whether a launch may touch all of its operands, up to their counts; these must then not overlap. Where it
        touches parts, which follow from its dims, the primitive looks for overlap itself.
    """

    operands: tuple[Operand, ...]
    sizes: tuple[str, ...]
    others: tuple[str, ...] = ()
    whole: bool = True

    def __post_init__(self) -> None:
        unknown = {size for operand in self.operands for size in operand.count} - set(self.sizes)
        if unknown:
            raise ValueError(f"counts are products of {sorted(unknown)}, which are no sizes of the launch")
        if not any(operand.written for operand in self.operands):
            raise ValueError("no operand is written")

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The operands that must not overlap, by number: each that is written, with every other one."""
        if not self.whole:
            return ()
        numbers, written = range(len(self.operands)), self.written
        return tuple((one, other) for one in written for other in numbers if other not in written or other < one)

    @property
    def written(self) -> tuple[int, ...]:
        """The operands that are written, by number."""
        return tuple(number for number, operand in enumerate(self.operands) if operand.written)

    def data_types(self, dtypes: Sequence[DataType]) -> tuple[DataType | None, ...]:
        """The data types of the operands, for those of New; None for what Launch says, and for any type."""
        return tuple(None if operand.data_type is None else dtypes[operand.data_type] for operand in self.operands)

    def counts(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """How many elements each operand must have."""
        values = dict(zip(self.sizes, sizes, strict=True))
        return tuple(math.prod(values[name] for name in operand.count) for operand in self.operands)

    def read(
        self,
        buffers: Sequence[Any],
        data_types: Sequence[DataType | None],
        sizes: Sequence[int],
        reader: Reader,
        in_place: bool = True,
    ) -> list[Any]:
        """Check the buffers of a launch, in the order of the operands; return what `reader` makes of them.

        in_place: whether the walks of all operands agree.
        Raises what `reader` raises, and ValueError for buffers that overlap where they must not.
        """
        counts = self.counts(sizes)
        read = [
            reader(buffer, operand.name, data_type, count, operand.written)
            for operand, buffer, data_type, count in zip(self.operands, buffers, data_types, counts, strict=True)
        ]
        extents = [
            (address, count * (data_type.itemsize if data_type else 1), operand.name)
            for operand, (_, address), data_type, count in zip(self.operands, read, data_types, counts, strict=True)
        ]
        for one, other in self.pairs:
            allowed = in_place and self.operands[one].in_place and counts[one] == counts[other]
            check_overlap(*extents[one], *extents[other], in_place=allowed)
        return [taken for taken, _ in read]
