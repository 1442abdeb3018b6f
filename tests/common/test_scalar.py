"""Plain numbers as elements of every data type, against the slow conversion."""

import math
from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ep.common.scalar import convert_scalar, convert_value, is_scalar
from ep.include import DataType
from ep.include.number_kind import ALL, BOOL, CHAR, COMPLEXES, FLOATS, INTEGERS
from ep.testing.references.convert import convert

REAL = BOOL + CHAR + INTEGERS + FLOATS
TYPES = pytest.mark.parametrize("data_type", ALL, ids=lambda t: t.name)

FLOAT_VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0.999, -0.999, 1.5, 2.5, -2.9, math.pi, 127.5, 128.0, -129.0, 255.9]
FLOAT_VALUES += [256.0, 65504.0, 65519.999, 65520.0, 70000.0, 2.0**31, 2.0**31 - 1, -(2.0**31), 2.0**32, 2.0**63]
FLOAT_VALUES += [-(2.0**63), 2.0**64, 1e20, -1e20, 3.4028235e38, 3.4028236e38, 1e39, -1e300, 5e-324, 1e-45, 6e-8, 1e-40]
FLOAT_VALUES += [math.inf, -math.inf, math.nan]
# the last two of each line are next to a tie of the line's type
FLOAT_VALUES += [1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-11 + 2**-40, 1 + 3 * 2**-11 - 2**-40]  # float16
FLOAT_VALUES += [1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-40, 1 + 3 * 2**-8 - 2**-40]  # bfloat16
FLOAT_VALUES += [1 + 2**-24, 1 + 3 * 2**-24, 1 + 2**-24 + 2**-50, 1 + 3 * 2**-24 - 2**-50]  # float32
FLOAT_VALUES += [2**-25, 2**-25 + 2**-60, 2**-134, 2**-134 + 2**-160, 2**-150, 2**-150 + 2**-190]  # ties with 0


def same(got, want):
    """Return whether two elements have the same dtype and the same bits, or both are NaN."""
    assert isinstance(got, np.generic)
    assert got.dtype == want.dtype
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    both_nan = np.isnan(np.asarray(got, wide)) & np.isnan(np.asarray(want, wide))
    return bool(both_nan) or got.tobytes() == want.tobytes()


def reference(value, data_type):
    return convert(np.array(value), data_type.dtype)[()]


@TYPES
def test_floats(data_type):
    for value in FLOAT_VALUES:
        assert same(convert_scalar(value, data_type, "x"), reference(value, data_type)), value


@TYPES
@given(value=st.floats() | st.floats(width=32) | st.floats(width=16) | st.floats(-1e6, 1e6))
def test_any_float(data_type, value):
    assert same(convert_scalar(value, data_type, "x"), reference(value, data_type))


@TYPES
@given(value=st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300))
def test_any_integer(data_type, value):
    """Integers become integers modulo 2^n, and floating-point numbers with one rounding."""
    assert same(convert_scalar(value, data_type, "x"), reference(np.int64(value), data_type))


@TYPES
@given(value=st.integers(2**63, 2**64 - 1))
def test_integers_of_64_bits_without_sign(data_type, value):
    assert same(convert_scalar(value, data_type, "x"), reference(np.uint64(value), data_type))


@TYPES
def test_bools(data_type):
    for value in (True, False, np.True_, np.False_):
        assert same(convert_scalar(value, data_type, "x"), data_type.dtype.type(int(value)))


HUGE = [2**64, 2**100 + 1, -(2**100) - 1, 3**200, 10**400, -(10**400)]


@pytest.mark.parametrize("value", HUGE, ids=lambda n: f"{n.bit_length()}bits")
@TYPES
def test_integers_beyond_64_bits(data_type, value):
    got = convert_scalar(value, data_type, "x")
    if data_type in BOOL:
        assert got == np.True_
    elif data_type in CHAR + INTEGERS:
        assert (int(got) - value) % 2 ** (8 * data_type.itemsize) == 0
    else:
        largest = float(ml_dtypes.finfo(data_type.dtype).max)
        want = float(value) if abs(value) <= largest else math.inf if value > 0 else -math.inf
        assert same(got, reference(want, data_type))


