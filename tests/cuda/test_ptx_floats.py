"""The machine's float32 and float64 arithmetic, compared with NumPy, and with exact fractions in each rounding mode."""

from fractions import Fraction

import numpy as np
import pytest

from tests.cuda.ptx_kernels import apply, floats, pairs

DTYPES = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
MODES = ("rn", "rz", "rm", "rp")


def rounded(exact, dtype, mode):
    """Round an exact number to a floating-point type, by its two neighbours in that type."""
    top = np.finfo(dtype).max
    if abs(exact) > Fraction(float(top)):
        below, above = (top, dtype.type(np.inf)) if exact > 0 else (dtype.type(-np.inf), -top)
        edge = Fraction(float(top)) + Fraction(2) ** (np.finfo(dtype).maxexp - np.finfo(dtype).nmant - 2)
        nearest = (above if exact >= edge else below) if exact > 0 else (below if -exact >= edge else above)
    else:
        with np.errstate(all="ignore"):
            below = above = dtype.type(float(exact))
            while not np.isfinite(below) or Fraction(float(below)) > exact:
                below = np.nextafter(below, dtype.type(-np.inf))
            while not np.isfinite(above) or Fraction(float(above)) < exact:
                above = np.nextafter(above, dtype.type(np.inf))
        low, high = exact - Fraction(float(below)), Fraction(float(above)) - exact
        even = below if not int(below.view(f"u{dtype.itemsize}")) & 1 else above
        nearest = below if low < high else above if high < low else even
    towards_zero = below if exact > 0 else above
    return {"rn": nearest, "rz": towards_zero, "rm": below, "rp": above}[mode]


def finite(dtype, count):
    values = floats(dtype)
    values = values[np.isfinite(values) & (values != 0)]
    return values[:: -(-values.size // count)]


EXACT = {
    "add": (2, lambda a, b: a + b),
    "sub": (2, lambda a, b: a - b),
    "mul": (2, lambda a, b: a * b),
    "div": (2, lambda a, b: a / b),
    "rcp": (1, lambda a: 1 / a),
    "fma": (3, lambda a, b, c: a * b + c),
}


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("operation", EXACT)
def test_each_rounding(name, operation):
    dtype, (count, exact) = DTYPES[name], EXACT[operation]
    sources = pairs(finite(dtype, {1: 99, 2: 24, 3: 9}[count]), times=count)
    operands = ", ".join(f"%s{place}" for place in range(count))
    text = "\n".join(f"{operation}.{mode}.{name} %d{place}, {operands};" for place, mode in enumerate(MODES))
    results = apply(text, sources, [dtype] * len(MODES))
    cases = [exact(*(Fraction(float(number)) for number in numbers)) for numbers in zip(*sources, strict=True)]
    for mode, got in zip(MODES, results, strict=True):
        for index, number in enumerate(cases):
            if number:  # the sign of an exact zero is tested below
                assert got[index] == rounded(number, dtype, mode), (mode, [source[index] for source in sources])


@pytest.mark.parametrize("name", DTYPES)
def test_square_roots(name):
    dtype = DTYPES[name]
    a = np.abs(finite(dtype, 99))
    text = "\n".join(f"sqrt.{mode}.{name} %d{place}, %s0;" for place, mode in enumerate(MODES))
    near, zero, down, up = apply(text, [a], [dtype] * 4)
    np.testing.assert_array_equal(near, np.sqrt(a))
    np.testing.assert_array_equal(zero, down)
    for index, number in enumerate(a):
        exact = Fraction(float(number))
        assert Fraction(float(down[index])) ** 2 <= exact <= Fraction(float(up[index])) ** 2
        assert up[index] == down[index] or np.nextafter(down[index], up[index]) == up[index]


@pytest.mark.parametrize("name", DTYPES)
def test_all_classes_of_numbers(name):
    dtype = DTYPES[name]
    a, b = pairs(floats(dtype))
    text = "\n".join(
        f"{operation}.{name} %d{place}, %s0, %s1;"
        for place, operation in enumerate(("add", "sub", "mul", "div.rn", "copysign"))
    )
    text += f"abs.{name} %d5, %s0;\nneg.{name} %d6, %s0;"
    got = apply(text, [a, b], [dtype] * 7)
    with np.errstate(all="ignore"):
        wanted = (a + b, a - b, a * b, a / b, np.copysign(b, a), np.abs(a), -a)
    for result, want in zip(got, wanted, strict=True):
        same(result, want)


def same(got, want):
    """Assert that results are equal, with the signs of zeros, and NaN at the places where NaN is expected."""
    np.testing.assert_array_equal(got, want)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(want)[numbers])


def test_the_direction_is_as_before_afterwards():
    a, b = pairs(finite(DTYPES["f64"], 9))
    up, nearest = apply("add.rp.f64 %d0, %s0, %s1;\nadd.f64 %d1, %s0, %s1;", [a, b], [np.float64] * 2)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(nearest, a + b)
    assert (up != nearest).any()


@pytest.mark.parametrize("name", DTYPES)
def test_extremes(name):
    dtype = DTYPES[name]
    a, b = pairs(floats(dtype))
    text = f"min.{name} %d0, %s0, %s1;\nmax.{name} %d1, %s0, %s1;"
    small, large = apply(text, [a, b], [dtype] * 2)
    # -0 before +0, and the number if the other operand is NaN
    order = [(float(x), not np.signbit(x)) for x in a], [(float(x), not np.signbit(x)) for x in b]
    want_small = [
        y if np.isnan(x) else x if np.isnan(y) or p <= q else y for x, y, p, q in zip(a, b, *order, strict=True)
    ]
    want_large = [
        y if np.isnan(x) else x if np.isnan(y) or p >= q else y for x, y, p, q in zip(a, b, *order, strict=True)
    ]
    same(small, np.array(want_small))
    same(large, np.array(want_large))


def test_extremes_that_keep_nan():
    a, b = pairs(floats(np.float32))
    got = apply("min.NaN.f32 %d0, %s0, %s1;\nmax.NaN.f32 %d1, %s0, %s1;", [a, b], [np.float32] * 2)
    np.testing.assert_array_equal(got[0], np.minimum(a, b))
    np.testing.assert_array_equal(got[1], np.maximum(a, b))


def flushed(numbers):
    return np.where(np.abs(numbers) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), numbers), numbers)


