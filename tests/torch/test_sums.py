"""Sums of products of narrow matrices, such as the gradients of weights that are used several times."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")

from ep.torch import explain  # noqa: E402
from tests.torch.compared import check  # noqa: E402

ROWS, WIDTH, STEPS = 3, 53, 6


def cell(x, w, more=None):
    """Return what some steps give, which all use one weight. more: what else the weight is used for."""
    for k in range(STEPS):
        x = torch.sin(x @ w) if k % 2 == 0 or more is None else torch.sin(more(x, w))
    return x


def given(*shapes, dtype=torch.float32):
    torch.manual_seed(1)
    return [(torch.randn(shape, dtype=dtype) / shape[-1] ** 0.5).requires_grad_() for shape in shapes]


def test_a_weight_with_other_uses():
    x, w = given((ROWS, WIDTH), (WIDTH, WIDTH))
    check(lambda x, w: cell(x, w, lambda x, w: x * w.sum(0)) + (w * w)[:ROWS], x, w)
    check(lambda x, w: cell(x, w, lambda x, w: x @ w.t()), x, w)
    check(lambda x, w: (cell(x, w), cell(x * 2, w)), x, w)


def test_sizes_that_change():
    x, w = given((ROWS, WIDTH), (WIDTH, WIDTH))
    made = check(cell, x, w, dynamic=True)
    for rows in (5, 1, 40):
        x = torch.randn(rows, WIDTH)
        found, wanted = (torch.autograd.grad(one(x, w).sum(), w) for one in (made, cell))
        torch.testing.assert_close(found, wanted, rtol=2e-5, atol=2e-5)


def test_a_gradient_is_one_product():
    x, w = given((ROWS, WIDTH), (WIDTH, WIDTH))
    backward = explain(cell, x, w).split("graph 2:")[1]
    lines = [line for line in backward.splitlines() if "matmul" in line]
    assert len(lines) == STEPS + 1  # one for each gradient of x, and one for that of w
