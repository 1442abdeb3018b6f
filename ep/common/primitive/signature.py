"""The declared operands of a primitive. Every device makes its checks from them, compiled or in Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final

from ep.common.buffer_checks import check_overlap
from ep.include.data_type import DataType

Reader = Callable[[Any, str, DataType | None, int, bool], tuple[Any, int]]
"""The check of one buffer: (buffer, argument, data type, least number of elements, whether it is written).

If the data type is None, elements may be of any type, and the number is in bytes.

Returns the form in which the device's launch receives the buffer, and its address. Raises TypeError or ValueError that
names the argument.
"""


_taken: Final = itemgetter(0)


@dataclass(frozen=True, slots=True)
class Operand:
    """A buffer of a launch.

    data_type: the position of its data type among those of New; None if the data type is an argument of Launch.
    count: the sizes of the launch whose product is the least number of its elements.
    any_type: whether its elements may be of any type; `count` is then in bytes, and data_type None.
    in_place: for a written operand, whether it may share the storage of an operand with as many elements of the same
        size. If the launch walks over dims, the walks of the two must be the same, too.
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
    """Return an operand that is only read."""
    return Operand(name, data_type, count)


def writes(name: str, data_type: int | None, *count: str, in_place: bool = False) -> Operand:
    """Return an operand that is written."""
    return Operand(name, data_type, count, True, in_place)


def reads_bytes(name: str, *count: str) -> Operand:
    """Return an operand of elements of any type that is only read."""
    return Operand(name, None, count, any_type=True)


def writes_bytes(name: str, *count: str, in_place: bool = False) -> Operand:
    """Return an operand of elements of any type that is written."""
    return Operand(name, None, count, True, in_place, any_type=True)


@dataclass(frozen=True)
class Signature:
    """The operands of a primitive in the order of Launch, and the sizes that give their numbers of elements.

    sizes: the numbers that counts are products of. They are arguments of Launch, or follow from its dims.
    others: other integers among Launch's arguments.
    whole: whether a launch may access each operand as a whole, up to its count; operands must then not overlap.
        Otherwise it accesses parts, which follow from its dims, and the primitive checks for overlap itself.
    written: the operands that are written, by number.
    pairs: the pairs of operands, by number, that must not overlap: each written one with every other one.
    """

    operands: tuple[Operand, ...]
    sizes: tuple[str, ...]
    others: tuple[str, ...] = ()
    whole: bool = True
    written: tuple[int, ...] = field(init=False, repr=False, compare=False)
    pairs: tuple[tuple[int, int], ...] = field(init=False, repr=False, compare=False)
    _names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _are_written: tuple[bool, ...] = field(init=False, repr=False, compare=False)
    _factors: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)
    """For each operand, the positions of the sizes whose product is its number of elements."""

    def __post_init__(self) -> None:
        unknown = {size for operand in self.operands for size in operand.count} - set(self.sizes)
        if unknown:
            raise ValueError(f"counts are products of {sorted(unknown)}, which are not sizes of the launch")
        if not any(operand.written for operand in self.operands):
            raise ValueError("no operand is written")
        numbers = range(len(self.operands))
        written = tuple(number for number in numbers if self.operands[number].written)
        pairs = ((one, other) for one in written for other in numbers if other not in written or other < one)
        self._derive("written", written)
        self._derive("pairs", tuple(pairs) if self.whole else ())
        self._derive("_names", tuple(operand.name for operand in self.operands))
        self._derive("_are_written", tuple(operand.written for operand in self.operands))
        self._derive("_factors", tuple(tuple(map(self.sizes.index, operand.count)) for operand in self.operands))

    def __hash__(self) -> int:
        return hash(self.sizes)  # a hash of everything would take far longer, and plans are laid out by signatures

    def _derive(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)  # the class is frozen

    def with_numbers(self, data_type: int, *names: str) -> Signature:
        """Return the signature of a device whose last operands are numbers of Launch, as arrays of one element."""
        return Signature((*self.operands, *(reads(name, data_type) for name in names)), self.sizes, self.others)

    def data_types(self, dtypes: Sequence[DataType]) -> tuple[DataType | None, ...]:
        """Return the data types of the operands, given New's; None for an argument of Launch, and for any type."""
        return tuple(None if operand.data_type is None else dtypes[operand.data_type] for operand in self.operands)

    def counts(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """Return the least number of elements of each operand."""
        return tuple([math.prod([sizes[place] for place in places]) for places in self._factors])

    def read(
        self,
        buffers: Sequence[Any],
        data_types: Sequence[DataType | None],
        counts: Sequence[int],
        reader: Reader,
        in_place: bool = True,
    ) -> list[Any]:
        """Check the buffers of a launch, in the order of the operands; return the results of `reader` for them.

        counts: the least number of elements of each; in_place: whether the walks of all operands agree.
        Raises the errors of `reader`, and ValueError for buffers that must not overlap but do.
        """
        # without a Python loop if none is needed: every launch on CUDA comes here
        read = list(map(reader, buffers, self._names, data_types, counts, self._are_written))
        for one, other in self.pairs:
            begin, other_begin, kind, other_kind = read[one][1], read[other][1], data_types[one], data_types[other]
            size = counts[one] * kind.itemsize if kind else counts[one]
            other_size = counts[other] * other_kind.itemsize if other_kind else counts[other]
            if begin < other_begin + other_size and other_begin < begin + size:
                allowed = in_place and self.operands[one].in_place and counts[one] == counts[other]
                check_overlap(
                    *(begin, size, self._names[one], other_begin, other_size, self._names[other]), in_place=allowed
                )
        return list(map(_taken, read))
