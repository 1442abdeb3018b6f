"""The gradients of every operator that has one, compared with PyTorch's autograd if PyTorch is installed.

Each trial draws new shapes, axes, broadcasting and indices; some axes have no elements.
"""

import numpy as np
import pytest

import ep.ops
from ep import BinaryOp, UnaryOp
from ep.include.primitive.op_table import OPS, function_name
from ep.ops.gradients import vjp
from tests.ops import window_references
from tests.ops.gradient_cases import RULES, drawn, of_binary

TRIALS = 6


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed; the extra `bench` has it")


def same(name):
    return lambda torch, *inputs: getattr(torch, name)(*inputs)


def functional(name):
    return lambda torch, *inputs, **attributes: getattr(torch.nn.functional, name)(*inputs, **attributes)


UNARY = {
    **{
        name: same(name)
        for name in (
            *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "digamma", "erf"),
            *("erfc", "exp", "exp2", "expm1", "floor", "lgamma", "log", "log10", "log1p", "log2", "negative"),
            *("reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh"),
            "trunc",
        )
    },
    **{
        name: functional(theirs)
        for name, theirs in {
            **{
                "celu": "celu",
                "elu": "elu",
                "gelu": "gelu",
                "hard_shrink": "hardshrink",
                "hard_sigmoid": "hardsigmoid",
            },
            **{"hard_swish": "hardswish", "leaky_relu": "leaky_relu", "log_sigmoid": "logsigmoid", "mish": "mish"},
            **{"relu": "relu", "selu": "selu", "silu": "silu", "soft_sign": "softsign"},
        }.items()
    },
    "fast_gelu": lambda torch, x: torch.nn.functional.gelu(x, approximate="tanh"),
    "quick_gelu": lambda torch, x: x * torch.sigmoid(1.702 * x),
    "hard_tanh": lambda torch, x, min=-1.0, max=1.0: torch.nn.functional.hardtanh(x, min, max),
    "identity": lambda torch, x: x.clone(),
    "nan_assign": lambda torch, x: torch.nan_to_num(x, nan=0.0),
    "not_equal_zero": lambda torch, x: (x != 0) + 0 * x,
    "reciprocal_no_nan": lambda torch, x: torch.where(x == 0, 0 * x, 1 / x),
    "rint": lambda torch, x: torch.round(x),
    "soft_plus": lambda torch, x, **options: torch.nn.functional.softplus(x, **options),
    "soft_shrink": lambda torch, x, alpha=0.5: torch.nn.functional.softshrink(x, alpha),
    "square_relu": lambda torch, x: torch.relu(x) ** 2,
    "threshold": lambda torch, x, threshold, value: torch.nn.functional.threshold(x, threshold, value),
    "trigamma": lambda torch, x: torch.polygamma(1, x),
}
COMPLEX = {
    "conj": same("conj"),
    "real": same("real"),
    "imag": same("imag"),
    "real_grad": lambda torch, x: torch.complex(x, 0 * x),
    "imag_grad": lambda torch, x: torch.complex(0 * x, x),
}
BINARY = {
    **{name: same(name) for name in ("add", "sub", "mul", "div", "maximum", "minimum", "pow", "fmod")},
    "floor_mod": same("remainder"),
    "floor_div": lambda torch, x, y: torch.div(x, y, rounding_mode="floor"),
    "trunc_div": lambda torch, x, y: torch.div(x, y, rounding_mode="trunc"),
}


def resample(torch, x, places, weights, axis):
    result = torch.zeros((*x.shape[:axis], places.shape[1], *x.shape[axis + 1 :]), dtype=x.dtype)
    for at, weight in zip(places, weights, strict=True):
        column = weight.reshape(-1, *(1,) * (x.ndim - axis - 1))
        result = result + (gather(torch, x, at, axis, mode="zero") * column if x.shape[axis] else 0 * column)
    return result


