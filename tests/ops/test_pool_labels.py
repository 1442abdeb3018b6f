"""max_pool_labels, max_pool_with_indices and max_unpool, compared with loops over windows and with PyTorch."""

import math

import numpy as np
import pytest
from ml_dtypes import bfloat16

import ep
import ep.ops
from ep.include.primitive import ConstantPadFactory
from ep.testing.keys import needs_one_of
from tests.ops import window_references
from tests.ops.test_pool import drawn

pytestmark = needs_one_of(ConstantPadFactory)

TYPES = [np.float64, np.float32, np.float16, bfloat16, np.int8, np.uint8, np.int64, np.bool_]


def label_of(x, labels, kernel, strides, pads, dilations, ceil_mode=False):
    """Return the label of the first of the largest elements of each window, or of its last NaN; -1 if it has none."""
    counts = window_references.counts_of(x.shape[2:], kernel, strides, pads, dilations, ceil_mode)
    result = np.full((*x.shape[:2], *counts), -1, labels.dtype)
    for window, places in window_references.each_window(x.shape[2:], counts, kernel, strides, pads, dilations):
        for plane in np.ndindex(*x.shape[:2]):
            best = None
            for _, at, is_there in places:
                value = x[(*plane, *at)] if is_there else None
                if is_there and (best is None or value > best or value != value):
                    best, result[(*plane, *window)] = value, labels[at]
    return result


def complete(given, num_axes):
    lengths = {"kernel": 1, "strides": 1, "pads": 2, "dilations": 1}
    alone = {"strides": 1, "pads": 0, "dilations": 1, **given}
    return {
        name: (value,) * (lengths[name] * num_axes) if name in lengths and isinstance(value, int) else value
        for name, value in alone.items()
    }


def check(operate, x, labels, given):
    found = operate("max_pool_labels", x, labels, **given)
    expected = label_of(x, labels, **complete(given, x.ndim - 2))
    assert (found.dtype, found.shape) == (labels.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda one: np.dtype(one).name)
def test_against_the_definition(operate, dtype, rng):
    for num_axes, of_labels in ((1, np.int64), (2, np.int32), (3, np.int64), (2, np.int16)):
        sizes, given = drawn(rng, num_axes)
        x = rng.integers(-2, 3, (2, 3, *sizes)).astype(dtype)  # with many ties
        if np.dtype(dtype).kind not in "iub":
            x = np.where(rng.random(x.shape) < 0.2, rng.choice([np.nan, -np.inf], x.shape), x).astype(dtype)
        check(operate, x, rng.permutation(math.prod(sizes)).reshape(sizes).astype(of_labels), given)


@pytest.mark.parametrize(
    ("shape", "given"),
    [
        ((1, 2, 9, 71), {"kernel": 2, "strides": 2}),
        ((2, 1, 21, 67), {"kernel": 3, "strides": 2, "pads": 1}),
        ((1, 1, 40), {"kernel": 13, "pads": 6}),
        ((1, 1, 3, 50), {"kernel": (2, 19), "strides": (1, 3), "dilations": (1, 2), "pads": 2}),
        ((2, 3, 5), {"kernel": 1}),
        ((2, 3, 7, 4), {"kernel": 1, "strides": (3, 2)}),
        ((2, 3, 7, 9), {"kernel": (3, 1), "strides": (2, 4), "pads": (0, 1, 1, 0)}),
        ((2, 3, 4), {"kernel": 5, "strides": 2, "ceil_mode": True}),
        ((1, 2, 6), {"kernel": 2, "strides": 3, "pads": (3, 2)}),
        ((0, 3, 5), {"kernel": 2}),
        ((2, 0, 5), {"kernel": 2}),
        ((2, 3, 2), {"kernel": 3}),
        ((2, 3, 0), {"kernel": 2, "pads": 2}),
        ((2, 3, 0), {"kernel": 2, "pads": 2, "strides": 2}),
    ],
    ids=str,
)
def test_shapes_that_are_odd(operate, shape, given, rng):
    x, sizes = rng.integers(0, 4, shape).astype(np.float32), shape[2:]
    check(operate, x, np.arange(math.prod(sizes)).reshape(sizes), given)


