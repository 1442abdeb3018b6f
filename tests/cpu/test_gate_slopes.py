"""The gradients of gated activations in float32: near zeros of the slope, everywhere, and in maps of several ops."""

import numpy as np
import pytest

import ep
from ep import BinaryOp
from ep.cpu.kernels.ordinary import OPS_OF_ONE_FUNCTION
from ep.include.primitive.op_table import function_name
from ep.ops.declare.function import FUNCTIONS
from ep.testing.references.slopes import gradients
from ep.testing.ulps import errors_in_ulps

OPS = [op for op in OPS_OF_ONE_FUNCTION if isinstance(op, BinaryOp) and op is not BinaryOp.kPow]
ZEROS = {
    BinaryOp.kGeluBackwardWithDyX: -0.75179,
    BinaryOp.kFastGeluBackwardWithDyX: -0.75246,
    BinaryOp.kQuickGeluBackwardWithDyX: -0.75115,
    BinaryOp.kSiluBackwardWithDyX: -1.27846,
    BinaryOp.kMishBackwardWithDyX: -1.19243,
}
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 600.0, -600.0, 3e38, -3e38)
MOST_ULPS = 2.0
"""Of the result itself, although the terms of the formula cancel near its zero."""

by_op = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)


def _function(op):
    return FUNCTIONS[function_name(op)]


def _worst(op, x):
    """Return the largest error of the slope at numbers, in ulps of the slope, and where it is."""
    dy = np.ones(1, np.float32)
    want = gradients(op, dy, x, ())[0]
    errors = errors_in_ulps(_function(op)(np.ones_like(x), x), want, np.zeros(x.size))
    worst = int(np.argmax(errors))
    return errors[worst], x[worst]


@by_op
def test_near_the_zero_all_bits_are_right(op):
    rng = np.random.default_rng(3)
    zero = np.float32(ZEROS[op])
    near = [zero + np.float32(scale) * rng.standard_normal(100) for scale in (1e-6, 1e-4, 1e-2, 0.1)]
    x = np.concatenate([np.arange(-200, 200) * np.spacing(zero) + zero, *near]).astype(np.float32)
    error, place = _worst(op, x)
    assert error <= MOST_ULPS, place


@by_op
def test_ordinary_elements(op):
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.uniform(-4.9, 4.9, 1500), np.linspace(-4.9, 4.9, 500)]).astype(np.float32)
    error, place = _worst(op, x)
    assert error <= MOST_ULPS, place


@by_op
def test_beyond_the_limit(op):
    """Small slopes, also those whose product with dy is a normal number only because dy is large."""
    rng = np.random.default_rng(8)
    x = np.concatenate([rng.uniform(4.9, 30, 400), rng.uniform(9.9, 210, 400)]).astype(np.float32)
    x = np.concatenate([x, -x])
    for size in (1.0, 1e-30, 3e38):
        dy = np.array([size], np.float32)
        want = gradients(op, dy, x, ())[0]
        errors = errors_in_ulps(_function(op)(np.broadcast_to(dy, x.shape), x), want, np.zeros(x.size))
        worst = int(np.argmax(errors))
        assert errors[worst] <= (8 if abs(want[worst]) < size / 4 else MOST_ULPS), (size, x[worst])


@by_op
def test_maps_have_the_bits_of_their_ops(op):
    """A kernel of several ops checks the computed x for special elements, as the op's own kernel does."""
    rng, function = np.random.default_rng(7), _function(op)
    x = np.concatenate([rng.uniform(-4, 4, 1000), rng.uniform(-80, 80, 1000), SPECIAL]).astype(np.float32)
    y = rng.uniform(-0.5, 0.5, x.size).astype(np.float32)
    expected = ep.ops.mul(function(ep.ops.mul(y, y), ep.ops.add(x, y)), y)
    found = ep.fuse(lambda x, y: function(y * y, x + y) * y, round_each=True)(x, y)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("beta", "threshold"), [(1.0, 20.0), (-0.7, 3.0), (3e7, 1e9), (1.1e-30, 1e-3), (1.0, np.inf)])
def test_softplus(beta, threshold):
    rng, op = np.random.default_rng(9), BinaryOp.kSoftplusBackwardWithDyX
    z = np.concatenate([rng.uniform(-200, 30, 600), rng.uniform(-3, 3, 200), [0, threshold, -threshold]])
    with np.errstate(all="ignore"):
        x = (z / beta).astype(np.float32)
    x = x[np.isfinite(x)]
    attributes = tuple(float(np.float32(one)) for one in (beta, threshold))
    for size in (1.0, 1e-30, 3e38):
        dy = np.array([size], np.float32)
        want = gradients(op, dy, x, attributes)[0]
        errors = errors_in_ulps(_function(op)(np.broadcast_to(dy, x.shape), x, *attributes), want)
        worst = int(np.argmax(errors))
        assert errors[worst] <= 4, (size, x[worst])
