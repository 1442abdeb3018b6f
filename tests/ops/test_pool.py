"""ep.ops.max_pool and average_pool, compared with loops over windows, and with PyTorch if it is installed."""

import numpy as np
import pytest
from ml_dtypes import bfloat16, finfo

import ep
import ep.ops
from ep.include.primitive import ReduceFactory
from ep.testing.keys import needs_one_of
from tests.ops import window_references

pytestmark = needs_one_of(ReduceFactory)

TOLERANCE = {np.float64: 1e-12, np.float32: 1e-6, np.float16: 1e-3, bfloat16: 8e-3}


def drawn(rng, num_axes):
    """Return sizes and attributes of windows: now and then there is no window, or some windows have only padding."""
    kernel, strides, dilations = (tuple(map(int, rng.integers(1, 4, num_axes))) for _ in range(3))
    pads = tuple(map(int, rng.integers(0, 4, 2 * num_axes)))
    sizes = tuple(map(int, rng.integers(1, 8, num_axes)))
    given = {"kernel": kernel, "strides": strides, "pads": pads, "dilations": dilations}
    return sizes, {**given, "ceil_mode": bool(rng.integers(2))}


def near(found, expected, dtype):
    assert (found.dtype, found.shape) == (dtype, expected.shape)
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "dtype", [*TOLERANCE, np.int8, np.uint8, np.int64, np.bool_], ids=lambda one: np.dtype(one).name
)
def test_max_pool_against_the_definition(operate, dtype, rng):
    for num_axes in (1, 2, 3, 1, 2):
        sizes, given = drawn(rng, num_axes)
        x = rng.normal(0, 50, (2, 3, *sizes)).astype(dtype)
        found = operate("max_pool", x, **given)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, window_references.max_pool(x, **given))


@pytest.mark.parametrize(
    ("dtype", "sizes", "kernel", "strides", "pads", "dilations"),
    [
        (np.float32, (9, 71), (2, 2), (2, 2), (0, 0, 0, 0), (1, 1)),
        (np.float32, (21, 131), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1)),  # a window at a corner lacks a row and a column
        (np.float64, (7, 40), (4, 2), (1, 1), (5, 0, 3, 0), (2, 1)),
        (np.float32, (3, 4, 50), (2, 1, 3), (1, 1, 3), (1, 0, 2, 0, 0, 3), (2, 1, 2)),
        (np.float64, (11, 44), (1, 4), (1, 4), (0, 0, 0, 0), (1, 1)),  # rows that follow one another are one
        (np.float16, (75,), (5,), (2,), (3, 4), (3,)),
        (bfloat16, (4, 33), (3, 2), (2, 1), (2, 1, 2, 1), (1, 1)),
        (np.int8, (3, 300), (2, 3), (1, 4), (1, 0, 0, 2), (3, 5)),
        (np.float32, (4, 90), (2, 3), (1, 5), (0, 2, 0, 2), (1, 1)),  # these are written out
    ],
)
def test_max_pool_of_long_rows(operate, dtype, sizes, kernel, strides, pads, dilations, rng):
    x = rng.normal(0, 50, (2, 1, *sizes)).astype(dtype)
    if dtype in (np.float32, np.float64):
        x.reshape(-1)[::37] = np.nan
    given = {"kernel": kernel, "strides": strides, "pads": pads, "dilations": dilations, "ceil_mode": False}
    np.testing.assert_array_equal(operate("max_pool", x, **given), window_references.max_pool(x, **given))


@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda one: np.dtype(one).name)
def test_average_pool_against_the_definition(operate, dtype, rng):
    for place, num_axes in enumerate((1, 2, 3, 1, 2, 2)):
        sizes, given = drawn(rng, num_axes)
        given["count_include_pad"] = place % 2 == 0
        x = rng.normal(size=(2, 3, *sizes)).astype(dtype)
        near(operate("average_pool", x, **given), window_references.average_pool(x, **given), dtype)


