"""Normalisations and their gradients: those of NumPy in float64, alone, fused, and as gradients of a loss."""

import math

import numpy as np
import pytest

import ep
import ep.ops
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed

FLOATS = ("float32", "float64", "float16", "bfloat16")
BOUNDS = {"float64": 1e-13, "float32": 3e-6, "float16": 2e-3, "bfloat16": 2e-2}


def standardised(x, axes, epsilon, is_centred=True):
    """Return normalised numbers, the means, and 1 over the roots; x: in float64."""
    mean = x.mean(axes, keepdims=True) if is_centred else np.float64(0)
    inverse = 1 / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + epsilon)
    return (x - mean) * inverse, mean, inverse


def slopes(dy, x, axes, epsilon, weight, is_centred=True):
    """Return the gradients by x, weight and bias, in the shape of x, from the definition of the derivative."""
    normed, _, inverse = standardised(x, axes, epsilon, is_centred)
    scaled = dy * weight
    along = normed * (scaled * normed).mean(axes, keepdims=True)
    shift = scaled.mean(axes, keepdims=True) if is_centred else 0
    return (scaled - shift - along) * inverse, dy * normed, dy


def summed(array, shape):
    """Return an array summed to a shape that broadcasts to its own."""
    before = (1,) * (array.ndim - len(shape)) + tuple(shape)
    axes = tuple(axis for axis, size in enumerate(before) if size == 1)
    return array.sum(axes, keepdims=True).reshape(shape)


def close(found, wanted, dtype, most=None):
    found = host(found)
    assert (found.dtype, found.shape) == (np.dtype(dtype), wanted.shape)
    most = np.max(np.abs(wanted), initial=1.0) if most is None else most
    np.testing.assert_allclose(found.astype(np.float64), wanted, 0, BOUNDS[str(np.dtype(dtype))] * most)


LAYERS = {
    "rows": ((5, 7), -1, (7,)),
    "one row": ((11,), 0, (11,)),
    "rows of one": ((3, 1), -1, (1,)),
    "two axes": ((3, 5, 7), (-1, -2), (5, 7)),
    "a weight for each column": ((3, 5, 7), (1, 2), (7,)),
    "a weight for each row": ((3, 5, 7), (1, 2), (5, 1)),
    "channels": ((2, 5, 3, 2), 1, (5, 1, 1)),
    "first axis": ((13, 3), 0, (1, 3)),
    "long rows": ((2, 8200), 1, (8200,)),
    "long rows without equal pieces": ((2, 8209), 1, (8209,)),
    "long rows of two axes": ((2, 3, 8208), (1, 2), (3, 1)),
    "no rows": ((0, 7), 1, (7,)),
    "rows of none": ((3, 0), 1, (0,)),
}


@pytest.mark.parametrize("is_centred", [True, False], ids=["layer", "rms"])
@pytest.mark.parametrize("case", LAYERS)
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_rows(case, is_centred, device, rng):
    """The result and the statistics, and the gradients from them: alone, and fused with operators around them."""
    shape, axis, of_weight = LAYERS[case]
    axes = tuple(one % len(shape) for one in np.atleast_1d(axis))
    x, dy = (rng.standard_normal(shape) for _ in range(2))
    weight, bias = (rng.standard_normal(of_weight) for _ in range(2))
    dtype = rng.choice(["float32", "float64"])
    x, dy, weight, bias = (one.astype(dtype) for one in (x, dy, weight, bias))
    wide = [one.astype(np.float64) for one in (x, dy, weight, bias)]
    normed, mean, inverse = standardised(wide[0], axes, 1e-3, is_centred)
    given = [placed(device, one) for one in (x, dy, weight, bias)]

    def both(x, dy, weight, bias):
        if is_centred:
            y, *rest = ep.ops.layer_norm(x, weight, bias, axis, 1e-3, return_statistics=True)
            return [y, *rest, *ep.ops.layer_norm_grad(dy, x, *rest, weight, bias, axis)]
        y, inverse = ep.ops.rms_norm(x, weight, axis, 1e-3, return_statistics=True)
        return [y, inverse, *ep.ops.rms_norm_grad(dy, x, inverse, weight, axis)]

    by_x, by_weight, by_bias = slopes(wide[1], wide[0], axes, 1e-3, wide[2], is_centred)
    wanted = [normed * wide[2] + (wide[3] if is_centred else 0), mean, inverse, by_x]
    wanted += [summed(one, of_weight) for one in (by_weight, by_bias)]
    if not is_centred:
        del wanted[5], wanted[1]
    for found in (both(*given), ep.fuse(both)(*given)):
        for one, expected in zip(found, wanted, strict=True):
            close(one, expected, dtype)
    if is_centred:
        close(ep.ops.layer_norm(given[0], axis=axis, epsilon=1e-3), normed, dtype)
    around = ep.fuse(lambda x, w: ep.ops.layer_norm(x * 2, w, None, axis, 4e-3) - x)(given[0], given[2])
    close(around, standardised(wide[0], axes, 1e-3)[0] * wide[2] - wide[0], dtype)


