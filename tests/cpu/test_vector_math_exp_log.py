"""The vector functions of exp and log against references of higher precision, over the whole domain."""

import ctypes
import ctypes.util
import math

import mpmath
import numba
import numpy as np
import pytest

from ep.cpu.compile.jit import OUTER
from ep.cpu.vector_math.tables_exp_log import EXP_LOG, EXP_LOG_GENERIC, EXP_LOG_NARROW
from ep.testing.ulps import errors_in_ulps

LONG = np.longdouble
COUNT = 50_000
SPECIAL = (
    *(0.0, 5e-324, 1e-310, 2.0**-1022, 1e-300, 1e-20, 2.0**-54, 2.0**-28, 0.5, 1 - 2**-53, 1.0, 1 + 2**-52, 2.0, 3.0),
    *(2.5, 7.0, 22.0, 37.0, 40.0, 2.0**28, 2.0**53, 2.0**53 + 2, 1e300, 1.7976931348623157e308, math.inf, math.nan),
    *(709.782712893384, 709.7827128933841, 745.1332191019411, 745.1332191019412, 708.3964185322641, 710.4758600739439),
    *(710.475860073944, 1024.0, 1023.9999999999999, 1022.0, 1074.0, 1075.0, 1074.9999999999998, 1075.0000000000002),
)

# the largest errors in ulp
BOUNDS = {
    "exp": 0.9,
    "exp2": 0.95,
    "expm1": 0.72,
    "log": 0.84,
    "log2": 0.97,
    "log10": 0.91,
    "log1p": 0.84,
    "sinh": 1.35,
    "cosh": 1.80,
    "tanh": 0.58,
    "asinh": 0.85,
    "acosh": 0.85,
    "atanh": 0.90,
    "sigmoid": 0.80,
    "softplus": 1.50,
    "logsigmoid": 1.50,
}
TABLE_BOUNDS = BOUNDS | {"softplus": 1.60, "logsigmoid": 1.60}
NARROW_BOUNDS = {"exp": 0.54, "exp2": 0.55, "log": 0.52, "sinh": 0.51, "cosh": 0.51, "softplus": 0.80}
# those of any processor, and those by tables of this one
IN_FLOAT64 = [pytest.param(name, EXP_LOG_GENERIC, id=name) for name in BOUNDS]
IN_FLOAT64 += [
    pytest.param(name, EXP_LOG, id=f"{name}-tables") for name in BOUNDS if EXP_LOG[name] is not EXP_LOG_GENERIC[name]
]
TABLES = [pytest.param(*one.values, np.float64, id=one.id) for one in IN_FLOAT64]
TABLES += [pytest.param(name, EXP_LOG_NARROW, np.float32, id=f"{name}-float32") for name in NARROW_BOUNDS]

pytestmark = pytest.mark.skipif(np.finfo(LONG).nmant < 63, reason="the references need a long double")


