"""conv_x_grad and conv_w_grad, compared with loops over windows in float64, in all kinds of groups and strides."""

import numpy as np
import pytest

import ep.ops
from ep.include.primitive import BroadcastMatmulFactory
from ep.testing.keys import needs_one_of
from tests.ops import window_references
from tests.ops.test_pool import TOLERANCE

pytestmark = needs_one_of(BroadcastMatmulFactory)


def gradients(dy, x, w, strides, pads, dilations, groups):
    """Return the gradients of x and of w."""
    of_x, of_w, (filters, channels) = np.zeros(x.shape), np.zeros(w.shape), w.shape[:2]
    x, w, dy = (one.astype(np.float64) for one in (x, w, dy))
    each = window_references.each_window(x.shape[2:], dy.shape[2:], w.shape[2:], strides, pads, dilations)
    for window, places in each:
        for place, at, is_there in places:
            for f in range(filters) if is_there else ():
                first = f // (filters // groups) * channels
                part = slice(first, first + channels)
                by = dy[(slice(None), f, *window)]
                of_x[(slice(None), part, *at)] += np.multiply.outer(by, w[(f, slice(None), *place)])
                of_w[(f, slice(None), *place)] += by @ x[(slice(None), part, *at)]
    return of_x, of_w


CASES = [
    # shape of x, of w, strides, pads, dilations, groups
    ((2, 6, 9, 8), (4, 3, 3, 2), (2, 1), (1, 0, 2, 1), (1, 2), 2),
    ((2, 3, 11), (5, 3, 4), (3,), (2, 3), (2,), 1),
    ((1, 4, 7, 10), (4, 1, 3, 5), (1, 1), (1, 2, 1, 2), (1, 1), 4),
    ((2, 3, 8, 9), (6, 1, 3, 3), (2, 3), (0, 1, 2, 0), (1, 1), 3),
    ((1, 2, 5, 6, 7), (2, 2, 2, 3, 1), (2, 3, 2), (0, 1, 0, 1, 1, 0), (1, 1, 2), 1),
    ((2, 3, 8, 8), (4, 3, 1, 1), (2, 2), (0, 0, 0, 0), (1, 1), 1),
    ((2, 2, 6, 9), (3, 2, 2, 3), (2, 3), (0, 0, 0, 0), (1, 1), 1),
    ((1, 2, 10), (2, 2, 3), (4,), (0, 0), (2,), 1),
    ((1, 2, 4), (2, 2, 3), (1,), (5, 4), (1,), 1),
    ((1, 3, 9), (3, 1, 2), (2,), (4, 0), (3,), 3),
    ((2, 2, 1), (3, 2, 3), (2,), (1, 1), (1,), 1),
    ((1, 2, 1, 6), (4, 1, 3, 3), (2, 2), (1, 1, 1, 1), (1, 2), 2),
    ((1, 2, 8), (2, 2, 2), (2,), (1, 1), (2,), 1),
    ((0, 2, 9), (3, 2, 3), (2,), (1, 1), (1,), 1),
    ((1, 2, 2), (3, 2, 3), (1,), (0, 0), (1,), 1),
]


@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda one: np.dtype(one).name)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_against_the_definition(operate, case, dtype, rng):
    of_x, of_w, strides, pads, dilations, groups = case
    counts = window_references.counts_of(of_x[2:], of_w[2:], strides, pads, dilations)
    shapes = (of_x[0], of_w[0], *counts), of_x, of_w
    dy, x, w = (rng.integers(-3, 4, shape).astype(dtype) for shape in shapes)
    given = {"strides": strides, "pads": pads, "dilations": dilations, "groups": groups}
    for name, other, shape, expected in zip(
        ("conv_x_grad", "conv_w_grad"), (w, x), (of_x, of_w), gradients(dy, x, w, **given), strict=True
    ):
        found = operate(name, dy, other, shape, **given)
        assert (found.dtype, found.shape) == (dtype, expected.shape)
        np.testing.assert_allclose(found.astype(np.float64), expected, rtol=TOLERANCE[dtype])


def test_a_result_in_the_memory_of_an_operand(rng):
    x, w = rng.normal(size=(1, 3, 8, 8)), rng.normal(size=(3, 1, 3, 3))
    for strides in (1, 2):
        dy = rng.normal(size=ep.ops.conv(x, w, None, strides, 1, 1, 3).shape)
        given = {"strides": strides, "pads": 1, "groups": 3}
        memory = np.zeros(x.size)
        inside = memory[: dy.size].reshape(dy.shape)
        inside[...] = dy
        expected = ep.ops.conv_x_grad(dy, w, x.shape, **given)
        found = ep.ops.conv_x_grad(inside, w, x.shape, **given, out=memory.reshape(x.shape))
        np.testing.assert_array_equal(found, expected)
