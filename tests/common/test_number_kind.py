"""The kinds of numbers: every data type has one, and is in one group."""

import pytest

from ep.include import DataType
from ep.include.number_kind import ALL, BOOL, CHAR, COMPLEXES, FLOATS, INTEGERS, Kind, number_kind

KINDS = {"b": Kind.BOOL, "i": Kind.INTEGER, "u": Kind.INTEGER, "f": Kind.FLOAT, "c": Kind.COMPLEX}


@pytest.mark.parametrize("data_type", DataType, ids=lambda t: t.name)
def test_the_kind_is_that_of_the_stored_numbers(data_type):
    kind = KINDS.get(data_type.dtype.kind, Kind.FLOAT)  # NumPy calls bfloat16 opaque
    assert number_kind(data_type) is kind


def test_every_data_type_is_in_one_group():
    assert sorted(data_type.value for data_type in ALL) == sorted(data_type.value for data_type in DataType)
    assert ALL == BOOL + CHAR + INTEGERS + FLOATS + COMPLEXES
    assert len(INTEGERS) == 8
    assert DataType.kChar not in INTEGERS
