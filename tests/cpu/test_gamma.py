"""The accuracy of lgamma, digamma and trigamma, also next to their zeros."""

import mpmath
import numpy as np
import pytest

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.include.primitive import ElementwiseUnaryFactory
from ep.testing.references.unary import exact
from ep.testing.ulps import errors_in_ulps

LGAMMA, DIGAMMA, TRIGAMMA = OPS = (UnaryOp.kLgamma, UnaryOp.kDigamma, UnaryOp.kTrigamma)
ROOT = 1.4616321449683622  # the positive zero of digamma

# the largest errors of float64 for x > 0 among ten times as many arguments, rounded up
POSITIVE = {LGAMMA: 4.1, DIGAMMA: 4.7, TRIGAMMA: 7.8}
# for x < 0, where lgamma and digamma near 0 are a difference of terms: in ulps of at least the second number
NEGATIVE = {LGAMMA: (4.5, 0.5), DIGAMMA: (1.6, 16.0), TRIGAMMA: (2.2, 0.0)}
SINGLE = {LGAMMA: 0.51, DIGAMMA: 0.51, TRIGAMMA: 0.52}


def _launch(op: UnaryOp, x: np.ndarray) -> np.ndarray:
    y = np.empty_like(x)
    primitive = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, op, x.dtype, x.dtype)
    primitive.Launch(DeviceManagerRegistry.GetDevice(DeviceType.kCPU).CreateStream(), x, y, x.size)
    return y


def _positive(count: int, seed: int = 4) -> np.ndarray:
    """Return numbers of every magnitude, around the cut, and near 1, 2 and the root, where results are 0."""
    rng = np.random.default_rng(seed)
    near = np.exp2(rng.uniform(-52, -3, count)) * rng.choice([-1, 1], count)
    parts = [rng.uniform(0, 3.2, 4 * count), rng.uniform(3, 12, count), np.exp2(rng.uniform(-1074, 1023, count))]
    parts += [np.exp2(rng.uniform(3, 30, count)), *(point * (1 + near) for point in (1, 2, 3, ROOT))]
    return np.concatenate(parts)


def _negative(count: int, low: float) -> np.ndarray:
    """Return numbers of every magnitude, next to the poles, and evenly from `low` on."""
    rng = np.random.default_rng(5)
    near_poles = -rng.integers(1, 30, count) * (1 + np.exp2(rng.uniform(-40, -5, count)) * rng.choice([-1, 1], count))
    parts = [rng.uniform(low, 0, 3 * count), near_poles, -np.exp2(rng.uniform(-1074, 20, count))]
    x = np.concatenate(parts)
    return x[x != np.rint(x)]


def _check(op: UnaryOp, x: np.ndarray, bound: float, at_least: float = 0.0) -> None:
    errors = errors_in_ulps(_launch(op, x), exact(op, x.astype(np.float64)), at_least)
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound, f"{op.name}({x[worst]!r}): {errors[worst]:.3g} ulp"


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_float64_above_0(op):
    _check(op, _positive(60), POSITIVE[op])


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_float64_below_0(op):
    _check(op, _negative(100, -20.0), *NEGATIVE[op])


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_float32_and_next_to_its_zeros(op):
    """Results are nearly rounded once: no float32 number is so near a zero that rounding errors of float64 matter."""
    x = np.concatenate([_positive(60), _negative(60, -12.0)])
    x = x[(np.abs(x) < 1e36) & (np.abs(x) > 1e-36 if op is not TRIGAMMA else np.abs(x) > 1e-18)].astype(np.float32)
    zeros = [_zero(op, n - 0.5 * (side + 1) + side * 1e-6) for n in range(-2, -9, -1) for side in (-1, 1)]
    zeros = np.array([zero for zero in zeros if zero is not None], np.float32)
    near = [zeros]
    for _ in range(3):
        near.append(np.nextafter(near[-1], np.float32(0)))
    x = np.concatenate([x, *near])
    _check(op, x[x != np.rint(x)], SINGLE[op])


def _zero(op: UnaryOp, start: float) -> float | None:
    """Return a zero below 0 near `start`, or None."""
    if op is TRIGAMMA:
        return None
    function = (lambda v: mpmath.re(mpmath.loggamma(v))) if op is LGAMMA else mpmath.digamma
    try:
        return float(mpmath.findroot(function, (start, start - 0.3), solver="anderson", tol=1e-12))
    except ValueError:
        return None


@pytest.mark.parametrize("op", [LGAMMA, DIGAMMA], ids=lambda op: op.name)
def test_zeros_are_exact(op):
    """Results of lgamma around 1 and 2, and of digamma around its root, have small relative errors."""
    for point in (1.0, 2.0) if op is LGAMMA else (ROOT,):
        x = np.array([np.nextafter(point, 0), np.nextafter(point, 9), point])
        x = x if op is DIGAMMA else x[:2]
        errors = errors_in_ulps(_launch(op, x), exact(op, x))
        assert errors.max() <= 3
