"""sin, cos and tan of float32 and bfloat16: float32 arithmetic up to its limit, and launches with arguments beyond."""

import ml_dtypes
import mpmath
import numpy as np
import pytest

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.cpu.vector_math.single.trigonometric import LIMIT
from ep.include.primitive import ElementwiseUnaryFactory
from ep.testing.ulps import errors_in_ulps
from tests.cpu.single_functions import apply, bound, loop

NAMES = ("sin", "cos", "tan")
BEYOND = 0.57  # the bound beyond the limit, where float64 is used
OPS = {"sin": UnaryOp.kSin, "cos": UnaryOp.kCos, "tan": UnaryOp.kTan}


def _launch(name: str, x: np.ndarray, in_place: bool = False) -> np.ndarray:
    y = x.copy() if in_place else np.empty_like(x)
    primitive = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, OPS[name], x.dtype, x.dtype)
    stream = DeviceManagerRegistry.GetDevice(DeviceType.kCPU).CreateStream()
    primitive.Launch(stream, y if in_place else x, y, x.size)
    return y


def _exact(name: str, x: np.ndarray) -> np.ndarray:
    """Return the values in long double, whose reduction is exact up to 2^63; beyond, those of mpmath as float64."""
    with np.errstate(invalid="ignore"):
        want = getattr(np, name)(x.astype(np.longdouble))
    far = np.flatnonzero(np.abs(x) > 2.0**60)
    with mpmath.workprec(300):
        want[far] = [float(getattr(mpmath, name)(mpmath.mpf(float(v)))) if np.isfinite(v) else np.nan for v in x[far]]
    return want


def _near_multiples(largest: float, count: int) -> np.ndarray:
    """Return the float32 numbers around multiples of pi/2."""
    quarters = np.unique(np.random.default_rng(3).integers(1, int(largest / 1.6), count))
    near = (quarters * (np.pi / 2)).astype(np.float32)
    return np.concatenate([near, np.nextafter(near, np.float32(0)), np.nextafter(near, np.float32(np.inf))])


def _within(count: int) -> np.ndarray:
    rng = np.random.default_rng(4)
    any_exponent = np.exp2(rng.uniform(-149, 17, count)).astype(np.float32)
    spread = [rng.uniform(0, 4, count), rng.uniform(0, 100, count), rng.uniform(0, LIMIT, count), [LIMIT]]
    x = np.concatenate([any_exponent, *spread, _near_multiples(LIMIT, count)]).astype(np.float32)
    return np.concatenate([x, -x])


def _beyond(count: int) -> np.ndarray:
    """Return numbers above the limit, above that of the float64 functions, near multiples of pi/2, and the largest."""
    rng = np.random.default_rng(5)
    x = np.concatenate([np.exp2(rng.uniform(17, 128, count)), np.exp2(rng.uniform(17, 42, count))]).astype(np.float32)
    x = np.concatenate([x, _near_multiples(2.0**40, count), _near_multiples(2.0**24, count)])
    x = np.concatenate(
        [x[x > LIMIT], np.array([np.finfo(np.float32).max, np.nextafter(np.float32(LIMIT), x[0])], x.dtype)]
    )
    return np.concatenate([x, -x])


@pytest.mark.parametrize("name", NAMES)
def test_it_is_within_its_bound(name: str) -> None:
    x = _within(200_000)
    got, want = apply(name, x), _exact(name, x)
    errors = errors_in_ulps(got, want)
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound(name), x[worst]
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("name", NAMES)
def test_launches_within_the_limit_are_in_float32_arithmetic(name: str) -> None:
    x = _within(5000)
    assert _launch(name, x).tobytes() == apply(name, x).tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_arguments_beyond_the_limit(name: str) -> None:
    x = _beyond(5000)
    errors = errors_in_ulps(_launch(name, x), _exact(name, x))
    worst = int(np.argmax(errors))
    assert errors[worst] <= BEYOND, x[worst]


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float64], ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("name", NAMES)
def test_the_element_decides(name: str, dtype: type, in_place: bool) -> None:
    """An element has the same bits among elements of any size, at any place in a block, and alone."""
    rng = np.random.default_rng(6)
    large = _beyond(1000).astype(np.float64) * (1 if dtype is not np.float64 else 2.0**30)
    x = np.concatenate([_within(600)[:2500], rng.choice(large, 1500), [np.inf, -np.inf, np.nan, -0.0, 0.0]])
    x = rng.permutation(x)[:3333].astype(dtype)
    x[1024:2048] = np.abs(x[0]) if np.isfinite(x[0]) else 1.0  # a block of equal elements
    together = _launch(name, x, in_place)
    some = slice(None, None, 5)
    alone = np.concatenate([_launch(name, x[i : i + 1]) for i in range(x.size)[some]])
    kept = ~np.isnan(together.astype(np.float64))
    np.testing.assert_array_equal(kept, np.isfinite(x.astype(np.float64)))
    assert together[some][kept[some]].tobytes() == alone[kept[some]].tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16], ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("name", NAMES)
def test_special_values(name: str, dtype: type) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
    got = _launch(name, x).astype(np.float64)
    np.testing.assert_array_equal(got[:2], [1.0, 1.0] if name == "cos" else [0.0, 0.0])
    assert np.signbit(got[1]) == (name != "cos")
    assert np.isnan(got[2:]).all()


@pytest.mark.parametrize("name", NAMES)
def test_every_float16(name: str) -> None:
    bits = np.arange(2**16, dtype=np.uint16)
    x = bits.view(np.float16)
    x = x[np.isfinite(x)]
    want = getattr(np, name)(x.astype(np.float64)).astype(np.longdouble)
    assert errors_in_ulps(_launch(name, x), want).max() <= 0.501


@pytest.mark.parametrize("name", NAMES)
def test_loops_are_packed_and_single(name: str) -> None:
    (code,) = loop(name).inspect_llvm().values()
    assert "x float> @llvm.fma.v" in code
    assert "double" not in code.partition("define")[2].partition("\n}\n")[0]
