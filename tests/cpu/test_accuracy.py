"""The accuracy of launches on the CPU, over a dense sample of the whole domain, against its bounds in ulps."""

import mpmath
import numpy as np
import pytest

from ep import BinaryOp as B
from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive
from ep import UnaryOp as U
from ep.include.primitive import BroadcastElementwiseBinaryFactory, ElementwiseUnaryFactory
from ep.testing import tolerances
from ep.testing.references.unary import exact
from ep.testing.samples import dense
from ep.testing.ulps import errors_in_ulps

DEFAULTS = {U.kSoftPlus: (1.0, 20.0)}


@pytest.mark.parametrize("scalar_type", [np.float32, np.float64])
@pytest.mark.parametrize("op", [U.kSqrt, *tolerances.VECTOR_MATH_ULPS], ids=lambda op: op.name)
def test_bounds(op, scalar_type):
    slow = op in tolerances.SLOW_REFERENCE and scalar_type is np.float64
    x = dense(scalar_type, 300 if slow else 20_000)
    got = np.empty_like(x)
    primitive = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, op, scalar_type, scalar_type)
    primitive.Launch(DeviceManagerRegistry.GetDevice(DeviceType.kCPU).CreateStream(), x, got, x.size)
    want = exact(op, x, *DEFAULTS.get(op, ()))
    bound = tolerances.unary_ulps(op, scalar_type, tolerances.Library.VECTOR_MATH)
    with np.errstate(invalid="ignore"):
        errors = errors_in_ulps(got, want, np.where(x < 0, tolerances.TERM_BELOW_ZERO.get(op, 0), 0))
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound, f"{op.name}({x[worst]!r}) = {got[worst]!r}: {errors[worst]:.3g} ulp"


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