@pytest.mark.parametrize(
    "given", [{}, {"strides": 2}, {"pads": 1, "dilations": 2}, {"strides": 3, "pads": 1, "ceil_mode": True}], ids=str
)
@pytest.mark.parametrize("num_axes", [1, 2, 3])
def test_beside_pytorch(given, num_axes, rng):
    torch = pytest.importorskip("torch")
    given = {"kernel": 3, "strides": 1, "pads": 0, "dilations": 1, "ceil_mode": False, **given}
    x = rng.integers(0, 3, (2, 3, 8, 7, 9)[: num_axes + 2]).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    x[rng.random(x.shape) < 0.3] = -np.inf
    there = torch.tensor(x, requires_grad=True)
    largest, indices = getattr(torch.nn.functional, f"max_pool{num_axes}d")(there, *given.values(), return_indices=True)
    found = ep.ops.max_pool_with_indices(x, **given)
    np.testing.assert_array_equal(found[0], largest.detach().numpy())
    np.testing.assert_array_equal(found[1], indices.numpy())
    dy = rng.normal(size=largest.shape).astype(np.float32)
    largest.backward(torch.tensor(dy))
    np.testing.assert_allclose(ep.ops.max_unpool(dy, found[1], x.shape[2:]), there.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_the_index_of_nan_and_of_the_first_of_equal_elements(operate):
    nan = np.nan
    x = np.array([[[nan, 1, nan, 3], [2, 2, 1, 0], [-np.inf] * 4]])
    largest, indices = operate("max_pool_with_indices", x, 4)
    np.testing.assert_array_equal(largest[0, :, 0], [nan, 2, -np.inf])
    assert indices.dtype == np.int64
    assert indices[0, :, 0].tolist() == [2, 0, 0]


def test_elements_are_put_at_their_indices(operate):
    x = np.array([[[5, 7], [1, 2]]], np.int32)[None]
    indices = np.array([[[3, 3], [-1, 0]]])[None]
    assert operate("max_unpool", x, indices, (2, 3)).tolist() == [[[[2, 0, 0], [12, 0, 0]]]]
    assert operate("max_unpool", x[..., :0], indices[..., :0], (2, 3)).tolist() == [[[[0] * 3] * 2]]
    assert operate("max_unpool", x[:0], indices[:0], (2, 3)).shape == (0, 1, 2, 3)


def test_views_and_out(rng):
    x = rng.integers(0, 4, (5, 3, 2, 4)).astype(np.float32).transpose(2, 1, 3, 0)[..., ::2]
    labels = np.arange(24).reshape(3, 8).T[::2]
    given = {"kernel": (2, 2), "strides": (2, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1)}
    out = np.full((2, 3, 2, 2), 99)
    assert ep.ops.max_pool_labels(x, labels, 2, (2, 1), out=out) is out
    np.testing.assert_array_equal(out, label_of(x, labels, **given))
    x = rng.integers(0, 4, (1, 1, 6))
    expected = label_of(x, x[0, 0], (2,), (1,), (1, 0), (1,))
    assert ep.ops.max_pool_labels(x, x[0, 0], 2, 1, (1, 0), out=x) is x  # it has the memory of both operands
    np.testing.assert_array_equal(x, expected)


def test_fused_with_what_is_around_it(rng):
    x = rng.normal(size=(2, 3, 9, 8)).astype(np.float32)

    @ep.fuse
    def layer(x):
        largest, indices = ep.ops.max_pool_with_indices(ep.ops.mul(x, 2.0), 3, 2, 1)
        return ep.ops.max_unpool(ep.ops.relu(largest), indices, (9, 8))

    largest, indices = ep.ops.max_pool_with_indices(2 * x, 3, 2, 1)
    for _ in range(3):
        np.testing.assert_array_equal(layer(x), ep.ops.max_unpool(np.maximum(largest, 0), indices, (9, 8)))


X = np.ones((2, 4, 9), np.float32)


@pytest.mark.parametrize(
    ("x", "labels", "error", "message"),
    [
        (X[0], np.arange(9), ValueError, r"x has shape \(4, 9\); it must have a batch axis"),
        (X, np.arange(8), ValueError, r"labels has shape \(8,\); it must be \(9,\), as planes of x are"),
        (
            X,
            np.arange(9, dtype=np.uint8),
            ep.UnsupportedPrimitiveError,
            "labels has dtype uint8; max_pool_labels takes int8",
        ),
        (X, np.arange(9.0), ep.UnsupportedPrimitiveError, "labels has dtype float64"),
        (X.astype(np.complex64), np.arange(9), ep.UnsupportedPrimitiveError, "x has dtype complex64"),
    ],
)
def test_wrong_arguments(x, labels, error, message):
    out = np.full((2, 4, 7), 7, np.int64)
    with pytest.raises(error, match=message):
        ep.ops.max_pool_labels(x, labels, 3, out=out)
    assert (out == 7).all()


def test_wrong_arguments_of_the_functions():
    with pytest.raises(ValueError, match=r"kernel\[0\] is 0"):
        ep.ops.max_pool_with_indices(X, 0)
    with pytest.raises(ep.UnsupportedPrimitiveError, match="x has dtype complex64; max_pool_with_indices takes bool"):
        ep.ops.max_pool_with_indices(X.astype(np.complex64), 3)
    with pytest.raises(ValueError, match=r"x has shape \(2, 4, 9\); it must have 4 axes, as sizes are \(3, 3\)"):
        ep.ops.max_unpool(X, np.zeros(X.shape, np.int64), (3, 3))
    with pytest.raises(ValueError, match=r"indices has shape \(2, 4, 8\); it must have that of x, \(2, 4, 9\)"):
        ep.ops.max_unpool(X, np.zeros((2, 4, 8), np.int64), 12)
    with pytest.raises(ValueError, match=r"sizes\[0\] is -1"):
        ep.ops.max_unpool(X, np.zeros(X.shape, np.int64), -1)
