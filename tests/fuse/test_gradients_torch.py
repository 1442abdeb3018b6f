"""The gradients of expressions, compared with PyTorch's autograd if PyTorch is installed."""

import numpy as np
import pytest

import ep
from tests.fuse.expressions import EXPRESSIONS, losses


@pytest.fixture(scope="module")
def operators():
    """PyTorch's functions with the names and parameters of `ep.ops`."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; the extra `bench` has it")

    class Operators:
        gelu, silu = staticmethod(torch.nn.functional.gelu), staticmethod(torch.nn.functional.silu)

        def __getattr__(self, name):
            return getattr(torch, name)

        def sum(self, x, axis, keepdims=False):
            return torch.sum(x, axis, keepdim=keepdims)

        def mean(self, x, axis, keepdims=False):
            return torch.mean(x, axis, keepdim=keepdims)

        def gather(self, x, indices, axis, batch_dims):
            return torch.gather(x, axis, indices)

        def cast(self, x, dtype):
            return x.to(getattr(torch, dtype))

    return Operators()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression, operators, rng):
    loss_of, weights, arrays = losses(ep.ops, expression, rng)
    by = [k for k, one in enumerate(arrays) if one.dtype.kind == "f"]
    loss, found = ep.value_and_grad(loss_of, by=[k + 1 for k in by])(weights, *arrays)
    there = [operators.tensor(one, requires_grad=k in by) for k, one in enumerate(arrays)]
    expected = EXPRESSIONS[expression].function(operators, *there)
    results = expected if isinstance(expected, tuple) else (expected,)
    total = sum((one * operators.tensor(by)).sum() for one, by in zip(results, weights, strict=True))
    total.backward()
    assert float(loss) == pytest.approx(total.item(), rel=1e-12)
    for k, gradient in zip(by, found, strict=True):
        assert np.allclose(gradient, there[k].grad.numpy(), rtol=1e-9, atol=1e-11)
