"""The accuracy of launches on the CPU: each vectorised function against the bound that is promised for it.

The samples have numbers of every exponent, and many where a form changes from one formula to another. A processor with
register tables computes some functions by other forms; `test_avx2.py` runs these tests as one without them does.
"""

import ml_dtypes
import mpmath
import numpy as np
import pytest

from ep import BinaryOp as B
from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep import UnaryOp as U
from ep.cpu.vector_math.sets.names import FLOAT32, FLOAT64, LIMITED
from ep.cpu.vector_math.single.trigonometric import LIMIT
from ep.include.primitive import BroadcastElementwiseBinaryFactory, ElementwiseUnaryFactory
from ep.testing.references.unary import exact
from ep.testing.samples import dense
from ep.testing.ulps import errors_in_ulps

LONG = np.longdouble
OPS = {name: op for op in U for name in FLOAT64 if name.replace("_", "") == op.name[1:].lower() and name != "softplus"}
OTHERS = ("lgamma", "digamma", "trigamma")  # in `test_gamma.py`
NAMES = [name for name in OPS if name not in OTHERS]
TRIGONOMETRIC = sorted(LIMITED)
GATED = (U.kGelu, U.kFastGelu, U.kQuickGelu, U.kSilu, U.kMish)
DEFAULTS = {U.kSoftPlus: (1.0, 20.0)}
BEYOND = 0.57  # the bound of float32 beyond the limit of its arithmetic, where float64 is used

SPECIAL = (
    *(0.0, 5e-324, 1e-310, 2.0**-1022, 1e-300, 1e-20, 2.0**-54, 2.0**-28, 0.5, 1 - 2**-53, 1.0, 1 + 2**-52, 2.0, 3.0),
    *(2.5, 7.0, 22.0, 37.0, 40.0, 2.0**28, 2.0**53, 2.0**53 + 2, 1e300, 1.7976931348623157e308, np.inf, np.nan),
    *(709.782712893384, 709.7827128933841, 745.1332191019411, 745.1332191019412, 708.3964185322641, 710.4758600739439),
    *(710.475860073944, 1024.0, 1023.9999999999999, 1022.0, 1074.0, 1075.0, 1074.9999999999998, 1075.0000000000002),
    *(
        1 + 2.0**-52,
        1e22,
        6381956970095103 * 2.0**797,
    ),  # next to 1, and the double that is nearest to a multiple of pi/2
)
SINGLE = (0.0, np.inf, np.nan, 1.0, 1e-45, 88.722839, 89.415985, 89.415993, 103.97, 103.98, 128, 149, 150, 10.1, 20)
CUTS = (2.0**-126, 1 / 3, 0.5, 0.6, 0.7071, 0.75, 1.0, 1.09375, 1.25, 1.4142, 2.0, 4.0, 4096.0, 2.0**64, 2.0**127)
ENDS = (*(n / 64 for n in range(16, 16 * 64, 16)), *((n + 0.5) * width for width in (0.53125, 1 / 7) for n in range(9)))
SLOW = {"erf": (-6.5, 6.5), "erfc": (-6.5, 27.4), "gelu": (-38.8, 9.0)}
"""The functions whose float64 references are mpmath's, and where their results are neither 0 nor their limits."""

names = pytest.mark.parametrize("name", NAMES)


def launch(op, x, attributes=(), in_place=False):
    y = x.copy() if in_place else np.empty_like(x)
    primitive = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, op, x.dtype, x.dtype, *attributes)
    stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU).CreateStream()
    primitive.Launch(stream, y if in_place else x, y, x.size)
    return y


def check(op, x, bound, signed_zeros=True):
    got, want = launch(op, x), exact(op, x, *DEFAULTS.get(op, ()))
    want = np.where((want == 0) & (x == 0), x, want)  # mpmath's zeros have no sign
    want = np.where((x == -np.inf) & (op in GATED), LONG(-0.0), want)
    errors = errors_in_ulps(got, want, signed_zeros=signed_zeros)
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound, f"{op.name}({x[worst]!r}) = {got[worst]!r}: {errors[worst]:.3g} ulp"