def gather(torch, params, indices, axis, batch_dims=0, mode="raise"):
    if batch_dims:
        pairs = [
            gather(torch, one, which, axis - 1, batch_dims - 1, mode)
            for one, which in zip(params, indices, strict=True)
        ]
        return torch.stack(pairs)
    size = params.shape[axis]
    inside = (indices >= 0) & (indices < size)
    indices = indices % size if mode == "wrap_negative" else indices.clamp(0, max(size - 1, 0))
    taken = params.index_select(axis, indices.flatten())
    taken = taken.reshape((*params.shape[:axis], *indices.shape, *params.shape[axis + 1 :]))
    if mode != "zero":
        return taken
    return taken * inside.reshape((*indices.shape, *(1,) * (params.ndim - axis - 1)))


def pad(torch, x, pad_width, constant_values=0):
    widths = [width for pair in reversed(pad_width) for width in pair]
    return torch.nn.functional.pad(x, widths, value=constant_values)


def concat(torch, *arrays, axis=0):
    return torch.cat([one.flatten() for one in arrays] if axis is None else arrays, axis or 0)


def matmul(torch, x1, x2, transpose_x1=False, transpose_x2=False):
    return torch.matmul(x1.mT if transpose_x1 else x1, x2.mT if transpose_x2 else x2)


