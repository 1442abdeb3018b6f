"""The gradients of every operator that has one, beside PyTorch's autograd, where PyTorch is installed.

Shapes, axes, what broadcasts and what indices name are drawn anew for each trial; axes of no elements are among them.
"""

import numpy as np
import pytest

import ep.ops
from ep.ops.gradients.vjp import RULES, vjp

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
    taken = taken.reshape(*params.shape[:axis], *indices.shape, *params.shape[axis + 1 :])
    if mode != "zero":
        return taken
    return taken * inside.reshape(*indices.shape, *(1,) * (params.ndim - axis - 1))


def pad(torch, x, pad_width, constant_values=0):
    widths = [width for pair in reversed(pad_width) for width in pair]
    return torch.nn.functional.pad(x, widths, value=constant_values)


def concat(torch, *arrays, axis=0):
    return torch.cat([one.flatten() for one in arrays] if axis is None else arrays, axis or 0)


def matmul(torch, x1, x2, transpose_x1=False, transpose_x2=False):
    return torch.matmul(x1.mT if transpose_x1 else x1, x2.mT if transpose_x2 else x2)


def reduce(name):
    def function(torch, x, axis=None, keepdims=False):
        axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        if name == "prod":
            for one in sorted((one % x.ndim for one in axes), reverse=True):
                x = x.prod(one, keepdim=keepdims)
            return x
        return getattr(torch, name)(x, axes, keepdim=keepdims) if axes else x.clone()

    return function


def segment_sum(torch, data, ids, num_segments, axis):
    places = torch.nonzero((ids >= 0) & (ids < num_segments)).flatten()
    shape = [*data.shape[:axis], num_segments, *data.shape[axis + 1 :]]
    zeros = torch.zeros(shape, dtype=data.dtype)
    return zeros.index_add(axis, ids[places], data.index_select(axis, places))


OTHERS = {
    "gather": gather,
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
    "cast": lambda torch, x, dtype: x.to(getattr(torch, dtype)),
    "sum": reduce("sum"),
    "mean": reduce("mean"),
    "prod": reduce("prod"),
    "max": reduce("amax"),
    "min": reduce("amin"),
    "softmax": lambda torch, x, axis: torch.softmax(x, axis),
    "log_softmax": lambda torch, x, axis: torch.log_softmax(x, axis),
}