def near_multiples(dtype, largest, count):
    """Return the numbers around multiples of pi/2."""
    quarters = np.unique(np.random.default_rng(3).integers(1, int(largest / 1.6), count))
    near = (quarters.astype(LONG) * (LONG(np.pi) / 2)).astype(dtype)
    return np.concatenate([near, np.nextafter(near, dtype(0)), np.nextafter(near, dtype(np.inf))])


def doubles(name):
    """Return arguments of any size, near 0, near 1 and where e^x is finite, and all special ones."""
    rng, count = np.random.default_rng(len(name)), 300 if name in SLOW else 50_000
    signs = rng.choice([-1.0, 1.0], count)
    parts = [
        *(SPECIAL, rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64)),
        rng.integers(0, 2**53, count // 10, dtype=np.uint64).view(np.float64),
        *(rng.uniform(-1, 1, count), rng.uniform(-5, 5, count), rng.uniform(0.5, 2, count)),
        *(rng.uniform(-1080, 1026, count), signs * np.exp(rng.uniform(-60, 3, count))),
        *(1 + signs * np.exp(rng.uniform(-36, -1, count)), np.arange(-1080.0, 1030.0, 7 if name in SLOW else 1)),
    ]
    if name in SLOW:
        low, high = SLOW[name]
        parts += [rng.uniform(low, high, 2000), rng.uniform(-1.5, 1.5, 1000)]
        parts += [np.linspace(low, low + 1.3, 700), np.linspace(high - 1.3, high, 700)]
    if name in LIMITED:
        parts += [near_multiples(np.float64, 2.0**39, count), np.arange(1, count) * np.pi / 2]
    x = np.concatenate(parts)
    return np.concatenate([x, -x])


def singles(name):
    """Return numbers of every exponent, in many ranges, near 1, next to cuts and ends of pieces, and special ones."""
    rng = np.random.default_rng(7)
    near_one = 1 + np.exp2(rng.uniform(-25, 0, 60_000)) * rng.choice([-1.0, 1.0], 60_000)
    ranges = [rng.uniform(0, end, 60_000) for end in (1, 1.5, 3, 4, 10.5, 14.5, 20, 100, 130, 152)]
    next_to = [
        np.array(numbers, np.float32).view(np.int32)[:, None] + np.arange(-near, near, dtype=np.int32)
        for numbers, near in ((CUTS, 300), (ENDS, 5))
    ]
    every = np.arange(0, 2**31, 9973, np.uint32).view(np.float32)
    parts = [near_one, *ranges, *(numbers.ravel().view(np.float32) for numbers in next_to), every, SINGLE]
    x = np.concatenate([np.asarray(part, np.float32) for part in parts])
    if name in LIMITED:
        x = np.concatenate([x, near_multiples(np.float32, LIMIT, 60_000), [np.float32(LIMIT)]])
        x = x[~(x > LIMIT)]
    return np.concatenate([x, -x])


@names
def test_float64_is_within_its_bound(name):
    check(OPS[name], doubles(name), FLOAT64[name].ulps)


@names
def test_float32_is_within_its_bound(name):
    check(OPS[name], singles(name), FLOAT32[name].ulps)


@names
def test_nan_whatever_its_payload(name):
    bits = np.random.default_rng(8).integers(1, 2**23, 10_000) | 0x7F800000
    nan = np.concatenate([bits, bits | 0x80000000]).astype(np.uint32).view(np.float32)
    assert np.isnan(launch(OPS[name], nan)).all()


@pytest.mark.parametrize("name", ["asin", "atan", "asinh", "atanh"])
def test_the_smallest_numbers_are_kept(name):
    x = np.concatenate([np.arange(1, 2**10), np.arange(2**23 - 500, 2**23 + 500)]).astype(np.int32).view(np.float32)
    x = np.concatenate([x, -x])
    np.testing.assert_array_equal(launch(OPS[name], x), x)