def conv(torch, x, w, strides, pads, dilations, groups):
    num_axes = x.ndim - 2
    widths = [width for axis in reversed(range(num_axes)) for width in pads[axis::num_axes]]
    function = (torch.conv1d, torch.conv2d, torch.conv3d)[num_axes - 1]
    x = torch.nn.functional.pad(x, widths)
    spans = [far * (places - 1) + 1 for far, places in zip(dilations, w.shape[2:], strict=True)]
    counts = [(size - one) // step + 1 for size, one, step in zip(x.shape[2:], spans, strides, strict=True)]
    if min(*counts, *x.shape[:2], w.shape[0]) < 1:  # PyTorch refuses some of them
        zeros = torch.zeros((x.shape[0], w.shape[0], *(max(0, one) for one in counts)), dtype=x.dtype)
        return zeros * (x.sum() + w.sum())
    return function(x, w, None, strides, 0, dilations, groups)


def _windows(torch, x, kernel, strides, pads, dilations, counts, value=0):
    """Return windows with the axes places, planes, windows: slices of x, padded as far as any window reaches."""
    num_axes = x.ndim - 2
    far = [
        most * (places - 1) + step * count
        for most, places, step, count in zip(dilations, kernel, strides, counts, strict=True)
    ]
    widths = [
        width
        for axis in reversed(range(num_axes))
        for width in (pads[axis], max(0, far[axis] - x.shape[axis + 2] - pads[axis]))
    ]
    x, found = torch.nn.functional.pad(x, widths, value=value), []
    for place in np.ndindex(*kernel):
        each = zip(place, dilations, strides, counts, strict=True)
        cut = [slice(at * step, at * step + stride * count, stride) for at, step, stride, count in each]
        found.append(x[(slice(None), slice(None), *cut)])
    return torch.stack(found)


def pool(name):
    def function(torch, x, kernel, strides, pads, dilations, ceil_mode, count_include_pad=False):
        given = kernel, strides, pads, dilations
        counts = window_references.counts_of(x.shape[2:], *given, ceil_mode)
        if name == "max_pool":
            return _windows(torch, x, *given, counts, -np.inf).amax(0)
        ones = torch.ones((1, 1, *x.shape[2:]), dtype=x.dtype)
        if count_include_pad:
            num_axes = x.ndim - 2
            ones = torch.nn.functional.pad(
                ones, [width for axis in reversed(range(num_axes)) for width in pads[axis::num_axes]], value=1
            )
        around = (0,) * len(pads) if count_include_pad else pads
        counted = _windows(torch, ones, kernel, strides, around, dilations, counts).sum(0)
        return _windows(torch, x, *given, counts).sum(0) / counted

    return function


def average_pool_grad(torch, dy, shape, **given):
    """Return the gradient of average_pool; autograd differentiates it, too."""
    zeros = torch.zeros(shape, dtype=dy.dtype, requires_grad=True)
    return torch.autograd.grad(pool("average_pool")(torch, zeros, **given), zeros, dy, create_graph=True)[0]


def unfold(torch, x, kernel, strides, pads, dilations):
    counts = window_references.counts_of(x.shape[2:], kernel, strides, pads, dilations)
    written = _windows(torch, x, kernel, strides, pads, dilations, counts)
    num_axes = x.ndim - 2
    return written.movedim(0, 2).reshape(*x.shape[:2], *kernel, *counts) if num_axes else written


def fold(torch, x, sizes, strides, pads, dilations):
    """Return fold as the gradient of unfold; autograd differentiates it, too."""
    kernel, zeros = x.shape[2 : 2 + len(sizes)], torch.zeros((*x.shape[:2], *sizes), dtype=x.dtype, requires_grad=True)
    written = unfold(torch, zeros, kernel, strides, pads, dilations)
    return torch.autograd.grad(written, zeros, x, create_graph=True)[0]


def reduce(name):
    def function(torch, x, axis=None, keepdims=False):
        axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        if name == "prod":
            for one in sorted((one % x.ndim for one in axes), reverse=True):
                x = x.prod(one, keepdim=keepdims)
            return x
        return getattr(torch, name)(x, axes, keepdim=keepdims) if axes else x.clone()

    return function


def scatter_rows(torch, x, indices, updates, axis, batch_dims, reduction, mode):
    indices = indices.clamp(0, x.shape[axis] - 1) if mode == "clip" else indices % x.shape[axis]
    batch = indices.shape[:batch_dims]
    count = indices[(0,) * batch_dims].numel() if 0 not in batch else indices.numel()
    rows = updates.reshape(*x.shape[:axis], count, *x.shape[axis + 1 :])
    indices = indices.reshape(*batch, *[1] * (axis - batch_dims), count, *[1] * (x.ndim - axis - 1)).expand(rows.shape)
    if reduction == "none":
        return x.scatter(axis, indices, rows)
    way = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return x.scatter_reduce(axis, indices, rows, way)


def gather_grad(torch, dy, indices, shape, **given):
    """Return the gradient of gather; autograd differentiates it, too."""
    zeros = torch.zeros(shape, dtype=dy.dtype, requires_grad=True)
    return torch.autograd.grad(gather(torch, zeros, indices, **given), zeros, dy, create_graph=True)[0]


def segment_sum(torch, data, ids, num_segments, axis):
    places = torch.nonzero((ids >= 0) & (ids < num_segments)).flatten()
    shape = [*data.shape[:axis], num_segments, *data.shape[axis + 1 :]]
    zeros = torch.zeros(shape, dtype=data.dtype)
    return zeros.index_add(axis, ids[places], data.index_select(axis, places))


def scan(name, initial):
    def function(torch, x, axis, include_initial, reverse):
        x = x.flip(axis) if reverse else x
        found = getattr(torch, name)(x, axis)
        if include_initial:
            first = torch.full_like(x.sum(axis, keepdim=True), initial)
            found = torch.cat([first, found], axis)
        return found.flip(axis) if reverse else found

    return function


OTHERS = {
    "cumulative_sum": scan("cumsum", 0),
    "cumulative_prod": scan("cumprod", 1),
    "gather": gather,
    "scatter_rows": scatter_rows,
    "gather_grad": gather_grad,
    "resample": resample,
    "segment_sum": segment_sum,
    "where": lambda torch, condition, x, y: torch.where(condition, x, y),
    "expand": lambda torch, x, sizes: x.expand(sizes),
    "repeat": lambda torch, x, sizes: x.repeat(sizes),
    "permute": lambda torch, x, axes: x.permute(axes),
    "pad": pad,
    "slice": lambda torch, x, slices: x[slices],
    "split": lambda torch, x, indices_or_sections, axis: torch.tensor_split(x, indices_or_sections, axis),
    "concat": concat,
    "stack": lambda torch, *arrays, axis: torch.stack(arrays, axis),
    "matmul": matmul,
    "conv": conv,
    "unfold": unfold,
    "fold": fold,
    "max_pool": pool("max_pool"),
    "average_pool": pool("average_pool"),
    "average_pool_grad": average_pool_grad,
    "cast": lambda torch, x, dtype: x.to(getattr(torch, dtype)),
    "sum": reduce("sum"),
    "mean": reduce("mean"),
    "prod": reduce("prod"),
    "max": reduce("amax"),
    "min": reduce("amin"),
    "softmax": lambda torch, x, axis: torch.softmax(x, axis),
    "log_softmax": lambda torch, x, axis: torch.log_softmax(x, axis),
}

OF_FLOAT32 = ("celu", "hard_sigmoid", "fast_gelu")
"""PyTorch computes these gradients in float64 with constants that were rounded to float32."""

THEIRS = {**UNARY, **COMPLEX, **BINARY, **OTHERS}


def test_every_operator_with_a_gradient_is_compared():
    """Gradients that are ops are compared with differences and with mpmath, where PyTorch may lack the function."""
    by_ops = {function_name(op) for op in UnaryOp if any(isinstance(one, BinaryOp) for one in OPS[op].gradient)}
    assert set(RULES) - by_ops <= set(THEIRS) <= set(RULES)


@pytest.mark.parametrize("name", THEIRS)
def test_gradients_beside_autograd(name, torch, rng):
    for _ in range(TRIALS):
        inputs, attributes = drawn(name, rng)
        there = [torch.tensor(one, requires_grad=one.dtype.kind in "fc") for one in inputs]
        result = THEIRS[name](torch, *there, **attributes)
        results = result if isinstance(result, tuple) else (result,)
        dys = [_like(one, rng) for one in results]
        if any(one.requires_grad for one in results):
            torch.autograd.backward(results, [torch.tensor(dy) for dy in dys])
        found = vjp(name, inputs, attributes, None, dys if isinstance(result, tuple) else dys[0])
        for x, one, other in zip(inputs, found, there, strict=True):
            if x.dtype.kind not in "fc":
                assert one is None
                continue
            expected = np.zeros_like(x) if other.grad is None else other.grad.resolve_conj().numpy()
            assert (one.shape, one.dtype) == (x.shape, x.dtype)
            rtol, atol = (1e-7, 1e-7) if name in OF_FLOAT32 else (1e-9, 1e-11)
            assert np.allclose(one, expected, rtol=rtol, atol=atol), (attributes, x.shape)


def _like(result, rng):
    values = rng.normal(size=tuple(result.shape))
    return values + 1j * rng.normal(size=values.shape) if result.is_complex() else values


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_complex_operands_beside_autograd(name, torch, rng):
    for _ in range(TRIALS):
        inputs, _ = of_binary(name, rng)
        inputs = [one + 1j * rng.normal(size=one.shape) for one in inputs]
        there = [torch.tensor(one, requires_grad=True) for one in inputs]
        result = BINARY[name](torch, *there)
        dy = _like(result, rng)
        result.backward(torch.tensor(dy))
        for one, other in zip(vjp(name, inputs, {}, None, dy), there, strict=True):
            assert np.allclose(one, other.grad.resolve_conj().numpy(), rtol=1e-9, atol=1e-11)


def test_gather_grad_beside_an_embedding(torch, rng):
    table, tokens = rng.normal(size=(9, 5)), rng.integers(0, 9, (4, 3))
    there = torch.tensor(table, requires_grad=True)
    result = torch.nn.functional.embedding(torch.tensor(tokens), there)
    dy = rng.normal(size=result.shape)
    result.backward(torch.tensor(dy))
    assert np.allclose(ep.ops.gather_grad(dy, tokens, table.shape), there.grad.numpy())