@pytest.mark.parametrize("shape", [(3, 6), (2, 6, 5), (2, 6, 3, 5), (1, 6, 2, 3, 2), (2, 0, 5), (0, 6, 5), (2, 6, 0)])
@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_groups(shape, groups, device, rng):
    grouped = (shape[0], groups, shape[1] // groups, math.prod(shape[2:]))
    x, dy = (rng.standard_normal(shape) for _ in range(2))
    weight, bias = (rng.standard_normal(shape[1]) for _ in range(2))
    per = [one.reshape(groups, -1, 1) for one in (weight, bias)] if shape[1] else [np.zeros((groups, 0, 1))] * 2
    normed, mean, inverse = standardised(x.reshape(grouped), (2, 3), 1e-5)
    by_x, *rest = slopes(dy.reshape(grouped), x.reshape(grouped), (2, 3), 1e-5, per[0])
    wanted = [(normed * per[0] + per[1]).reshape(shape), mean[..., 0, 0], inverse[..., 0, 0], by_x.reshape(shape)]
    wanted += [one.sum((0, 3)).reshape(-1) for one in rest]
    given = [placed(device, one) for one in (x, dy, weight, bias)]

    def both(x, dy, weight, bias):
        y, *rest = ep.ops.group_norm(x, weight, bias, num_groups=groups, return_statistics=True)
        return [y, *rest, *ep.ops.group_norm_grad(dy, x, *rest, weight, bias, num_groups=groups)]

    for found in (both(*given), ep.fuse(both)(*given)):
        for one, expected in zip(found, wanted, strict=True):
            close(one, expected, "float64")


@pytest.mark.parametrize("dtype", FLOATS)
def test_types(dtype, device, rng):
    """Each is computed in its own type, 16-bit ones in float32; weights may have other types."""
    x, dy = (rng.standard_normal((5, 33)).astype(np.dtype(dtype)) for _ in range(2))
    weight, bias = rng.standard_normal(33).astype(np.float32), rng.standard_normal(33).astype(np.float16)
    wide = [one.astype(np.float64) for one in (x, dy, weight, bias)]
    given = [placed(device, one) for one in (x, dy, weight, bias)]
    y, mean, inverse = ep.ops.layer_norm(given[0], *given[2:], return_statistics=True)
    normed, *statistics = standardised(wide[0], (1,), 1e-5)
    close(y, normed * wide[2] + wide[3], dtype)
    computed = dtype if dtype == "float64" else "float32"
    for one, expected in zip((mean, inverse), statistics, strict=True):
        close(one, expected, computed)
    found = ep.ops.layer_norm_grad(given[1], given[0], mean, inverse, *given[2:])
    expected = slopes(wide[1], wide[0], (1,), 1e-5, wide[2])
    for one, of, by in zip(found, (x, weight, bias), expected, strict=True):
        close(one, by if of is x else by.sum(0), of.dtype)
    huge = placed(device, np.float16([[6e4, -6e4, 0, 0]]))
    assert host(ep.ops.rms_norm(huge)).tolist() == [[np.float16(2**0.5), -np.float16(2**0.5), 0, 0]]


def test_means_far_from_zero(device):
    """Differences from a rounded mean have a mean, which is subtracted: results are as accurate as the numbers."""
    x = (np.arange(700).reshape(2, 350) % 7 + 1e5).astype(np.float32)
    wide = x.astype(np.float64)
    for shape, axis in ((x.shape, 1), ((2, 25, 14), (1, 2))):
        found = host(ep.ops.layer_norm(placed(device, x.reshape(shape)), axis=axis)).reshape(x.shape)
        np.testing.assert_allclose(found, standardised(wide, (1,), 1e-5)[0], 0, 1e-6)
    even = placed(device, np.full((2, 9), 1e7 / 3, np.float32))
    assert not host(ep.ops.layer_norm(even)).any()


def test_numbers_that_are_not_finite(device):
    x = np.float32([[1, 2, 3], [1, math.nan, 3], [1, math.inf, 3]])
    for norm in (ep.ops.layer_norm, ep.ops.rms_norm):
        found = host(norm(placed(device, x)))
        assert np.isfinite(found[0]).all()
        assert np.isnan(found[1]).all()
    assert np.isnan(host(ep.ops.layer_norm(placed(device, x)))[2]).all()


def test_gradients_that_are_not_wanted(device):
    x, weight = (placed(device, one) for one in (np.eye(3, 5, dtype=np.float32), np.ones(5, np.float32)))
    _, *statistics = ep.ops.layer_norm(x, weight, return_statistics=True)
    by_x, by_weight, by_bias = ep.ops.layer_norm_grad(x, x, *statistics, weight, wanted=(False, True, True))
    assert by_x is None
    assert by_bias is None
    assert tuple(by_weight.shape) == (5,)
    assert ep.ops.layer_norm_grad(x, x, *statistics)[1:] == [None, None]
    assert ep.ops.rms_norm_grad(x, x, statistics[1], weight, wanted=(True, False))[1] is None


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "group_norm"])
def test_gradients_of_a_loss(name, device, rng):
    """`ep.grad` agrees with the function of gradients."""
    x, dy, weight = (placed(device, rng.standard_normal(one)) for one in ((3, 6, 5), (3, 6, 5), (6,)))
    options = {"num_groups": 2} if name == "group_norm" else {}
    weight = weight if name == "group_norm" else placed(device, rng.standard_normal(5))
    norm = getattr(ep.ops, name)
    by_x, by_weight = ep.grad(lambda x, w, dy: ep.ops.sum(norm(x, w, **options) * dy), by=(0, 1))(x, weight, dy)
    _, *statistics = norm(x, weight, **options, return_statistics=True)
    found = getattr(ep.ops, f"{name}_grad")(dy, x, *statistics, weight, **options)
    for one in (found, ep.ops.vjp(name, [x, weight], options, None, dy)):
        close(by_x, host(one[0]), "float64")
        close(by_weight, host(one[1]), "float64")


def test_fused_norms_are_few_kernels(device):
    """A layer norm of rows is one kernel, with the operators around it."""
    x, weight = placed(device, np.zeros((6, 32), np.float32)), placed(device, np.zeros(32, np.float32))
    text = str(ep.fuse(lambda x, w: ep.ops.layer_norm(x + x, w, w) * 2).explain(x, weight))
    assert text.count("kernel of") == text.count("row kernel of") == 1
    assert "operator of" not in text


def test_a_bias_without_a_weight(device):
    rng = np.random.default_rng(7)
    x, dy = (rng.normal(size=(5, 7)) for _ in range(2))
    bias = rng.normal(size=7)
    given = [placed(device, one) for one in (dy, x, x.mean(1, keepdims=True), 1 / x.std(1, keepdims=True))]
    _, none, gradient = ep.ops.layer_norm_grad(*given, None, placed(device, bias))
    assert none is None
    np.testing.assert_allclose(host(gradient), dy.sum(0))