def test_subnormal_numbers_are_flushed():
    a, b = pairs(floats(np.float32))
    text = """
        add.ftz.f32 %d0, %s0, %s1;
        mul.ftz.f32 %d1, %s0, %s1;
        abs.ftz.f32 %d2, %s0;
        setp.eq.ftz.f32 %p1, %s0, 0f00000000;
        selp.f32 %d3, 0f3F800000, 0f00000000, %p1;
        div.approx.ftz.f32 %d4, %s0, %s1;
        max.ftz.f32 %d5, %s0, 0f00000000;
    """
    got = apply(text, [a, b], [np.float32] * 6)
    x, y = flushed(a), flushed(b)
    with np.errstate(all="ignore"):
        same(got[0], flushed(x + y))
        same(got[1], flushed(x * y))
        same(got[2], np.abs(x))
        np.testing.assert_array_equal(got[3], x == 0)
        quotient = np.where((np.abs(y) > 2.0**126) & np.isfinite(y), np.where(np.isinf(x), np.nan, 0 * x * y), x / y)
        np.testing.assert_array_equal(got[4], flushed(quotient.astype(np.float32)))
        np.testing.assert_array_equal(got[5], np.fmax(x, 0))


def test_saturation():
    a, b = pairs(floats(np.float32))
    added, converted = apply("add.sat.f32 %d0, %s0, %s1;\ncvt.sat.f32.f32 %d1, %s0;", [a, b], [np.float32] * 2)
    with np.errstate(all="ignore"):
        same(added, np.nan_to_num(np.clip(a + b, 0, 1), nan=0) + np.float32(0))
    same(converted, np.nan_to_num(np.clip(a, 0, 1), nan=0) + np.float32(0))


