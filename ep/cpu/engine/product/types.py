"""The types of a product: of its operands, of its result, and of the sums."""

from __future__ import annotations

from typing import NamedTuple

from ep.cpu.compile.conversion import HALVES
from ep.include.data_type import DataType


def arithmetic_of(data_type: DataType) -> DataType:
    """Return the type in which products of `data_type` are summed."""
    return DataType.kFloat if data_type in HALVES else data_type


class Types(NamedTuple):
    """The types of a, b and c. All have the same arithmetic type: numbers of 16 bits are widened when they are read."""

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


def alike(data_type: DataType) -> Types:
    """Return the types of a product whose operands have the type of the result."""
    return Types(data_type, data_type, data_type)
