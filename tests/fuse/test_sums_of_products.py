"""The gradient of a matrix that several products use is a sum of products: of narrow ones, it is one product."""

import numpy as np
import pytest

import ep
from ep import ops

ROWS, WIDTH, OTHER, COUNT = 3, 53, 47, 6


def products(function, *args):
    return sum("matmul" in line for line in str(function.explain(*args)).splitlines())


TRANSPOSED = {
    "none": [(False, False)] * COUNT,
    "the first": [(True, False)] * COUNT,
    "both": [(True, True)] * COUNT,
    "some": [(k % 2 == 0, False) for k in range(COUNT)],
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("which", TRANSPOSED)
def test_a_gradient_is_one_product(dtype, which):
    rng, flags = np.random.default_rng(1), TRANSPOSED[which]
    w = rng.standard_normal((WIDTH, OTHER))
    xs = [rng.standard_normal((WIDTH, ROWS) if of_x else (ROWS, WIDTH)) for of_x, _ in flags]

    def loss(w, xs):
        total = ops.mul(ops.sum(ops.mul(w, w)), 0.5)
        for x, (of_x, of_w) in zip(xs, flags, strict=True):
            total = ops.add(total, ops.sum(ops.tanh(ops.matmul(x, ops.permute(w, (1, 0)) if of_w else w, of_x, of_w))))
        return total

    fused, wanted = ep.grad(loss), w.copy()
    for x, (of_x, _) in zip(xs, flags, strict=True):
        x = x.T if of_x else x
        wanted += x.T @ (1 - np.tanh(x @ w) ** 2)
    given = w.astype(dtype), [x.astype(dtype) for x in xs]
    np.testing.assert_allclose(fused(*given), wanted, rtol=1e-4 if dtype is np.float32 else 1e-10, atol=1e-4)
    assert products(fused, *given) == COUNT + 1


def test_steps_that_use_one_weight():
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((ROWS, WIDTH)), rng.standard_normal((WIDTH, WIDTH)) / 7

    def loss(w, x):
        for _ in range(COUNT):
            x = ops.tanh(ops.matmul(x, w))
        return ops.sum(x)

    fused, states = ep.value_and_grad(loss), [x]
    value, gradient = fused(w, x)
    for _ in range(COUNT):
        states.append(np.tanh(states[-1] @ w))
    np.testing.assert_allclose(value, states[-1].sum())
    wanted, dy = np.zeros_like(w), np.ones_like(x)
    for before, after in zip(states[-2::-1], states[:0:-1], strict=True):
        dy = dy * (1 - after * after)
        wanted += before.T @ dy
        dy = dy @ w.T
    np.testing.assert_allclose(gradient, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("rows", "width"), [(31, 5), (0, 5), (3, 0)])
def test_gradients_of_wide_products_and_of_none(rows, width):
    rng = np.random.default_rng(2)
    w, xs = rng.standard_normal((width, 7)), [rng.standard_normal((rows, width)) for _ in range(COUNT)]

    def loss(w, xs):
        total = ops.sum(ops.mul(w, 0))
        for x in xs:
            total = ops.add(total, ops.sum(ops.matmul(x, w)))
        return total

    wanted = sum(x.T @ np.ones((rows, 7)) for x in xs)
    np.testing.assert_allclose(ep.grad(loss)(w, xs), wanted, rtol=1e-9, atol=1e-12)


def test_sums_of_the_function_stay():
    """Their bits are those of the operators, one by one."""
    rng = np.random.default_rng(4)
    pairs = [[rng.standard_normal((WIDTH, ROWS)), rng.standard_normal((ROWS, OTHER))] for _ in range(COUNT)]

    def total(pairs):
        found = ops.matmul(*pairs[0])
        for pair in pairs[1:]:
            found = ops.add(found, ops.matmul(*pair))
        return found

    np.testing.assert_array_equal(ep.fuse(total)(pairs), total(pairs))
