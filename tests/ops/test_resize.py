"""resample, resize and resize_grad, compared with loops over addends and with PyTorch."""

import numpy as np
import pytest
from ml_dtypes import bfloat16

import ep
import ep.ops
from ep.include.primitive import ConstantPadFactory
from ep.testing.keys import needs_one_of
from tests.ops.test_pool import near

pytestmark = needs_one_of(ConstantPadFactory)

FLOATS = [np.float64, np.float32, np.float16, bfloat16]


def weights_of(dtype):
    return np.float32 if np.dtype(dtype).itemsize == 2 else dtype


def resample(x, places, weights, axis):
    result = np.zeros((*x.shape[:axis], places.shape[1], *x.shape[axis + 1 :]))
    before = (slice(None),) * axis
    for addend, at in np.ndindex(*places.shape):
        place = places[addend, at]
        if 0 <= place < x.shape[axis]:
            result[(*before, at)] += x[(*before, place)].astype(np.float64) * np.float64(weights[addend, at])
    return result


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda one: np.dtype(one).name)
@pytest.mark.parametrize(
    ("shape", "axis", "table", "of_places"),
    [
        ((7,), 0, (2, 5), np.int64),
        ((3, 5), 0, (1, 4), np.int32),
        ((3, 5), -1, (3, 11), np.int64),
        ((2, 3, 4), 1, (19, 6), np.uint8),
        ((2, 3, 1, 5), 2, (2, 3), np.int16),
        ((2, 3), 1, (0, 4), np.int64),
        ((2, 0), 1, (2, 4), np.int64),
        ((2, 3), 1, (2, 0), np.int64),
        ((0, 3), 1, (2, 2), np.int64),
    ],
    ids=str,
)
def test_against_the_definition(operate, shape, axis, table, of_places, dtype, rng):
    x, weights = rng.integers(-4, 5, shape).astype(dtype), rng.integers(-3, 4, table).astype(weights_of(dtype))
    low = 0 if of_places is np.uint8 else -2
    places = rng.integers(low, shape[axis] + 2, table).astype(of_places)
    near(operate("resample", x, places, weights, axis), resample(x, places, weights, axis % len(shape)), dtype)


def test_places_outside_add_nothing(operate):
    x = np.array([np.inf, 2, np.nan], np.float32)
    places, weights = np.array([[1, -1, 0, 9], [3, -7, 1, 1]]), np.full((2, 4), 2, np.float32)
    np.testing.assert_array_equal(operate("resample", x, places, weights), [4, 0, np.inf, 4])


def test_views_and_out(rng):
    x, places = rng.normal(size=(5, 4, 3)).transpose(2, 0, 1)[:, ::2], np.array([[0, 2], [1, 1]])
    weights, out = rng.normal(size=(4, 2))[::2], np.full((3, 2, 4), np.nan)
    assert ep.ops.resample(x, places, weights, 1, out=out) is out
    near(out, resample(x, places, weights, 1), np.float64)
    x = rng.normal(size=(3, 4))
    expected = resample(x, np.array([[3, 0, 1, 1]]), np.ones((1, 4)), 1)
    np.testing.assert_array_equal(ep.ops.resample(x, [[3, 0, 1, 1]], np.ones((1, 4)), 1, out=x), expected)


NAMES = {
    ("nearest", 1): "nearest",
    ("nearest", 2): "nearest",
    ("nearest", 3): "nearest",
    ("nearest_exact", 2): "nearest-exact",
    ("linear", 1): "linear",
    ("linear", 2): "bilinear",
    ("linear", 3): "trilinear",
    ("cubic", 2): "bicubic",
}


