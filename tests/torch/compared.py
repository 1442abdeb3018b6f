"""Compiled functions beside PyTorch's own: results, strides, gradients."""

import torch
from torch.utils._pytree import tree_leaves

TOLERANCES = {torch.float64: 1e-12, torch.float32: 2e-5, torch.float16: 5e-3, torch.bfloat16: 3e-2}
_CALLS = 3  # the first plans, the second records, the third repeats


def compiled(function, *, dynamic=False, **options):
    """Return a function of torch.compile on ep, without what earlier tests have compiled."""
    torch._dynamo.reset()
    return torch.compile(function, backend="ep", dynamic=dynamic, options=options)


def check_same(results, expected):
    """Compare tensors, or structures of them, with those of PyTorch: values, types, strides."""
    pairs = [*zip(tree_leaves(results), tree_leaves(expected), strict=True)]
    for result, wanted in pairs:
        if not isinstance(wanted, torch.Tensor):
            assert result == wanted
            continue
        tolerance = TOLERANCES.get(wanted.dtype, 0)
        torch.testing.assert_close(result, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
        strides = [
            [stride for size, stride in zip(one.shape, one.stride(), strict=True) if size != 1]  # of one, none is used
            for one in (result, wanted)
        ]
        assert strides[0] == strides[1], f"strides {result.stride()}, not {wanted.stride()}"
        assert result.requires_grad == wanted.requires_grad


def check(function, *args, seed=1, **options):
    """Compare a function with its compiled form: several calls, and gradients by all that require them."""
    made = compiled(function, **options)
    inputs = [one for one in tree_leaves(args) if isinstance(one, torch.Tensor) and one.requires_grad]
    inputs += getattr(function, "parameters", list)()
    for _ in range(_CALLS):
        torch.manual_seed(seed)
        expected = function(*args)
        torch.manual_seed(seed)
        results = made(*args)
        check_same(results, expected)
        floats = [
            (result, wanted)
            for result, wanted in zip(tree_leaves(results), tree_leaves(expected), strict=True)
            if isinstance(wanted, torch.Tensor) and wanted.requires_grad
        ]
        if floats and inputs:
            dys = [torch.randn_like(wanted) for _, wanted in floats]
            found, right = (
                torch.autograd.grad([pair[k] for pair in floats], inputs, dys, allow_unused=True) for k in (0, 1)
            )
            check_same(found, right)
    return made
