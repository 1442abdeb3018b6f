"""The types of a product: of its operands, of its result, and of the sums."""

from __future__ import annotations

from typing import NamedTuple

from ep.common.stored_types import unit_of
from ep.cpu.compile.target import has_avx2
from ep.include.data_type import DataType
from ep.include.number_kind import BYTES, HALVES, INTEGERS, SUMS


def arithmetic_of(data_type: DataType) -> DataType:
    """Return the type in which products of `data_type` are summed: of integers, modulo its range."""
    return SUMS.get(data_type, DataType.kFloat if data_type in HALVES else data_type)


def is_narrow(data_type: DataType) -> bool:
    """Return whether numbers have fewer bits than the sums of their products: 8 or 16."""
    return data_type.itemsize < arithmetic_of(data_type).itemsize


class Types(NamedTuple):
    """The types of a, b and c. All have the same arithmetic type: narrow numbers are widened when they are read."""

    a: DataType
    b: DataType
    c: DataType

    @property
    def arithmetic(self) -> DataType:
        """The type of the sums."""
        return arithmetic_of(self.c)

    @property
    def name(self) -> str:
        """The name of the type if all are the same, else all three."""
        return self.c.name if self.a is self.b is self.c else ".".join(one.name for one in self)


def multiplies_bytes(types: Types) -> bool:
    """Return whether a and b are bytes, c has 32 bits, and the processor has instructions for groups of products."""
    return types.a in BYTES and types.b in BYTES and types.c.itemsize == 4 and has_avx2()


def alike(data_type: DataType) -> Types:
    """Return the types of a product whose operands have the type of the result.

    They are unsigned for integers: signed ones have the same bits, since sums are modulo the range.
    """
    stored = unit_of(data_type) if data_type in INTEGERS else data_type
    return Types(stored, stored, stored)
