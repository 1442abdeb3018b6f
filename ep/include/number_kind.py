"""The kinds of numbers that data types hold, and the data types of each kind."""

from enum import Enum
from typing import Final

from ep.include.data_type import DataType as T


class Kind(Enum):
    """The kinds of numbers for which an op may need a functor of its own. The kind of a key is that of its source."""

    BOOL = "bool"
    INTEGER = "integer"
    FLOAT = "float"
    COMPLEX = "complex"


BOOL: Final = (T.kBool,)
INTEGERS: Final = (T.kInt8, T.kUInt8, T.kInt16, T.kUInt16, T.kInt32, T.kUInt32, T.kInt64, T.kUInt64)
BYTES: Final = (T.kInt8, T.kUInt8)
UNSIGNED: Final = tuple(each for each in INTEGERS if each.dtype.kind == "u")
SUMS: Final = {one: T.kUInt64 if one.itemsize == 8 else T.kUInt32 for one in INTEGERS}
"""The types in which products of integers are added up, modulo the range of the type: that has no sign."""
CHAR: Final = (T.kChar,)
HALVES: Final = (T.kFloat16, T.kBFloat16)
"""The types of which numbers are computed in float32."""
FLOATS: Final = (T.kFloat16, T.kBFloat16, T.kFloat, T.kDouble)
COMPLEXES: Final = (T.kComplex64, T.kComplex128)
REAL: Final = BOOL + CHAR + INTEGERS + FLOATS
ALL: Final = REAL + COMPLEXES

_KIND: Final = {
    **dict.fromkeys(BOOL, Kind.BOOL),
    **dict.fromkeys(CHAR + INTEGERS, Kind.INTEGER),
    **dict.fromkeys(FLOATS, Kind.FLOAT),
    **dict.fromkeys(COMPLEXES, Kind.COMPLEX),
}

PART: Final = {T.kComplex64: T.kFloat, T.kComplex128: T.kDouble}
"""The type of the two parts of a complex type."""


def number_kind(data_type: T) -> Kind:
    """Return the kind of numbers that `data_type` holds."""
    return _KIND[data_type]


def part_of(data_type: T) -> T:
    """Return the type of the numbers in elements: the parts' type for a complex type, else the type itself."""
    return PART.get(data_type, data_type)