@pytest.mark.parametrize("name", ["log2", "log10"])
def test_powers_are_exact(name):
    exponents = np.arange(-149, 128) if name == "log2" else np.arange(11)
    x = np.exp2(exponents).astype(np.float32) if name == "log2" else (10.0**exponents).astype(np.float32)
    np.testing.assert_array_equal(launch(OPS[name], x), exponents)


def beyond(count):
    """Return numbers above the limit, above that of the float64 functions, near multiples of pi/2, and the largest."""
    rng = np.random.default_rng(5)
    x = np.concatenate([np.exp2(rng.uniform(17, 128, count)), np.exp2(rng.uniform(17, 42, count))]).astype(np.float32)
    x = np.concatenate([x, near_multiples(np.float32, 2.0**40, count), near_multiples(np.float32, 2.0**24, count)])
    ends = np.array([np.finfo(np.float32).max, np.nextafter(np.float32(LIMIT), x[0])], x.dtype)
    x = np.concatenate([x[x > LIMIT], ends])
    return np.concatenate([x, -x])


@pytest.mark.parametrize("name", TRIGONOMETRIC)
def test_arguments_beyond_the_limit(name):
    check(OPS[name], beyond(5000), BEYOND)


@pytest.mark.parametrize("name", TRIGONOMETRIC)
def test_every_float16(name):
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    check(OPS[name], x, 0.501)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float64], ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("name", TRIGONOMETRIC)
def test_the_element_decides(name, dtype, in_place):
    """An element has the same bits among elements of any size, at any place in a block, and alone."""
    rng = np.random.default_rng(6)
    large = beyond(1000).astype(np.float64) * (1 if dtype is not np.float64 else 2.0**30)
    x = np.concatenate(
        [
            rng.uniform(-LIMIT, LIMIT, 1000),
            rng.uniform(-9, 9, 1500),
            rng.choice(large, 1500),
            [np.inf, -np.inf, np.nan, -0.0, 0.0],
        ]
    )
    x = rng.permutation(x)[:3333].astype(dtype)
    x[1024:2048] = np.abs(x[0]) if np.isfinite(x[0]) else 1.0  # a block of equal elements
    together = launch(OPS[name], x, in_place=in_place)
    some = slice(None, None, 5)
    alone = np.concatenate([launch(OPS[name], x[i : i + 1]) for i in range(x.size)[some]])
    kept = ~np.isnan(together.astype(np.float64))
    np.testing.assert_array_equal(kept, np.isfinite(x.astype(np.float64)))
    assert together[some][kept[some]].tobytes() == alone[kept[some]].tobytes()


def power(dtype, x, y):
    z = np.empty_like(x)
    primitive = RequirePrimitive(BroadcastElementwiseBinaryFactory, DeviceType.kCPU, B.kPow, dtype, dtype, 1)
    primitive.Launch(DeviceManagerRegistry.GetDevice(DeviceType.kCPU).CreateStream(), x.shape, x, y.shape, y, z)
    return z


def test_powers_of_float64():
    rng, count = np.random.default_rng(0), 2000
    any_size = abs(rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64))
    near_one = 1 + rng.normal(size=count) * np.exp(rng.uniform(-30, -2, count))
    x = np.concatenate([any_size, near_one, rng.uniform(0.7, 1.42, count), rng.uniform(0, 10, count)])
    x = x[np.isfinite(x) & (x > 0) & (x != 1)]
    y = rng.uniform(-1080, 1025, x.size) / np.log2(x)
    y[-count:] = rng.integers(-10, 20, count) / 2
    worst = 0.0
    with mpmath.workprec(200):
        for a, b, got in zip(x.tolist(), y.tolist(), power(np.float64, x, y).tolist(), strict=True):
            exact = mpmath.power(a, b)
            if np.isinf(got):
                assert exact >= mpmath.mpf(2) ** 1024 - mpmath.mpf(2) ** 970, (a, b)
                continue
            spacing = mpmath.ldexp(1, max(int(mpmath.frexp(exact)[1]) - 53, -1074))
            worst = max(worst, float(abs(got - exact) / spacing))
    assert worst <= FLOAT64["pow"].ulps


