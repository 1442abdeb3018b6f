"""The machine's conversions, compared with Python's integers, exact fractions, NumPy and ml_dtypes."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tests.cuda.ptx_kernels import apply, floats, integers
from tests.cuda.test_ptx_floats import MODES, rounded
from tests.cuda.test_ptx_integers import wrapped

INTEGERS = {
    f"{kind}{8 * size}": np.dtype(f"{'i' if kind == 's' else 'u'}{size}") for kind in "su" for size in (1, 2, 4, 8)
}
FLOATS = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
INTEGRAL = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


@pytest.mark.parametrize("source", INTEGERS)
def test_between_integers(source):
    a = integers(INTEGERS[source])
    text = "\n".join(f"cvt.{target}.{source} %d{place}, %s0;" for place, target in enumerate(INTEGERS))
    for got, dtype in zip(apply(text, [a], list(INTEGERS.values())), INTEGERS.values(), strict=True):
        np.testing.assert_array_equal(got, wrapped(a.tolist(), dtype))
    text = text.replace("cvt.", "cvt.sat.")
    for got, dtype in zip(apply(text, [a], list(INTEGERS.values())), INTEGERS.values(), strict=True):
        info = np.iinfo(dtype)
        np.testing.assert_array_equal(got, [min(max(number, info.min), info.max) for number in a.tolist()])


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", INTEGERS)
def test_to_integers_saturates(source, target):
    dtype = INTEGERS[target]
    info = np.iinfo(dtype)
    ends = np.array([info.max, info.min, info.max // 2 + 1, 2.5, 3.5, -2.5, 2e19, -1e19], FLOATS[source])
    a = np.concatenate([floats(FLOATS[source]), ends, np.nextafter(ends, 0)])
    text = "\n".join(f"cvt.{mode}.{target}.{source} %d{place}, %s0;" for place, mode in enumerate(INTEGRAL))
    # the specification's value for NaN
    of_nan = info.min if info.min else info.max // 2 + 1
    if source == "f32" and dtype.itemsize < 8:
        of_nan = 0
    for got, function in zip(apply(text, [a], [dtype] * len(INTEGRAL)), INTEGRAL.values(), strict=True):
        for number, result in zip(a, got, strict=True):
            if np.isnan(number):
                want = of_nan
            elif np.isinf(number):
                want = info.max if number > 0 else info.min
            else:
                want = min(max(int(function(number)), info.min), info.max)
            assert result == want, number


@pytest.mark.parametrize("target", FLOATS)
@pytest.mark.parametrize("source", INTEGERS)
def test_from_integers_in_each_rounding(source, target):
    a, dtype = integers(INTEGERS[source]), FLOATS[target]
    text = "\n".join(f"cvt.{mode}.{target}.{source} %d{place}, %s0;" for place, mode in enumerate(MODES))
    for got, mode in zip(apply(text, [a], [dtype] * len(MODES)), MODES, strict=True):
        for number, result in zip(a.tolist(), got, strict=True):
            assert result == (rounded(Fraction(number), dtype, mode) if number else 0)


def test_between_floats():
    wide = np.concatenate([floats(np.float64), floats(np.float32).astype(np.float64) * (1 + 2.0**-30)])
    text = "\n".join(f"cvt.{mode}.f32.f64 %d{place}, %s0;" for place, mode in enumerate(MODES))
    for got, mode in zip(apply(text, [wide], [np.float32] * 4), MODES, strict=True):
        for number, result in zip(wide, got, strict=True):
            if np.isfinite(number) and number:
                assert result == rounded(Fraction(number), np.dtype(np.float32), mode), number
            else:
                np.testing.assert_equal(result, np.float32(number))
    narrow = floats(np.float32)
    kept, flushed = apply("cvt.f64.f32 %d0, %s0;\ncvt.ftz.f64.f32 %d1, %s0;", [narrow], [np.float64] * 2)
    np.testing.assert_array_equal(kept, narrow.astype(np.float64))
    np.testing.assert_array_equal(flushed, np.where(np.abs(narrow) < 2.0**-126, 0, narrow.astype(np.float64)))


@pytest.mark.parametrize("name", FLOATS)
def test_to_integral_floats(name):
    a = np.concatenate([floats(FLOATS[name]), np.arange(-4, 4.25, 0.25, FLOATS[name])])
    text = "\n".join(f"cvt.{mode}.{name}.{name} %d{place}, %s0;" for place, mode in enumerate(INTEGRAL))
    for got, function in zip(apply(text, [a], [a.dtype] * 4), INTEGRAL.values(), strict=True):
        np.testing.assert_array_equal(got, function(a))
        np.testing.assert_array_equal(np.signbit(got), np.signbit(function(a)))


def halfway(half):
    """Return float32 numbers at, halfway between and next to the numbers of a 16-bit type."""
    bits = np.concatenate([np.arange(0, 2**16, 37), [0x7BFF, 0x7C00, 0x7F7F, 0x7F80, 1, 0x3FF, 0x400]]).astype(
        np.uint16
    )
    numbers = bits.view(half).astype(np.float32)
    numbers = numbers[np.isfinite(numbers)]
    with np.errstate(over="ignore"):
        between = ((numbers[:-1].astype(np.float64) + numbers[1:]) / 2).astype(np.float32)
        halves = np.concatenate([numbers, between])
        halves = np.concatenate([halves, np.nextafter(halves, np.float32(np.inf)), floats(np.float32)])
    return halves


@pytest.mark.parametrize(("name", "half"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_halves(name, half):
    a = halfway(half)
    b = a[::-1]
    text = f"""
        cvt.rn.{name}.f32 %h1, %s0;
        mov.b16 %d0, %h1;
        cvt.rn.{name}x2.f32 %d1, %s0, %s1;
        cvt.f32.{name} %d2, %h1;
    """
    one, two, back = apply(text, [a, b], [np.uint16, np.uint32, np.float32])
    with np.errstate(over="ignore"):
        high, low = a.astype(half).view(np.uint16), b.astype(half).view(np.uint16)
    high, low = np.where(np.isnan(a), 0x7FFF, high), np.where(np.isnan(b), 0x7FFF, low)
    np.testing.assert_array_equal(one, high)
    np.testing.assert_array_equal(two, high.astype(np.uint32) << 16 | low)
    np.testing.assert_array_equal(back, one.view(half).astype(np.float32))


def test_wide_registers_are_extended_by_the_sign_of_the_type():
    a = integers(np.int8)
    text = """
        ld.global.s8 %r1, [%at_s0];
        mov.u32 %d0, %r1;
        ld.global.u8 %r2, [%at_s0];
        mov.u32 %d1, %r2;
        cvt.s32.s8 %d2, %r2;
        cvt.u32.u8 %d3, %r1;
    """
    signed, unsigned, again, lower = apply(text, [a], [np.int32, np.uint32, np.int32, np.uint32])
    np.testing.assert_array_equal((signed, again), (a, a))
    np.testing.assert_array_equal((unsigned, lower), (a.view(np.uint8), a.view(np.uint8)))