DOMAINS = {
    "acosh": (1.2, 3),
    **dict.fromkeys(["acos", "asin", "atanh"], (-0.8, 0.8)),
    **dict.fromkeys(["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "lgamma", "digamma", "trigamma"], (0.3, 3)),
    **dict.fromkeys(["reciprocal", "reciprocal_no_nan", "tan"], (0.4, 1.2)),
}


def a_shape(rng, least=0, most=4, sizes=5):
    """Some axes; now and then one of no elements."""
    shape = rng.integers(1, sizes + 1, rng.integers(least, most + 1))
    if shape.size and rng.random() < 0.15:
        shape[rng.integers(shape.size)] = 0
    return tuple(map(int, shape))


def broadcasting(rng, shape):
    """What broadcasts to a shape."""
    kept = shape[rng.integers(len(shape) + 1) :]
    return tuple(1 if rng.random() < 0.3 else size for size in kept)


def an_axis(rng, num_dims):
    return int(rng.integers(-num_dims, num_dims))


def of_unary(name, rng):
    attributes = {
        "threshold": {"threshold": 0.3, "value": -1.5},
        "hard_tanh": {"min": -0.7, "max": 1.3},
        "soft_plus": {"beta": 1.5, "threshold": 2.0},
        "elu": {"alpha": 0.7},
        "celu": {"alpha": 0.7},
    }
    return [rng.uniform(*DOMAINS.get(name, (-2.3, 2.3)), a_shape(rng))], attributes.get(name, {})


def of_complex(name, rng):
    shape = a_shape(rng)
    real = rng.normal(size=shape)
    return [real if name.endswith("_grad") else real + 1j * rng.normal(size=shape)], {}


def of_binary(name, rng):
    shape = a_shape(rng)
    shapes = [shape, broadcasting(rng, shape)]
    x, y = (rng.uniform(0.5, 3, one) for one in (shapes if rng.random() < 0.5 else shapes[::-1]))
    if name in ("maximum", "minimum"):
        x, y = np.round(x), np.round(y)  # some are equal
    return [x, y], {}


def of_gather(rng):
    shape = a_shape(rng, least=1)
    axis = int(rng.integers(len(shape)))
    shape = (*shape[:axis], shape[axis] or 3, *shape[axis + 1 :])
    batch_dims = int(rng.integers(axis + 1)) if 0 not in shape else 0
    mode = str(rng.choice(["raise", "zero", "clip", "wrap_negative"]))
    size = shape[axis]
    among = {"raise": (0, size), "wrap_negative": (-size, size)}.get(mode, (-2, size + 2))
    indices = rng.integers(*among, (*shape[:batch_dims], *a_shape(rng, most=2)))
    return [rng.normal(size=shape), indices], {"axis": axis, "batch_dims": batch_dims, "mode": mode}


def of_segment_sum(rng):
    shape = a_shape(rng, least=1)
    axis = int(rng.integers(len(shape)))
    return [rng.normal(size=shape), rng.integers(-2, 5, shape[axis])], {"num_segments": 3, "axis": axis}


def of_where(rng):
    shape = a_shape(rng)
    shapes = [broadcasting(rng, shape) for _ in range(3)]
    return [rng.random(shapes[0]) < 0.5, *(rng.normal(size=one) for one in shapes[1:])], {}


def of_expand(rng):
    sizes = a_shape(rng)
    return [rng.normal(size=broadcasting(rng, sizes))], {"sizes": sizes}


def of_repeat(rng):
    shape = a_shape(rng, most=3)
    return [rng.normal(size=shape)], {"sizes": (*a_shape(rng, most=1), *map(int, rng.integers(0, 4, len(shape))))}


def of_permute(rng):
    shape = a_shape(rng)
    return [rng.normal(size=shape)], {"axes": tuple(map(int, rng.permutation(len(shape))))}


def of_pad(rng):
    shape = a_shape(rng, least=1, sizes=7)
    return [rng.normal(size=shape)], {
        "pad_width": tuple((int(rng.integers(-(size // 2), 3)), int(rng.integers(-(size // 3), 3))) for size in shape)
    }


def of_slice(rng):
    shape = a_shape(rng, sizes=9)
    ends = [sorted(map(int, rng.integers(0, size + 1, 2))) for size in shape]
    return [rng.normal(size=shape)], {"slices": tuple(slice(*pair, int(rng.integers(1, 4))) for pair in ends)}


def of_split(rng):
    shape = a_shape(rng, least=1, sizes=9)
    axis = int(rng.integers(len(shape)))
    ends = sorted(map(int, rng.integers(0, shape[axis] + 1, rng.integers(1, 4))))
    return [rng.normal(size=shape)], {"indices_or_sections": ends, "axis": axis}


def of_concat(rng):
    shape = a_shape(rng, least=1)
    axis = None if rng.random() < 0.3 else an_axis(rng, len(shape))
    sizes = rng.integers(0, 5, rng.integers(1, 4))
    shapes = [(*shape[: axis or 0], int(size), *shape[axis or 0 :][1:]) for size in sizes]
    return [rng.normal(size=one) for one in shapes], {"axis": axis}


def of_stack(rng):
    shape = a_shape(rng)
    return [rng.normal(size=shape) for _ in range(rng.integers(1, 4))], {"axis": an_axis(rng, len(shape) + 1)}


def of_matmul(rng):
    batch = a_shape(rng, most=2)
    m, n, k = map(int, rng.integers(0, 6, 3))
    transposes = [bool(rng.integers(2)) for _ in range(2)]
    a, b = ((k, m) if transposes[0] else (m, k)), ((n, k) if transposes[1] else (k, n))
    shapes = [(*broadcasting(rng, batch), *a), (*broadcasting(rng, batch), *b)]
    if rng.random() < 0.3:
        shapes[0], transposes[0] = (k,), False
    if rng.random() < 0.3:
        shapes[1], transposes[1] = (k,), False
    names = ("transpose_x1", "transpose_x2")
    return [rng.normal(size=one) for one in shapes], dict(zip(names, transposes, strict=True))


def of_cast(rng):
    dtype = str(rng.choice(["float64", "complex128"]))
    return [rng.normal(size=a_shape(rng))], {"dtype": dtype}


def of_reduction(name, rng):
    shape = a_shape(rng)
    if name in ("max", "min"):
        shape = tuple(size or 2 for size in shape)
    axis = {0: None, 1: an_axis(rng, len(shape)) if shape else None}.get(int(rng.integers(3)), ())
    if axis == ():
        axis = tuple(map(int, rng.permutation(len(shape))[: rng.integers(len(shape) + 1)]))
    whole = name == "mean" and 0 in shape
    x = rng.normal(size=tuple(size or 1 for size in shape) if whole else shape)
    if name in ("max", "min"):
        x = np.round(x)  # some are equal
    return [x], {"axis": axis, "keepdims": bool(rng.integers(2))}


def of_softmax(name, rng):
    shape = a_shape(rng, least=1)
    return [rng.normal(size=shape)], {"axis": an_axis(rng, len(shape))}


def drawn(name, rng):
    """Inputs and attributes of an operator."""
    groups = ((UNARY, of_unary), (COMPLEX, of_complex), (BINARY, of_binary))
    for group, draw in groups:
        if name in group:
            return draw(name, rng)
    if name in ("sum", "mean", "prod", "max", "min"):
        return of_reduction(name, rng)
    return of_softmax(name, rng) if "softmax" in name else globals()[f"of_{name}"](rng)


OF_FLOAT32 = ("celu", "hard_sigmoid", "fast_gelu")
"""PyTorch computes these gradients in float64 with constants that were rounded to float32."""

THEIRS = {**UNARY, **COMPLEX, **BINARY, **OTHERS}


def test_every_operator_with_a_gradient_is_compared():
    assert set(THEIRS) == set(RULES)


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
            rtol = 1e-7 if name in OF_FLOAT32 else 1e-9
            assert np.allclose(one, expected, rtol=rtol, atol=1e-11), (attributes, x.shape)


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