@pytest.mark.parametrize(
    "given", [{}, {"strides": 2}, {"pads": 1}, {"strides": 3, "pads": 1, "ceil_mode": True}], ids=str
)
@pytest.mark.parametrize("num_axes", [1, 2, 3])
def test_beside_pytorch(given, num_axes, rng):
    torch = pytest.importorskip("torch")
    given = {"kernel": 2, "strides": 1, "pads": 0, "ceil_mode": False, **given}
    names = {"kernel": "kernel_size", "strides": "stride", "pads": "padding", "ceil_mode": "ceil_mode"}
    theirs = {names[name]: value for name, value in given.items()}
    x = rng.normal(size=(2, 3, 8, 7, 6)[: num_axes + 2])
    of_max = getattr(torch.nn.functional, f"max_pool{num_axes}d")(torch.tensor(x), **theirs)
    np.testing.assert_array_equal(ep.ops.max_pool(x, **given), of_max.numpy())
    for counts in (True, False):
        mean = getattr(torch.nn.functional, f"avg_pool{num_axes}d")
        expected = mean(torch.tensor(x), **theirs, count_include_pad=counts).numpy()
        near(ep.ops.average_pool(x, **given, count_include_pad=counts), expected, np.float64)


@pytest.mark.parametrize(
    ("shape", "given"),
    [
        ((2, 3, 8, 6), {"kernel": 2, "strides": 2}),
        ((2, 3, 9, 6), {"kernel": 2, "strides": 2}),
        ((2, 3, 5), {"kernel": 1}),
        ((2, 3, 7), {"kernel": 1, "strides": 3}),
        ((2, 3, 7), {"kernel": 1, "strides": 3, "ceil_mode": True}),
        ((2, 3, 4), {"kernel": 5, "strides": 2, "ceil_mode": True}),
        ((0, 3, 5), {"kernel": 2}),
        ((2, 0, 5), {"kernel": 2}),
        ((2, 3, 2), {"kernel": 3}),
        ((2, 3, 0), {"kernel": 2, "pads": 2}),
        ((2, 3, 0), {"kernel": 2, "pads": 2, "ceil_mode": True}),
        ((2, 3, 3), {"kernel": 2, "pads": (5, 6), "ceil_mode": True}),
        ((1, 2, 4, 9), {"kernel": (4, 1), "strides": (1, 2)}),
    ],
    ids=str,
)
def test_shapes_that_are_odd(operate, shape, given, rng):
    x, num_axes = rng.normal(size=shape), len(shape) - 2
    alone = {"strides": 1, "pads": 0, "dilations": 1, **given}
    lengths = {"kernel": 1, "strides": 1, "pads": 2, "dilations": 1}
    complete = {
        name: (value,) * (lengths[name] * num_axes) if name in lengths and isinstance(value, int) else value
        for name, value in alone.items()
    }
    near(operate("max_pool", x, **given), window_references.max_pool(x, **complete), np.float64)
    near(operate("average_pool", x, **given), window_references.average_pool(x, **complete), np.float64)


def test_not_a_number_spreads(operate):
    x = np.array([[[1, np.nan, 3, 4, 5, 6]]])
    np.testing.assert_array_equal(operate("max_pool", x, 2), [[[np.nan, np.nan, 4, 5, 6]]])
    np.testing.assert_array_equal(operate("average_pool", x, 2, 2), [[[np.nan, 3.5, 5.5]]])


def test_sums_of_float16_that_no_float16_holds(operate):
    x = np.full((1, 1, 8, 8), 60000, np.float16)
    assert (operate("average_pool", x, 3, pads=1) == 60000).all()
    assert (operate("average_pool", x, 8) == 60000).all()


@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda one: np.dtype(one).name)
def test_padding_makes_no_difference(operate, dtype, rng):
    """Means of numbers near the maximum are finite, in windows with and without padding."""
    most = float(finfo(dtype).max)
    x = (np.where(rng.random((1, 2, 5, 7)) < 0.5, 0.75, 1.0) * most).astype(dtype)
    padded, plain = (operate("average_pool", x, (3, 3), 1, pads, 1, False, False) for pads in (1, 0))
    np.testing.assert_array_equal(padded[:, :, 1:-1, 1:-1], plain)
    assert np.all(np.isfinite(padded.astype(np.float64)))
    np.testing.assert_allclose(
        np.float64(padded[0, 0, 0, 0]), np.mean(x[0, 0, :2, :2].astype(np.float64) / 4) * 4, 1e-2
    )