@pytest.mark.parametrize(("mode", "num_axes"), NAMES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_beside_pytorch(mode, num_axes, dtype, rng):
    torch = pytest.importorskip("torch")
    for trial in range(5):
        sizes, counts = (tuple(map(int, rng.integers(1, most, num_axes))) for most in (9, 14))
        counts = tuple(2 * size for size in sizes) if trial == 0 else sizes if trial == 1 else counts
        corners = {} if mode.startswith("nearest") else {"align_corners": trial % 2 == 1}
        there = torch.tensor(rng.normal(size=(2, 3, *sizes)).astype(dtype), requires_grad=True)
        wanted = torch.nn.functional.interpolate(there, counts, mode=NAMES[mode, num_axes], **corners)
        tolerance = {2: 5e-3, 4: 1e-5, 8: 1e-12}[np.dtype(dtype).itemsize]  # both compute places in the type of x
        found = ep.ops.resize(there.detach().numpy(), counts, mode, **corners)
        np.testing.assert_allclose(found, wanted.detach().numpy(), rtol=tolerance, atol=tolerance)
        dy = rng.normal(size=wanted.shape).astype(dtype)
        wanted.backward(torch.tensor(dy))
        found = ep.ops.resize_grad(dy, there.shape, mode, **corners)
        np.testing.assert_allclose(found, there.grad.numpy(), rtol=4 * tolerance, atol=4 * tolerance)


@pytest.mark.parametrize(("mode", "num_axes"), NAMES)
@pytest.mark.parametrize("factor", [0.6, 1.3, 2.0, 2.7])
def test_scales_beside_pytorch(mode, num_axes, factor, rng):
    torch = pytest.importorskip("torch")
    there = torch.tensor(rng.normal(size=(1, 2, 5, 6, 7)[: num_axes + 2]))
    how = {"mode": NAMES[mode, num_axes], "recompute_scale_factor": False}
    wanted = torch.nn.functional.interpolate(there, scale_factor=factor, **how).numpy()
    near(ep.ops.resize(there.numpy(), wanted.shape[2:], mode, scales=factor), wanted, np.float64)


def table_of(size, count):
    """Return the places and weights of "linear", by the definition."""
    found = np.zeros((count, size))
    for at in range(count):
        place = min(max((at + 0.5) * size / count - 0.5, 0), size - 1)
        first = int(place)
        found[at, first] += 1 - (place - first)
        found[at, min(first + 1, size - 1)] += place - first
    return found


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda one: np.dtype(one).name)
@pytest.mark.parametrize(
    ("sizes", "counts"), [((4, 3), (8, 6)), ((5, 7), (3, 9)), ((1,), (20,)), ((6,), (6,)), ((4,), (0,))]
)
def test_linear_on_the_device(operate, sizes, counts, dtype, rng):
    x, dy = (rng.normal(size=(2, 3, *shape)).astype(dtype) for shape in (sizes, counts))
    wanted, grad = x.astype(np.float64), dy.astype(np.float64)
    for axis, (size, count) in enumerate(zip(sizes, counts, strict=True), 2):
        wanted = np.moveaxis(np.tensordot(table_of(size, count), wanted, (1, axis)), 0, axis)
        grad = np.moveaxis(np.tensordot(table_of(size, count), grad, (0, axis)), 0, axis)
    found, of_x = operate("resize", x, counts, "linear"), operate("resize_grad", dy, x.shape, "linear")
    assert (found.dtype, of_x.dtype) == (dtype, dtype)
    tolerance = {2: 3e-2, 4: 1e-5, 8: 1e-12}[found.itemsize]
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(of_x.astype(np.float64), grad, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.bool_, np.complex64])
def test_nearest_elements_of_any_type(operate, dtype, rng):
    x = rng.integers(0, 2, (2, 1, 3, 5)).astype(dtype)
    for counts in ((6, 15), (2, 7), (3, 5)):
        rows, columns = (
            [at * size // count for at in range(count)] for size, count in zip((3, 5), counts, strict=True)
        )
        found = operate("resize", x, counts)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, x[:, :, rows][..., columns])


def test_what_is_not_finite_stays_at_its_place(operate):
    x = np.array([[[np.nan, 1, 2, np.inf, 3, 4]]], np.float32)
    np.testing.assert_array_equal(operate("resize", x, 12)[0, 0], np.repeat(x[0, 0], 2))
    found = operate("resize", x, 12, "linear")[0, 0]
    np.testing.assert_array_equal(np.isfinite(found), [0] * 3 + [1] * 2 + [0] * 4 + [1] * 3)


def test_fused_and_differentiated(rng):
    x, by = rng.normal(size=(2, 3, 4, 5)), rng.normal(size=(2, 3, 7, 10))
    for mode in ("nearest", "linear", "cubic"):
        fused = ep.fuse(lambda x, mode=mode: ep.ops.relu(ep.ops.resize(x, (7, 10), mode)))
        gradient = ep.grad(lambda x, by, mode=mode: ep.ops.sum(ep.ops.resize(x, (7, 10), mode) * by))
        for _ in range(3):
            near(fused(x), np.maximum(ep.ops.resize(x, (7, 10), mode), 0), np.float64)
            near(gradient(x, by), ep.ops.resize_grad(by, x.shape, mode), np.float64)


