"""Data types: upstream's numbers, and the spellings that are accepted and refused."""

import ml_dtypes
import numpy as np
import pytest

from ep.include import DataType, as_data_type

NUMBERS = {
    "kChar": 1, "kFloat": 2, "kDouble": 3, "kInt8": 4, "kInt32": 5, "kInt64": 6, "kUInt8": 7, "kFloat16": 9,
    "kBFloat16": 11, "kBool": 12, "kUInt16": 13, "kUInt32": 14, "kUInt64": 15, "kInt16": 17, "kComplex64": 20,
    "kComplex128": 21,
}  # fmt: skip
NAMES = {
    "float32": DataType.kFloat, "float64": DataType.kDouble, "float16": DataType.kFloat16,
    "bfloat16": DataType.kBFloat16, "bool": DataType.kBool, "int8": DataType.kInt8, "int16": DataType.kInt16,
    "int32": DataType.kInt32, "int64": DataType.kInt64, "uint8": DataType.kUInt8, "uint16": DataType.kUInt16,
    "uint32": DataType.kUInt32, "uint64": DataType.kUInt64, "complex64": DataType.kComplex64,
    "complex128": DataType.kComplex128,
}  # fmt: skip
UNSIZED = ("int", "uint", "float", "complex", "half", "single", "double", "long", "longlong", "short", "byte", "char")
STORED = [member for member in DataType if member is not DataType.kChar]


def test_names_and_numbers_are_upstreams():
    assert {member.name: member.value for member in DataType} == NUMBERS


@pytest.mark.parametrize("member", DataType)
def test_storage(member):
    assert member.itemsize == member.dtype.itemsize
    assert repr(member) == f"DataType.{member.name}"
    assert as_data_type(member) is member


@pytest.mark.parametrize("member", STORED)
def test_dtype_and_scalar_type(member):
    assert as_data_type(member.dtype) is member
    assert as_data_type(member.dtype.type) is member


@pytest.mark.parametrize(("name", "member"), NAMES.items())
def test_sized_name(name, member):
    assert as_data_type(name) is member
    assert as_data_type(np.str_(name)) is member
    assert member.dtype.name == name


@pytest.mark.parametrize(
    ("like", "member"),
    [
        (bool, DataType.kBool),
        (np.longlong, DataType.kInt64),
        (np.ulonglong, DataType.kUInt64),
        (np.dtype("q"), DataType.kInt64),
        (np.dtype("=f4"), DataType.kFloat),
        (ml_dtypes.bfloat16, DataType.kBFloat16),
    ],
)
def test_other_spellings(like, member):
    assert as_data_type(like) is member


def test_char_is_stored_as_int8_and_never_inferred():
    assert DataType.kChar.dtype == np.int8
    assert as_data_type(np.int8) is as_data_type(np.dtype(np.int8)) is as_data_type("int8") is DataType.kInt8


@pytest.mark.parametrize("like", [*UNSIZED, int, float, complex])
def test_unsized_names_are_refused(like):
    with pytest.raises(TypeError, match=r"src_type is .* without a size; give one of float32"):
        as_data_type(like, "src_type")


@pytest.mark.parametrize("like", [None, 3, 1.0, (), ["float32"], np.zeros(2), np.float32(1), object, str, b"float32"])
def test_no_data_type(like):
    with pytest.raises(TypeError, match="src_type must be a DataType, a NumPy dtype or a sized name"):
        as_data_type(like, "src_type")


@pytest.mark.parametrize("like", ["float31", "f4", "<f4", "", "kFloat", "Float32", "bool_", "float128"])
def test_unknown_names_are_refused(like):
    with pytest.raises(ValueError, match=f"src_type is '{like}', which is not a data type"):
        as_data_type(like, "src_type")


@pytest.mark.parametrize(
    "like",
    [
        *map(np.dtype, (">f4", "O", "M8[s]", "V2", "U3", [("a", "f4")])),
        *(np.floating, np.generic, np.integer, np.str_, np.void, np.object_, np.longdouble, ml_dtypes.float8_e4m3fn),
    ],
)
def test_dtypes_without_a_data_type_are_refused(like):
    with pytest.raises(ValueError, match=r"src_type is .*; it must be one of float32"):
        as_data_type(like, "src_type")


@pytest.mark.parametrize(
    ("code", "name"), [("i8", "int64"), ("f4", "float32"), ("<f8", "float64"), ("f", "float32"), ("u1", "uint8")]
)
def test_a_code_of_numpy_is_named_in_full(code, name):
    with pytest.raises(ValueError, match=f"dtype is '{code}', which is not a data type; did you mean '{name}'"):
        as_data_type(code)


def test_a_near_miss_is_named():
    with pytest.raises(ValueError, match="did you mean 'bfloat16'"):
        as_data_type("bflaot16")