def test_powers_of_float32():
    """Bases have any exponent, or are near 1 and near the cuts; results have any size, or are out of range."""
    rng, count = np.random.default_rng(11), 200_000
    near_one = 1 + rng.choice([-1.0, 1.0], count) * np.exp2(rng.uniform(-24, -1.5, count))
    cuts = rng.choice([8 / 9, 1.1, 18 / 13, 16 / 9], count) * (1 + rng.uniform(-0.02, 0.02, count))
    with np.errstate(all="ignore"):
        x = np.concatenate([np.exp2(rng.uniform(-149, 128, count)), near_one, cuts, rng.uniform(0, 10, count)])
        x = x.astype(np.float32)
        x = x[(x > 0) & (x != 1)]
        result = np.where(rng.random(x.size) < 0.5, rng.uniform(-152, 129, x.size), rng.uniform(110, 129, x.size))
        y = (rng.choice([-1, 1], x.size) * result / np.log2(x.astype(np.float64))).astype(np.float32)
        errors = errors_in_ulps(power(np.float32, x, y), x.astype(LONG) ** y.astype(LONG))
    worst = int(np.argmax(errors))
    assert errors[worst] <= FLOAT32["pow"].ulps, (x[worst], y[worst])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_power_follows_the_rules_of_c(dtype):
    values = np.array([*SPECIAL[:26], *SINGLE, 2.0**-24, 2.0**23 - 1, 2.0**24 + 2, 0.9, 1.1, 100.0], np.float64)
    with np.errstate(all="ignore"):
        values = np.concatenate([values, -values]).astype(dtype)
        x, y = (each.ravel() for each in np.meshgrid(values, values))
        got, want = power(dtype, x, y), np.power(x.astype(LONG), y.astype(LONG))
        errors = errors_in_ulps(got, want, signed_zeros=True)
    worst = int(np.argmax(errors))
    assert errors[worst] <= 2, (x[worst], y[worst])
    kept = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[kept]), np.signbit(want[kept]))


@pytest.mark.parametrize(
    ("beta", "threshold"),
    [
        (0.1, 20),
        (0.3, 1),
        (-1.7, 20),
        (3.3, np.inf),
        (2, -3),
        (7e-7, 20),
        (1e-19, 20),
        (1e-33, 20),
        (1e9, 20),
        (1e20, 20),
        (-1e30, 20),
        (1e36, 20),
    ],
)
@pytest.mark.parametrize("scalar_type", [np.float32, np.float64])
def test_softplus_of_any_beta(beta, threshold, scalar_type):
    """beta and the threshold are rounded to float32 if the elements are float32."""
    beta, threshold = scalar_type(beta), scalar_type(threshold)
    rng = np.random.default_rng(5)
    z = np.concatenate([rng.uniform(-2, 2, 30_000), rng.uniform(-110, 40, 30_000), rng.normal(threshold, 1e-5, 1000)])
    with np.errstate(over="ignore"):
        x = np.concatenate([(z / beta).astype(scalar_type), dense(np.float32, 20_000).astype(scalar_type)])
    x = x[np.isfinite(x)]
    got = np.empty_like(x)
    primitive = RequirePrimitive(
        ElementwiseUnaryFactory, DeviceType.kCPU, U.kSoftPlus, scalar_type, scalar_type, beta, threshold
    )
    primitive.Launch(DeviceManagerRegistry.GetDevice(DeviceType.kCPU).CreateStream(), x, got, x.size)
    z = np.longdouble(beta) * x.astype(np.longdouble)
    want = (np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))) / np.longdouble(beta)
    errors = errors_in_ulps(got, np.where(z > threshold, x, want))
    worst = int(np.argmax(errors))
    assert errors[worst] <= 2, x[worst]