def test_views_and_out(rng):
    x = rng.normal(size=(5, 3, 2, 4)).transpose(2, 1, 3, 0)[..., ::2]
    out = np.full((2, 3, 2, 2), np.nan)
    attributes = {"strides": (2, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1)}
    assert ep.ops.max_pool(x, 2, (2, 1), out=out) is out
    near(out, window_references.max_pool(x, (2, 2), **attributes), np.float64)
    assert ep.ops.average_pool(x, 2, (2, 1), out=out) is out
    near(out, window_references.average_pool(x, (2, 2), **attributes), np.float64)


X = np.ones((2, 4, 9), np.float32)


@pytest.mark.parametrize("name", ["max_pool", "average_pool"])
@pytest.mark.parametrize(
    ("x", "given", "error", "message"),
    [
        (X[0], {}, ValueError, r"x has shape \(4, 9\); it must have a batch axis"),
        (X[..., None, None, None], {}, ValueError, r"x has shape \(2, 4, 9, 1, 1, 1\)"),
        (X, {"kernel": 0}, ValueError, r"kernel\[0\] is 0; it must be 1 at least"),
        (X, {"kernel": (3, 3)}, ValueError, "kernel has 2 values; it must be one integer, or 1 of them"),
        (X, {"kernel": 2.5}, TypeError, "kernel"),
        (X, {"strides": 0}, ValueError, r"strides\[0\] is 0"),
        (X, {"pads": (1,)}, ValueError, "pads has 1 values; it must be one integer, or 2 of them"),
        (X, {"pads": -1}, ValueError, r"pads\[0\] is -1; it must be 0 at least"),
        (X, {"dilations": "2"}, TypeError, "dilations"),
        (X, {"ceil_mode": 1}, TypeError, "ceil_mode must be True or False, not 1"),
        (X.astype(np.complex64), {}, ep.UnsupportedPrimitiveError, "x has dtype complex64"),
    ],
)
def test_wrong_arguments(name, x, given, error, message):
    out = np.full((2, 4, 7), 7, np.float32)
    with pytest.raises(error, match=message):
        getattr(ep.ops, name)(x, **{"kernel": 3, **given}, out=out)
    assert (out == 7).all()


def test_what_average_pool_alone_refuses():
    with pytest.raises(TypeError, match="count_include_pad must be True or False, not None"):
        ep.ops.average_pool(X, 3, count_include_pad=None)
    with pytest.raises(ep.UnsupportedPrimitiveError, match="dtype int32"):
        ep.ops.average_pool(X.astype(np.int32), 3)


def test_equal_elements_share_the_gradient():
    x, dy = np.array([[[3.0, 1, 3, 3]]]), np.ones((1, 1, 2))
    assert ep.ops.vjp("max_pool", (x,), {"kernel": 3}, None, dy)[0].tolist() == [[[0.5, 0, 1, 0.5]]]


def test_padding_has_no_part_of_the_gradient():
    x, dy = np.full((1, 1, 2), -np.inf), np.ones((1, 1, 3))
    assert ep.ops.vjp("max_pool", (x,), {"kernel": 2, "pads": 1}, None, dy)[0].tolist() == [[[1.5, 1.5]]]
    x = np.array([[[1.0, 2]]])
    assert ep.ops.vjp("average_pool", (x,), {"kernel": 2, "pads": 1}, None, dy)[0].tolist() == [[[1.5, 1.5]]]


@pytest.mark.parametrize("name", ["max_pool", "average_pool"])
def test_fused_with_what_is_around_it(name, rng):
    x = rng.normal(size=(2, 3, 9, 8))

    @ep.fuse
    def layer(x):
        return ep.ops.relu(getattr(ep.ops, name)(ep.ops.mul(x, 2.0), 3, 2, 1, ceil_mode=True))

    given = {"kernel": (3, 3), "strides": (2, 2), "pads": (1,) * 4, "dilations": (1, 1), "ceil_mode": True}
    expected = getattr(window_references, name)(2 * x, **given)
    near(layer(x), np.maximum(expected, 0), np.float64)
    gradient = ep.grad(lambda x: ep.ops.sum(layer(x)))(x)
    assert gradient.shape == x.shape