COMPARISONS = {
    "eq": np.equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "ne": lambda a, b: (a != b) & ~np.isnan(a) & ~np.isnan(b),
    "neu": np.not_equal,
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
    "equ": lambda a, b: ~((a < b) | (a > b)),
    "ltu": lambda a, b: ~(a >= b),
    "leu": lambda a, b: ~(a > b),
    "gtu": lambda a, b: ~(a <= b),
    "geu": lambda a, b: ~(a < b),
}


@pytest.mark.parametrize("name", DTYPES)
def test_comparisons(name):
    a, b = pairs(floats(DTYPES[name]))
    text = "\n".join(
        f"setp.{how}.{name} %p1, %s0, %s1;\nselp.u32 %d{place}, 1, 0, %p1;" for place, how in enumerate(COMPARISONS)
    )
    got = apply(text, [a, b], [np.uint32] * len(COMPARISONS))
    for result, (how, compare) in zip(got, COMPARISONS.items(), strict=True):
        np.testing.assert_array_equal(result, compare(a, b), how)


@pytest.mark.parametrize("name", DTYPES)
def test_classes(name):
    a = floats(DTYPES[name])
    tiny = np.finfo(a.dtype).tiny
    classes = {
        "finite": np.isfinite(a),
        "infinite": np.isinf(a),
        "number": ~np.isnan(a),
        "notanumber": np.isnan(a),
        "normal": np.isfinite(a) & (np.abs(a) >= tiny),
        "subnormal": (np.abs(a) < tiny) & (a != 0),
    }
    text = "\n".join(f"testp.{c}.{name} %p1, %s0;\nselp.u32 %d{n}, 1, 0, %p1;" for n, c in enumerate(classes))
    for got, want in zip(apply(text, [a], [np.uint32] * len(classes)), classes.values(), strict=True):
        np.testing.assert_array_equal(got, want)


def test_approximations_of_float32():
    """They are correctly rounded, except for one unit if the C library is off."""
    a = np.concatenate([floats(np.float32), np.linspace(-20, 20, 999, dtype=np.float32)])
    functions = {
        "ex2.approx.f32": np.exp2,
        "lg2.approx.f32": np.log2,
        "sin.approx.f32": np.sin,
        "cos.approx.f32": np.cos,
        "tanh.approx.f32": np.tanh,
        "rcp.approx.f32": np.reciprocal,
        "sqrt.approx.f32": np.sqrt,
        "rsqrt.approx.f32": lambda x: 1 / np.sqrt(x),
    }
    text = "\n".join(f"{name} %d{place}, %s0;" for place, name in enumerate(functions))
    with np.errstate(all="ignore"):
        for got, (name, function) in zip(apply(text, [a], [np.float32] * 8), functions.items(), strict=True):
            want = function(a.astype(np.float64)).astype(np.float32)
            close = (got == want) | (np.isnan(got) & np.isnan(want)) | (np.abs(got - want) <= np.spacing(np.abs(want)))
            assert close.all(), (name, a[~close], got[~close], want[~close])


def test_coarse_approximations_of_float64():
    """The lower half of the result is zero, and the lower half of the argument does not matter."""
    a = np.concatenate([np.abs(floats(np.float64)), np.linspace(0.1, 20, 99)])
    text = "rcp.approx.ftz.f64 %d0, %s0;\nrsqrt.approx.ftz.f64 %d1, %s0;"
    reciprocal, root = apply(text, [a], [np.float64] * 2)
    for got in (reciprocal, root):
        numbers = ~np.isnan(got)
        assert not (got.view(np.uint64)[numbers] & np.uint64(2**32 - 1)).any()
    (lowered,) = apply(
        text.replace("%d1", "%fd1"), [(a.view(np.uint64) | np.uint64(255)).view(np.float64)], [np.float64]
    )
    usual = np.isfinite(a) & (a >= np.finfo(np.float64).tiny) & (a < 1e300)
    np.testing.assert_array_equal(lowered[usual], reciprocal[usual])
    np.testing.assert_allclose(reciprocal[usual], 1 / a[usual], rtol=2.0**-19)
    np.testing.assert_allclose(root[usual], 1 / np.sqrt(a[usual]), rtol=2.0**-19)
    assert np.isnan(reciprocal[np.isnan(a)]).all()
    assert (reciprocal[a == 0] == np.inf).all()