@pytest.mark.parametrize(
    ("value", "data_type", "rounded"),
    [
        (2**60 + 2**36, DataType.kFloat, 2**60),
        (2**60 + 2**36 + 1, DataType.kFloat, 2**60 + 2**37),  # a tie after rounding to a double
        (2**100 + 2**76, DataType.kFloat, 2**100),
        (2**100 + 2**76 + 1, DataType.kFloat, 2**100 + 2**77),
        (-(2**100) - 2**76 - 1, DataType.kComplex64, -(2**100) - 2**77),
        (2**70 + 2**62, DataType.kBFloat16, 2**70),
        (2**70 + 2**62 + 1, DataType.kBFloat16, 2**70 + 2**63),
        (2**11 + 1, DataType.kFloat16, 2**11),
        (2**11 + 3, DataType.kFloat16, 2**11 + 4),
        (65519, DataType.kFloat16, 65504),
        (65520, DataType.kFloat16, math.inf),
        (2**53 + 1, DataType.kDouble, 2**53),
        (2**53 + 3, DataType.kDouble, 2**53 + 4),
    ],
)
def test_integers_are_rounded_once(value, data_type, rounded):
    assert complex(convert_scalar(value, data_type, "x")) == rounded


@pytest.mark.parametrize("number", [Fraction, Decimal, np.longdouble], ids=lambda t: t.__name__)
@pytest.mark.parametrize("data_type", REAL, ids=lambda t: t.name)
def test_other_numbers(data_type, number):
    for value in (0, 1, -1, 7, 300, -(2**40)):
        for divisor in (1, 2, 4):
            as_float = float(Fraction(value, divisor))
            assert same(convert_scalar(number(value) / number(divisor), data_type, "x"), reference(as_float, data_type))


TINY = Fraction(1, 2**200)


@pytest.mark.parametrize(
    ("data_type", "tie", "even", "odd"),
    [
        (DataType.kFloat16, 1 + Fraction(1, 2**11), 1, 1 + 2**-10),
        (DataType.kBFloat16, 1 + Fraction(1, 2**8), 1, 1 + 2**-7),
        (DataType.kFloat, 1 + Fraction(1, 2**24), 1, 1 + 2**-23),
        (DataType.kComplex64, 1 + Fraction(1, 2**24), 1, 1 + 2**-23),
        (DataType.kDouble, 1 + Fraction(1, 2**53), 1, 1 + 2**-52),
    ],
    ids=lambda value: value.name if isinstance(value, DataType) else "",
)
def test_fractions_beside_a_tie(data_type, tie, even, odd):
    """Fractions are rounded once, without an intermediate rounding to a double."""
    assert convert_scalar(tie, data_type, "x") == convert_scalar(tie - TINY, data_type, "x") == even
    assert convert_scalar(tie + TINY, data_type, "x") == odd
    assert convert_scalar(-tie - TINY, data_type, "x") == -odd


def test_numbers_that_are_no_doubles():
    assert convert_scalar(Fraction(10**400), DataType.kFloat, "x") == math.inf
    assert convert_scalar(Decimal("-1e400"), DataType.kFloat16, "x") == -math.inf
    assert convert_scalar(Fraction(-(10**400), 3), DataType.kInt8, "x") == -128
    assert convert_scalar(Decimal("1e400"), DataType.kUInt64, "x") == 2**64 - 1
    assert convert_scalar(Fraction(2**63 - 1), DataType.kInt64, "x") == 2**63 - 1
    assert convert_scalar(Fraction(2**63 - 1, 2), DataType.kInt64, "x") == 2**62 - 1
    assert convert_scalar(Decimal("NaN"), DataType.kInt16, "x") == 0
    assert convert_scalar(Decimal("-Infinity"), DataType.kInt16, "x") == -(2**15)
    assert math.isnan(convert_scalar(Decimal("NaN"), DataType.kBFloat16, "x"))
    assert convert_scalar(1 / Fraction(10**400), DataType.kBool, "x") == np.True_
    assert convert_scalar(1 / Fraction(10**400), DataType.kDouble, "x") == 0


@TYPES
def test_numpys_scalars(data_type):
    for value_type in ALL if data_type in COMPLEXES else REAL:
        for value in (0, 1, 100, 2.5):
            element = np.asarray(value).astype(value_type.dtype)[()]
            assert same(convert_scalar(element, data_type, "x"), reference(element, data_type))


@pytest.mark.parametrize("value", [1j, 1 + 0j, np.complex64(2), np.complex128(2j), np.clongdouble(2j)], ids=repr)
@pytest.mark.parametrize("data_type", REAL, ids=lambda t: t.name)
def test_a_complex_number_is_no_real_one(data_type, value):
    with pytest.raises(TypeError, match=rf"attr0 is the complex number .*; {data_type.dtype} is real"):
        convert_scalar(value, data_type, "attr0")


