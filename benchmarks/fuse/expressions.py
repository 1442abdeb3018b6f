"""Expressions of real kernels, written once for the functions of `ep.ops` and of other libraries.

Each is a function of a namespace with the operators (`ep.ops`, or one of `libraries.py`) and of arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

Arrays = list[np.ndarray[Any, Any]]
Draw = Callable[[np.random.Generator, int, int], Arrays]


class Expression(NamedTuple):
    """One expression.

    function: (functions, arrays) -> a result, or several. draw: (rng, rows, columns) -> the arrays, in float64
        unless they are masks or integers.
    formulas: for each result, the formula for numexpr, with a, b, c ... for the arrays in order; or empty.
    """

    function: Callable[..., Any]
    draw: Draw
    formulas: Sequence[str] = ()


def _normal(*shapes: str) -> Draw:
    """Draw normal numbers: of "rows", each of this many columns, or of one "row"."""

    def draw(rng: np.random.Generator, rows: int, columns: int) -> Arrays:
        return [rng.normal(size=(rows, columns) if shape == "rows" else columns) for shape in shapes]

    return draw


def saxpy_chain(ops: Any, x: Any, y: Any, z: Any) -> Any:
    return 0.5 * (2.5 * x + y) + z - 1.25 * x


def gelu_bias_gate(ops: Any, x: Any, b: Any, c: Any) -> Any:
    return ops.gelu(x + b) * c


def layer_norm(ops: Any, x: Any, w: Any, b: Any) -> Any:
    d = x - ops.mean(x, -1, keepdims=True)
    return d * ops.rsqrt(ops.mean(d * d, -1, keepdims=True) + 1e-5) * w + b


def rms_norm(ops: Any, x: Any, w: Any) -> Any:
    return x * ops.rsqrt(ops.mean(x * x, -1, keepdims=True) + 1e-5) * w


def cross_entropy(ops: Any, scores: Any, labels: Any) -> Any:
    return -ops.mean(ops.gather(ops.log_softmax(scores, -1), labels, axis=1, batch_dims=1), None)


def amsgrad(ops: Any, p: Any, g: Any, m: Any, v: Any, most: Any) -> Any:
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    most = ops.maximum(most, v)
    return p - 0.01 * m / (ops.sqrt(most) + 1e-8), m, v, most


def black_scholes(ops: Any, spot: Any, strike: Any, years: Any) -> Any:
    deviation = 0.2 * ops.sqrt(years)
    d1 = (ops.log(spot / strike) + (0.05 + 0.5 * 0.2**2) * years) / deviation
    d2 = d1 - deviation
    discounted = strike * ops.exp(-0.05 * years)
    call = spot * (0.5 * ops.erfc(-(0.5**0.5) * d1)) - discounted * (0.5 * ops.erfc(-(0.5**0.5) * d2))
    return call, call - spot + discounted


def row_distance(ops: Any, x: Any, y: Any) -> Any:
    d = x - y
    return ops.sqrt(ops.sum(d * d, -1))


def normalised_rows(ops: Any, x: Any) -> Any:
    return x / ops.sqrt(ops.sum(x * x, -1, keepdims=True))


def masked_mean(ops: Any, x: Any, mask: Any) -> Any:
    count = ops.sum(ops.cast(mask, str(x.dtype).removeprefix("torch.")), -1)
    return ops.sum(ops.where(mask, x, 0.0 * x), -1) / count


def swiglu(ops: Any, x: Any) -> Any:
    half = x.shape[-1] // 2
    return ops.silu(x[:, :half]) * x[:, half:]


def bias_residual_layer_norm(ops: Any, x: Any, b: Any, residual: Any, w: Any) -> Any:
    total = x + b + residual
    return layer_norm(ops, total, w, b), total


def yuv_to_rgb(ops: Any, y: Any, u: Any, v: Any) -> Any:
    return y + 1.402 * v, y - 0.344136 * u - 0.714136 * v, y + 1.772 * u


def masked_softmax(ops: Any, scores: Any, mask: Any) -> Any:
    return ops.softmax(0.125 * scores + mask, -1)


def _labels(rng: np.random.Generator, rows: int, columns: int) -> Arrays:
    return [rng.normal(size=(rows, columns)), rng.integers(0, columns, (rows, 1))]


def _moments(rng: np.random.Generator, rows: int, columns: int) -> Arrays:
    return [*rng.normal(size=(3, rows, columns)), *rng.uniform(0.5, 2, (2, rows, columns))]


def _options(rng: np.random.Generator, rows: int, columns: int) -> Arrays:
    return [*rng.uniform(80, 120, (2, rows, columns)), rng.uniform(0.3, 2, (rows, columns))]


def _masked(rng: np.random.Generator, rows: int, columns: int) -> Arrays:
    mask = rng.random((rows, columns)) < 0.6
    mask[:, 0] = True
    return [rng.normal(size=(rows, columns)), mask]


def _scores(rng: np.random.Generator, rows: int, columns: int) -> Arrays:
    return [rng.normal(size=(rows, columns)), np.where(rng.random((rows, columns)) < 0.3, -9.0, 0.0)]


EXPRESSIONS: Final = {
    "saxpy chain": Expression(saxpy_chain, _normal("rows", "rows", "rows"), ("0.5 * (2.5 * a + b) + c - 1.25 * a",)),
    "gelu(x + b) c": Expression(gelu_bias_gate, _normal("rows", "row", "rows")),
    "layer norm": Expression(layer_norm, _normal("rows", "row", "row")),
    "RMS norm": Expression(rms_norm, _normal("rows", "row")),
    "cross-entropy": Expression(cross_entropy, _labels),
    "AMSGrad": Expression(amsgrad, _moments),
    "Black-Scholes": Expression(black_scholes, _options),
    "row distance": Expression(row_distance, _normal("rows", "rows")),
    "normalised rows": Expression(normalised_rows, _normal("rows")),
    "masked mean": Expression(masked_mean, _masked),
    "SwiGLU": Expression(swiglu, _normal("rows")),
    "bias, residual, layer norm": Expression(bias_residual_layer_norm, _normal("rows", "row", "rows", "row")),
    "YUV to RGB": Expression(
        yuv_to_rgb,
        _normal("rows", "rows", "rows"),
        ("a + 1.402 * c", "a - 0.344136 * b - 0.714136 * c", "a + 1.772 * b"),
    ),
    "scale, mask, softmax": Expression(masked_softmax, _scores),
}
