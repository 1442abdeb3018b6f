"""The kinds of numbers: every data type has one kind, and is in one group."""

from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import ep
from ep.include import DataType
from ep.include.number_kind import (
    ALL,
    BOOL,
    CHAR,
    COMPLEXES,
    FLOATS,
    INTEGERS,
    UNSIGNED,
    Kind,
    number_kind,
    part_of,
)

KINDS = {"b": Kind.BOOL, "i": Kind.INTEGER, "u": Kind.INTEGER, "f": Kind.FLOAT, "c": Kind.COMPLEX}


@pytest.mark.parametrize("data_type", DataType, ids=lambda t: t.name)
def test_the_kind_is_that_of_the_stored_numbers(data_type):
    kind = KINDS.get(data_type.dtype.kind, Kind.FLOAT)  # the kind of bfloat16 in NumPy is void
    assert number_kind(data_type) is kind


def test_every_data_type_is_in_one_group():
    assert sorted(data_type.value for data_type in ALL) == sorted(data_type.value for data_type in DataType)
    assert ALL == BOOL + CHAR + INTEGERS + FLOATS + COMPLEXES
    assert len(INTEGERS) == 8
    assert DataType.kChar not in INTEGERS


def test_unsigned_types_are_those_that_numpy_calls_so():
    assert {each.dtype.type for each in UNSIGNED} == {np.uint8, np.uint16, np.uint32, np.uint64}
    assert [each.itemsize for each in UNSIGNED] == [1, 2, 4, 8]


@pytest.mark.parametrize("data_type", DataType, ids=lambda t: t.name)
def test_the_type_of_a_part_is_that_of_the_real_number(data_type):
    if data_type in COMPLEXES:
        assert part_of(data_type).dtype == np.zeros(1, data_type.dtype).real.dtype
    else:
        assert part_of(data_type) is data_type


def test_one_table_lists_unsigned_types():
    root, names = Path(ep.__file__).parent, [each.name for each in UNSIGNED]
    files = chain.from_iterable((root / room).rglob("*.py") for room in ("include", "common", "cpu", "cuda"))
    texts = {str(file.relative_to(root)): file.read_text("utf-8") for file in files}
    listing = sorted(file for file, text in texts.items() if all(f".{name}" in text for name in names))
    assert listing == [str(Path("include", each)) for each in ("data_type.py", "number_kind.py")]
