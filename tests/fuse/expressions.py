"""Expressions of real kernels, by name: functions of operators, written once for `ep.ops` and for libraries like it."""

from typing import NamedTuple

import numpy as np


class Expression(NamedTuple):
    """One expression.

    function: (operators, arrays) -> a result, or several. draw: (rng) -> the arrays; those of floats have gradients.
    """

    function: object
    draw: object


def normals(*shapes):
    return lambda rng: [rng.normal(size=shape) for shape in shapes]


def saxpy_chain(ops, x, y, z):
    return 0.5 * (2.5 * x + y) + z - 1.25 * x


def gelu_bias_gate(ops, x, b, c):
    return ops.gelu(x + b) * c


def layer_norm(ops, x, w, b):
    d = x - ops.mean(x, -1, keepdims=True)
    return d * ops.rsqrt(ops.mean(d * d, -1, keepdims=True) + 1e-5) * w + b


def rms_norm(ops, x, w):
    return x * ops.rsqrt(ops.mean(x * x, -1, keepdims=True) + 1e-5) * w


def cross_entropy(ops, scores, labels):
    return -ops.mean(ops.gather(ops.log_softmax(scores, -1), labels, axis=1, batch_dims=1), None)


def amsgrad(ops, p, g, m, v, most):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    most = ops.maximum(most, v)
    return p - 0.01 * m / (ops.sqrt(most) + 1e-8), m, v, most


def black_scholes(ops, spot, strike, years):
    deviation = 0.2 * ops.sqrt(years)
    d1 = (ops.log(spot / strike) + (0.05 + 0.5 * 0.2**2) * years) / deviation
    d2 = d1 - deviation
    discounted = strike * ops.exp(-0.05 * years)
    call = spot * (0.5 * ops.erfc(-(0.5**0.5) * d1)) - discounted * (0.5 * ops.erfc(-(0.5**0.5) * d2))
    return call, call - spot + discounted


def row_distance(ops, x, y):
    d = x - y
    return ops.sqrt(ops.sum(d * d, -1))


def normalised_rows(ops, x):
    return x / ops.sqrt(ops.sum(x * x, -1, keepdims=True))


def masked_mean(ops, x, mask):
    count = ops.sum(ops.cast(mask, "float64"), -1)
    return ops.sum(ops.where(mask, x, 0.0 * x), -1) / count


def swiglu(ops, x):
    half = x.shape[-1] // 2
    return ops.silu(x[:, :half]) * x[:, half:]


def bias_residual_layer_norm(ops, x, b, residual, w):
    total = x + b + residual
    return layer_norm(ops, total, w, b), total


def yuv_to_rgb(ops, y, u, v):
    return ops.stack([y + 1.402 * v, y - 0.344136 * u - 0.714136 * v, y + 1.772 * u], 0)


def masked_softmax(ops, scores, mask):
    return ops.softmax(0.125 * scores + mask, -1)


def with_mask(rng):
    mask = rng.random((5, 12)) < 0.6
    mask[:, 0] = True
    return [rng.normal(size=(5, 12)), mask]


EXPRESSIONS = {
    "saxpy chain": Expression(saxpy_chain, normals((5, 12), (5, 12), (5, 12))),
    "gelu(x + b) c": Expression(gelu_bias_gate, normals((5, 12), (12,), (5, 12))),
    "layer norm": Expression(layer_norm, normals((5, 12), (12,), (12,))),
    "RMS norm": Expression(rms_norm, normals((5, 12), (12,))),
    "cross-entropy": Expression(cross_entropy, lambda rng: [rng.normal(size=(5, 12)), rng.integers(0, 12, (5, 1))]),
    "AMSGrad": Expression(
        amsgrad,
        lambda rng: [*rng.normal(size=(3, 5, 12)), *rng.uniform(0.5, 2, (2, 5, 12))],
    ),
    "Black-Scholes": Expression(black_scholes, lambda rng: [*rng.uniform(80, 120, (2, 9)), rng.uniform(0.3, 2, 9)]),
    "row distance": Expression(row_distance, normals((5, 12), (5, 12))),
    "normalised rows": Expression(normalised_rows, normals((5, 12))),
    "masked mean": Expression(masked_mean, with_mask),
    "SwiGLU": Expression(swiglu, normals((5, 12))),
    "bias, residual, layer norm": Expression(bias_residual_layer_norm, normals((5, 12), (12,), (5, 12), (12,))),
    "YUV to RGB": Expression(yuv_to_rgb, normals((5, 12), (5, 12), (5, 12))),
    "scale, mask, softmax": Expression(
        masked_softmax, lambda rng: [rng.normal(size=(5, 12)), np.where(rng.random((5, 12)) < 0.3, -9.0, 0.0)]
    ),
}


def losses(ops, name, rng):
    """A function of the arrays of an expression to one number, and those arrays: weighted sums of all its results."""
    expression = EXPRESSIONS[name]
    arrays = expression.draw(rng)
    results = expression.function(ops, *arrays)
    weights = [rng.normal(size=one.shape) for one in (results if isinstance(results, tuple) else (results,))]

    def loss_of(weights, *arrays):
        results = expression.function(ops, *arrays)
        results = results if isinstance(results, tuple) else (results,)
        total = 0.0
        for result, weight in zip(results, weights, strict=True):
            total = ops.sum(result * weight, None) + total
        return total

    return loss_of, weights, arrays
