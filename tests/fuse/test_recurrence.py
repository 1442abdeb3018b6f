"""Steps that are computed one after another, compared with a loop in float64."""

import numpy as np
import pytest

import ep
from ep import ops
from ep.expressions.recurrence import Recurrence
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed


def leaky(parts, states, others):
    """Return a state as one of the results, one that is none, and a result that is no state."""
    (x, y), (a, b), (w,) = parts, states, others
    a, b = ops.tanh(ops.add(ops.matmul(a, w), x)), ops.sub(ops.mul(b, 0.5), y)
    return [ops.add(a, b), a], [a, b]


def products(parts, states, others):
    """Return a product as the result and a state, and one as a state: no kernel of Expression computes them."""
    a = ops.matmul(ops.add(states[0], parts[0]), others[0])
    return [a], [a, ops.matmul(a, others[0])]


def reference(x, y, a, b, w, order):
    results = [np.zeros_like(x), np.zeros_like(x)]
    for t in order:
        a, b = np.tanh(a @ w + x[t]), 0.5 * b - y[t]
        results[0][t], results[1][t] = a + b, a
    return [*results, a, b]


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("backwards", [False, True])
def test_steps_one_after_another(device, rng, steps, backwards):
    given = [rng.standard_normal(shape, np.float32) for shape in [(steps, 3, 7)] * 2 + [(3, 7)] * 2 + [(7, 7)]]
    recurrence = Recurrence(leaky)

    def walked(x, y, a, b, w):
        results, states = recurrence([x, y], [a, b], [w], backwards=backwards)
        return *results, *states

    expected = reference(*(one.astype(np.float64) for one in given), range(steps)[:: -1 if backwards else 1])
    arrays = [placed(device, one) for one in given]
    found = [host(one) for one in walked(*arrays)]
    for one, wanted in zip(found, expected, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, wanted, rtol=1e-5, atol=1e-5)
    fused = ep.fuse(walked)
    assert f"operator of {'1 step' if steps == 1 else f'{steps} steps'};" in fused.explain(*arrays)
    for one, wanted in zip(fused(*arrays), found, strict=True):
        np.testing.assert_array_equal(host(one), wanted)
    for one, wanted in zip(arrays, given, strict=True):
        np.testing.assert_array_equal(host(one), wanted)


@pytest.mark.parametrize("backwards", [False, True])
def test_results_of_other_kernels_than_expressions(device, rng, backwards):
    x, a, w = (rng.standard_normal(shape, np.float32) for shape in [(4, 3, 5), (3, 5), (5, 5)])

    of_x, of_a, of_w = (placed(device, one) for one in (x, a, w))
    (found,), states = Recurrence(products)([of_x], [of_a, of_a], [of_w], backwards=backwards)
    expected, now = np.zeros((4, 3, 5)), a.astype(np.float64)
    for t in range(4)[:: -1 if backwards else 1]:
        now = expected[t] = (now + x[t]) @ w
    for one, wanted in [(found, expected), (states[0], now), (states[1], now @ w)]:
        np.testing.assert_allclose(host(one), wanted, rtol=1e-4, atol=1e-4)


def test_recurrences_over_the_same_arrays_are_apart(rng):
    """Two functions, and two directions, are two operators of a trace."""
    x, a = rng.standard_normal((3, 4), np.float32), rng.standard_normal(4, np.float32)
    recurrences = [
        Recurrence(
            lambda parts, states, others, factor=factor: ([one := ops.add(ops.mul(states[0], factor), parts[0])], [one])
        )
        for factor in (2.0, 3.0)
    ]

    @ep.fuse
    def all_of_them(x, a):
        return [recurrence([x], [a], [], backwards=back)[1][0] for recurrence in recurrences for back in (False, True)]

    for found, (factor, order) in zip(
        all_of_them(x, a), [(f, o) for f in (2, 3) for o in ((0, 1, 2), (2, 1, 0))], strict=True
    ):
        now = a
        for t in order:
            now = factor * now + x[t]
        np.testing.assert_allclose(found, now, rtol=1e-5)