@pytest.mark.parametrize("data_type", COMPLEXES, ids=lambda t: t.name)
@pytest.mark.parametrize(
    "value",
    [1 + 2j, complex(math.inf, -0.0), complex(1e300, 1e-300), complex(-0.0, math.nan), np.clongdouble(1 - 0.1j)],
)
def test_complex_numbers(data_type, value):
    got = convert_scalar(value, data_type, "x")
    part = DataType.kFloat if data_type is DataType.kComplex64 else DataType.kDouble
    assert got.dtype == data_type.dtype
    assert same(got.real, reference(value.real, part))
    assert same(got.imag, reference(value.imag, part))


HELD = [(15.0, DataType.kInt8), (-128, DataType.kInt8), (255, DataType.kUInt8), (Fraction(30, 2), DataType.kInt16)]
HELD += [(2**64 - 1, DataType.kUInt64), (Decimal("3"), DataType.kInt64), (np.longdouble(3), DataType.kInt32)]
HELD += [(math.inf, DataType.kFloat16), (Decimal("-Infinity"), DataType.kDouble), (65519.999, DataType.kFloat16)]
HELD += [(1e-300, DataType.kFloat), (0.1, DataType.kBFloat16), (10**400, DataType.kBool), (math.nan, DataType.kBool)]
HELD += [(complex(math.inf, 1), DataType.kComplex64), (1 + 2j, DataType.kComplex128), (True, DataType.kChar)]

NOT_HELD = [(15.5, DataType.kInt8), (-129, DataType.kInt8), (-1, DataType.kUInt64), (Fraction(1, 3), DataType.kInt16)]
NOT_HELD += [
    (2.0**63, DataType.kInt64),
    (2**63, DataType.kInt64),
    (math.nan, DataType.kInt8),
    (-math.inf, DataType.kInt8),
]
NOT_HELD += [(Decimal("1e400"), DataType.kDouble), (-(10**400), DataType.kDouble), (65520, DataType.kFloat16)]
NOT_HELD += [
    (1e39, DataType.kFloat),
    (np.float32(3.4e38), DataType.kBFloat16),
    (np.longdouble("1e4000"), DataType.kDouble),
]
NOT_HELD += [
    (1e39j, DataType.kComplex64),
    (complex(1e39, math.inf), DataType.kComplex64),
    (10**400, DataType.kComplex128),
]


@pytest.mark.parametrize(("value", "data_type"), HELD, ids=repr)
def test_values_that_a_type_can_hold(value, data_type):
    assert same(convert_value(value, data_type, "x"), convert_scalar(value, data_type, "x"))


@pytest.mark.parametrize(("value", "data_type"), NOT_HELD, ids=repr)
def test_values_that_a_type_cannot_hold(value, data_type):
    with pytest.raises(ValueError, match=rf"pad_val is .*, which {data_type.dtype} cannot hold"):
        convert_value(value, data_type, "pad_val")


@pytest.mark.parametrize("data_type", FLOATS, ids=lambda t: t.name)
@given(value=st.floats())
def test_any_float_as_a_value(data_type, value):
    """A value is accepted unless it is finite and its conversion is infinite."""
    with np.errstate(all="ignore"):
        overflows = math.isfinite(value) and np.isinf(reference(value, data_type))
    if overflows:
        with pytest.raises(ValueError, match="cannot hold"):
            convert_value(value, data_type, "x")
    else:
        assert same(convert_value(value, data_type, "x"), reference(value, data_type))


def test_it_minds_no_error_state():
    with np.errstate(all="raise"):
        assert convert_scalar(1e300, DataType.kFloat, "x") == math.inf
        assert convert_scalar(1e-300, DataType.kFloat, "x") == 0
        assert convert_scalar(70000.0, DataType.kFloat16, "x") == math.inf
        assert convert_scalar(1e-6, DataType.kFloat16, "x") == np.float16(1e-6)


NO_NUMBERS = ["3", b"3", None, [3], (3,), {}, np.array(3), np.array([3]), np.str_("3"), np.bytes_(b"3")]
NO_NUMBERS += [np.void(b"3"), np.datetime64(3, "s"), np.timedelta64(3, "s")]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number(value):
    assert not is_scalar(value)
    with pytest.raises(TypeError, match="pad_val must be a number, not"):
        convert_scalar(value, DataType.kFloat, "pad_val")
    with pytest.raises(TypeError, match="pad_val must be a number, not"):
        convert_value(value, DataType.kFloat, "pad_val")


NUMBERS = [3, True, 2.5, 1j, Fraction(1, 3), Decimal("0.1"), np.int8(3), np.float32(3), np.True_, np.complex64(1)]
NUMBERS += [np.longdouble(3), ml_dtypes.bfloat16(3)]


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_what_is_a_number(value):
    assert is_scalar(value)