X = np.ones((2, 4, 9), np.float32)
PLACES, WEIGHTS = np.zeros((2, 3), np.int64), np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("name", "args", "given", "error", "message"),
    [
        ("resample", (X[0, 0, 0], PLACES, WEIGHTS), {}, ValueError, "x has no axes"),
        ("resample", (X, PLACES[0], WEIGHTS), {}, ValueError, r"places has shape \(3,\); it must have two axes"),
        ("resample", (X, PLACES, WEIGHTS[:1]), {}, ValueError, r"weights has shape \(1, 3\), places has \(2, 3\)"),
        ("resample", (X, PLACES, WEIGHTS.astype("f8")), {}, TypeError, "weights has dtype float64; for x of float32"),
        ("resample", (X.astype("f2"), PLACES, WEIGHTS.astype("f2")), {}, TypeError, "it must be float32"),
        ("resample", (X, PLACES.astype("f4"), WEIGHTS), {}, TypeError, "places has dtype float32"),
        ("resample", (X, PLACES, WEIGHTS, 3), {}, ValueError, "axis is 3"),
        ("resample", (X.astype("i4"), PLACES, WEIGHTS.astype("i4")), {}, LookupError, "x and weights have dtype int32"),
        ("resample", (X.astype("i1"), PLACES, WEIGHTS.astype("i1")), {}, LookupError, "x and weights have dtype int8"),
        ("resize", (X, (3, 3)), {}, ValueError, "sizes has 2 values; it must be one integer, or 1 of them"),
        ("resize", (X, -1), {}, ValueError, r"sizes\[0\] is -1"),
        ("resize", (X[0], 3), {}, ValueError, r"x has shape \(4, 9\); it must have a batch axis"),
        (
            "resize",
            (X[..., :0], 3),
            {},
            ValueError,
            r"sizes\[0\] is 3; axis 2 of x of shape \(2, 4, 0\) has no elements",
        ),
        (
            "resize",
            (X, 3, "linaer"),
            {},
            ValueError,
            "mode is 'linaer'; it must be one of nearest, .*did you mean 'linear'",
        ),
        ("resize", (X, 3), {"align_corners": True}, ValueError, "align_corners is True, and mode is nearest"),
        ("resize", (X, 3, "linear", 1), {}, TypeError, "align_corners must be True or False"),
        ("resize", (X, 3), {"scales": 0}, ValueError, r"scales\[0\] is 0; it must be positive, and below 2"),
        ("resize", (X, 3), {"scales": (1, 2)}, ValueError, "scales has 2 values; it must be one number, or 1 of them"),
        ("resize", (X, 3), {"scales": "2"}, TypeError, r"scales\[0\] must be a number, not '2'"),
        (
            "resize",
            (X.astype("i4"), 4, "linear"),
            {},
            LookupError,
            "x has dtype int32; resize takes float16, .* if mode is linear",
        ),
        ("resize", (X, 3), {"scales": 10**400}, ValueError, "it must be positive, and below 2"),
        ("resize_grad", (X, (2, 4, 9, 9)), {}, ValueError, r"dy has shape \(2, 4, 9\); it must have 4 axes"),
        ("resize_grad", (X, (2, 5, 3)), {}, ValueError, r"dy has shape \(2, 4, 9\); it must begin with \(2, 5\)"),
        ("resize_grad", (X.astype("i4"), (2, 4, 3)), {}, LookupError, "dy has dtype int32; resize_grad takes float16"),
    ],
)
def test_wrong_arguments(name, args, given, error, message):
    with pytest.raises(error, match=message):
        getattr(ep.ops, name)(*args, **given)


def test_elements_that_are_repeated_along_three_axes(rng):
    """A fused function repeats them in each call, as in the first one."""
    x = rng.standard_normal((2, 3, 5, 7, 4), np.float32)
    double = ep.fuse(lambda x: ep.ops.resize(x, (10, 21, 8), mode="nearest"))
    for _ in range(4):
        np.testing.assert_array_equal(double(x), x.repeat(2, 2).repeat(3, 3).repeat(2, 4))
        x = x + 1