def _sigmoid(x):
    e = np.exp(-abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def _softplus(x):
    return np.where(x < 0, 0, x) + np.log1p(np.exp(-abs(x)))


REFERENCES = {
    **{name: getattr(np, name) for name in BOUNDS if hasattr(np, name)},
    **{"asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh},
    **{"sigmoid": _sigmoid, "softplus": _softplus, "logsigmoid": lambda x: -_softplus(-x)},
}


def compiled(function, real_type=np.float64):
    """`function` on arrays of `real_type`, computed in float64."""
    if function in (EXP_LOG_GENERIC["pow"], EXP_LOG["pow"], EXP_LOG_NARROW["pow"]):

        @numba.njit(**OUTER)
        def binary(x, y, result):
            for i in range(result.size):
                result[i] = function(np.float64(x[i]), np.float64(y[i]))

        return lambda x, y: _filled(binary, real_type, x, y)

    @numba.njit(**OUTER)
    def unary(x, result):
        for i in range(result.size):
            result[i] = function(np.float64(x[i]))

    return lambda x: _filled(unary, real_type, x)


def _filled(loop, real_type, *operands):
    result = np.empty(operands[0].size, real_type)
    loop(*operands, result)
    return result


def samples(name):
    """Arguments of any size, near 0, near 1 and where e^x is finite; all special ones."""
    rng = np.random.default_rng(len(name))
    signs = rng.choice([-1.0, 1.0], COUNT)
    any_bits = rng.integers(0, 2**64, COUNT, dtype=np.uint64).view(np.float64)
    subnormal = rng.integers(0, 2**53, COUNT // 10, dtype=np.uint64).view(np.float64)
    parts = [
        *(SPECIAL, np.negative(SPECIAL), any_bits, abs(any_bits), subnormal),
        *(rng.uniform(-1, 1, COUNT), rng.uniform(-5, 5, COUNT), rng.uniform(0.5, 2, COUNT)),
        *(rng.uniform(-1080, 1026, COUNT), signs * np.exp(rng.uniform(-60, 3, COUNT))),
        *(1 + signs * np.exp(rng.uniform(-36, -1, COUNT)), np.arange(-1080.0, 1030.0)),
    ]
    return np.concatenate(parts)


@pytest.mark.parametrize(("name", "functions"), IN_FLOAT64)
def test_float64_is_within_its_bound(name, functions):
    x = samples(name)
    result = compiled(functions[name])(x)
    with np.errstate(all="ignore"):
        errors = errors_in_ulps(result, REFERENCES[name](x.astype(LONG)), signed_zeros=True)
    worst = np.argmax(errors)
    bounds = BOUNDS if functions[name] is EXP_LOG_GENERIC[name] else TABLE_BOUNDS
    assert errors[worst] <= bounds[name], (x[worst], result[worst])


@pytest.mark.parametrize("name", NARROW_BOUNDS)
def test_float32_is_within_its_bound(name):
    with np.errstate(all="ignore"):
        every = np.arange(0, 2**32, 8191, dtype=np.uint64).astype(np.uint32).view(np.float32)
        x = np.concatenate([samples(name).astype(np.float32), every])
        result = compiled(EXP_LOG_NARROW[name], np.float32)(x)
        errors = errors_in_ulps(result, REFERENCES[name](x.astype(LONG)), signed_zeros=True)
    worst = np.argmax(errors)
    assert errors[worst] <= NARROW_BOUNDS[name], (x[worst], result[worst])


@pytest.mark.parametrize(("name", "table", "real_type"), TABLES)
def test_an_element_alone_is_the_element_in_an_array(name, table, real_type):
    with np.errstate(all="ignore"):
        x = samples(name)[:: COUNT // 50].astype(real_type)
    function = compiled(table[name], real_type)
    alone = np.concatenate([function(x[i : i + 1]) for i in range(x.size)])
    np.testing.assert_array_equal(alone, function(x))


def _pow_samples():
    rng = np.random.default_rng(0)
    count = 2000
    any_size = abs(rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64))
    near_one = 1 + rng.normal(size=count) * np.exp(rng.uniform(-30, -2, count))
    x = np.concatenate([any_size, near_one, rng.uniform(0.7, 1.42, count), rng.uniform(0, 10, count)])
    x = x[np.isfinite(x) & (x > 0) & (x != 1)]
    y = rng.uniform(-1080, 1025, x.size) / np.log2(x)
    y[-count:] = rng.integers(-10, 20, count) / 2
    return x, y


@pytest.mark.parametrize("functions", [EXP_LOG_GENERIC, EXP_LOG], ids=["generic", "tables"])
def test_pow_is_within_its_bound(functions):
    x, y = _pow_samples()
    result = compiled(functions["pow"])(x, y)
    worst = 0.0
    with mpmath.workprec(200):
        for a, b, got in zip(x.tolist(), y.tolist(), result.tolist(), strict=True):
            exact = mpmath.power(a, b)
            if math.isinf(got):
                assert exact >= mpmath.mpf(2) ** 1024 - mpmath.mpf(2) ** 970, (a, b)
                continue
            spacing = mpmath.ldexp(1, max(int(mpmath.frexp(exact)[1]) - 53, -1074))
            worst = max(worst, float(abs(got - exact) / spacing))
    assert worst <= 1.4


def test_pow_of_float32_is_within_its_bound():
    with np.errstate(over="ignore", under="ignore"):
        x, y = (v.astype(np.float32) for v in _pow_samples())
    keep = np.isfinite(x) & (x > 0) & np.isfinite(y)
    x, y = x[keep], y[keep]
    result = compiled(EXP_LOG_NARROW["pow"], np.float32)(x, y)
    with np.errstate(all="ignore"):
        assert errors_in_ulps(result, x.astype(LONG) ** y.astype(LONG)).max() <= 0.55


@pytest.mark.parametrize(
    ("table", "real_type"), [(EXP_LOG_GENERIC, np.float64), (EXP_LOG, np.float64), (EXP_LOG_NARROW, np.float32)]
)
def test_pow_follows_the_rules_of_c(table, real_type):
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    libm.pow.restype, libm.pow.argtypes = ctypes.c_double, [ctypes.c_double] * 2
    with np.errstate(all="ignore"):
        values = np.concatenate([SPECIAL, np.negative(SPECIAL)]).astype(real_type)
        x, y = (v.ravel() for v in np.meshgrid(values, values))
        exact = np.array([libm.pow(float(a), float(b)) for a, b in zip(x, y, strict=True)])
        errors = errors_in_ulps(compiled(table["pow"], real_type)(x, y), exact.astype(LONG), signed_zeros=True)
    worst = np.argmax(errors)
    assert errors[worst] <= 2, (x[worst], y[worst])


@pytest.mark.parametrize("name", EXP_LOG_GENERIC)
def test_a_loop_has_no_calls(name):
    function = EXP_LOG_GENERIC[name]
    binary = name == "pow"

    @numba.njit(**OUTER)
    def loop(x, result):
        for i in range(result.size):
            result[i] = function(x[i], x[i]) if binary else function(x[i])

    loop(np.ones(1), np.ones(1))
    (text,) = loop.inspect_llvm().values()
    assert "<8 x double>" in text or "<4 x double>" in text or "<2 x double>" in text
