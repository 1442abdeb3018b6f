"""What a forward graph keeps for its backward graph: gradients are eager's."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")

from ep.torch.compiled_graph import CompiledGraph  # noqa: E402
from tests.torch.compared import check, check_same, compiled  # noqa: E402


def steps(x, w, count=9):
    """Return steps that each depend on the one before: each keeps several tensors of two shapes and two types."""
    total = x.sum()
    for _ in range(count):
        x = torch.tanh(x @ w) * torch.sigmoid(x)
        total = total + torch.exp(-x.double().square().mean(1)).sum()
    return x, total.to(x.dtype)


def test_many_small_tensors():
    check(steps, *(torch.randn(*shape, requires_grad=True) for shape in ((3, 5), (5, 5))))


def test_tensors_in_another_order_and_without_elements():
    def function(x, w):
        y = [torch.tanh(x.t() * k) for k in range(3)]
        z = [torch.exp(w[:0] * k) for k in range(3)]
        s = [torch.sin(x.sum() * k) for k in range(3)]
        return y[0] * y[1] * y[2], z[0] * z[1] * z[2], s[0] * s[1] * s[2]

    check(function, torch.randn(5, 3, requires_grad=True), torch.randn(7, requires_grad=True))


def test_results_of_the_function_are_kept_too():
    """A result that the backward graph reads has memory of its own. To change it is an error, as in eager."""

    def function(x):
        y, z = torch.tanh(x), torch.sigmoid(x)
        return y, z, (y * z).exp() * torch.tanh(z)

    x = torch.randn(3, 5, requires_grad=True)
    made = check(function, x)
    for one in (function, made):
        y, *_, last = one(x)
        with torch.no_grad():
            y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            last.sum().backward()


def test_gradients_may_be_taken_twice_from_what_is_kept():
    x, w = torch.randn(3, 5, requires_grad=True), torch.randn(5, 5, requires_grad=True)
    made = compiled(steps)
    for _ in range(3):
        found = []
        for one in (steps, made):
            _, total = one(x, w)
            found += [torch.autograd.grad(total, (x, w), retain_graph=again) for again in (True, False)]
        check_same(found[2:], found[:2])


def test_sizes_that_change_have_no_graphs_of_their_own(monkeypatch):
    graphs, make = [], CompiledGraph.__init__
    monkeypatch.setattr(
        CompiledGraph, "__init__", lambda self, *args, **given: graphs.append(1) or make(self, *args, **given)
    )
    w, made = torch.randn(5, 5, requires_grad=True), compiled(steps, dynamic=True)
    for rows in (3, 7, 2, 3):
        x = torch.randn(rows, 5, requires_grad=True)
        found = [torch.autograd.grad(one(x, w)[1], (x, w)) for one in (made, steps)]
        check_same(*found)
    assert len(graphs) == 2


def test_a_part_that_is_computed_again():
    def function(x, w):
        for _ in range(3):
            x = torch.utils.checkpoint.checkpoint(lambda one: steps(one, w, 2)[0], x, use_reentrant=False)
        return x

    check(function, torch.randn(3, 5, requires_grad=True), torch.randn(5, 5, requires_grad=True))


def test_random_numbers_and_operators_of_pytorch_between():
    def function(x):
        for k in range(4):
            x = torch.nn.functional.dropout(torch.tanh(x), 0.25) * torch.special.i0(x * 0.1 * k)
        return x

    check(function, torch.randn(7, 5, requires_grad=True))