def test_softplus_of_a_small_beta():
    """ln(1 + e^(beta x)) / beta is a normal number even if e^(beta x) is too small for float32."""
    beta, z = 1e-25, np.array([-100, -129, -131, -140, -150], np.float64)
    x = (z / beta).astype(np.float32)
    got = np.empty_like(x)
    primitive = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, U.kSoftPlus, np.float32, np.float32, beta)
    primitive.Launch(DeviceManagerRegistry.GetDevice(DeviceType.kCPU).CreateStream(), x, got, x.size)
    beta = float(np.float32(beta))
    want = np.exp(beta * x.astype(np.float64)) / beta
    np.testing.assert_allclose(got, want.astype(np.float32), rtol=1e-6, atol=2e-45)


def test_softplus_of_the_smallest_beta():
    """e^(beta x) / beta is a number even if e^(beta x) is the square of one that is too small for float64."""
    beta = 7.95e-306
    z = np.array([-700, -1300, -1379, -1381, -1405, -1413, -1416, -1418, -1419], np.float64)
    x = z / beta
    out = np.empty(x.size)
    primitive = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, U.kSoftPlus, np.float64, np.float64, beta)
    primitive.Launch(DeviceManagerRegistry.GetDevice(DeviceType.kCPU).CreateStream(), x, out, x.size)
    with mpmath.workprec(200):
        want = [mpmath.exp(mpmath.mpf(beta) * mpmath.mpf(one)) / mpmath.mpf(beta) for one in x.tolist()]
        wrong = [abs(mpmath.mpf(one) - right) for one, right in zip(out.tolist(), want, strict=True)]
        assert all(far <= max(right * 2.0**-52, 5e-324) for far, right in zip(wrong, want, strict=True)), out


@pytest.mark.parametrize(
    ("x", "beta", "threshold", "want"),
    [
        (1e-45, 0.5, 0.0, 1e-45),
        (1e-35, 1e-15, 0.0, 1e-35),
        (1e-26, 1e-20, 1e-60, 1e-26),
        (-1e38, 1e20, -1e38, 0.0),
        (1e38, -1e20, -1e38, 0.0),
        (1e30, -1.1090377885692634e16, -np.inf, 1e30),
    ],
)
def test_softplus_where_beta_x_is_no_float32_number(x, beta, threshold, want):
    """beta x neither becomes 0 nor infinite before it is compared with the threshold."""
    x = np.array([x], np.float32)
    primitive = RequirePrimitive(
        ElementwiseUnaryFactory, DeviceType.kCPU, U.kSoftPlus, np.float32, np.float32, beta, threshold
    )
    primitive.Launch(DeviceManagerRegistry.GetDevice(DeviceType.kCPU).CreateStream(), x, x, 1)
    assert x[0] == np.float32(want)


@pytest.mark.parametrize(
    ("op", "attributes", "a", "b", "want"),
    [
        (B.kCoshBackwardWithDyX, (), 1e-40, 150.0, lambda dy, x: dy * np.sinh(x)),
        (B.kSinhBackwardWithDyX, (), 1e-40, -150.0, lambda dy, x: dy * np.cosh(x)),
        (B.kScalarBasePowerGrad, (3.0,), 1e-35, 1e38, lambda x, dy: 3 * x**2 * dy),
        (B.kScalarBasePowerGrad, (3.0,), 1e38, 1e-40, lambda x, dy: 3 * x**2 * dy),
        (B.kScalarExpPowerGrad, (2.0,), -250.0, 1e38, lambda x, dy: 2.0**x * np.log(2.0) * dy),
    ],
)
def test_factors_beyond_float32_whose_product_is_not(op, attributes, a, b, want):
    a, b = np.array([a], np.float32), np.array([b], np.float32)
    got = np.empty_like(a)
    primitive = RequirePrimitive(
        BroadcastElementwiseBinaryFactory, DeviceType.kCPU, op, np.float32, np.float32, 1, *attributes
    )
    stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU).CreateStream()
    primitive.Launch(stream, (1,), a, (1,), b, got)
    np.testing.assert_allclose(got, want(a.astype(np.float64), b.astype(np.float64)), rtol=1e-6)
