"""Elementwise expressions by name; each is one kernel."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import ep
from ep import DataType
from ep.expressions.array import LazyArray
from ep.expressions.schedule import Schedule
from ep.expressions.trace import Trace
from ep.ops.devices import arrays_of

REAL, HALF = np.float32, DataType.kBFloat16.dtype


def saxpy_chain(x, y, z):
    return (x * 2.5 + y) * x - z * 0.5 + y


def gelu_of_sum(x, b, c):
    return ep.ops.gelu(x + b) * c


def amsgrad(p, g, m, v, most, rate):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    most = ep.ops.maximum(most, v)
    return p - rate * m / (ep.ops.sqrt(most) + 1e-8), m, v, most


def black_scholes(price, strike, years, rate=0.02, volatility=0.3):
    root = volatility * ep.ops.sqrt(years)
    d1 = (ep.ops.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / root
    d2 = d1 - root
    paid = strike * ep.ops.exp(-rate * years)
    of_d1, of_d2 = (0.5 * ep.ops.erfc(d * -0.7071067811865476) for d in (d1, d2))
    call = price * of_d1 - paid * of_d2
    return call, call - price + paid


def swiglu(gate, value):
    return ep.ops.silu(gate) * value


def yuv_to_rgb(y, u, v):
    y, u, v = (ep.ops.cast(one, "float32") for one in (y, u, v))
    rgb = y + 1.402 * (v - 128.0), y - 0.344 * (u - 128.0) - 0.714 * (v - 128.0), y + 1.772 * (u - 128.0)
    return tuple(ep.ops.cast(ep.ops.minimum(ep.ops.maximum(one, 0.0), 255.0), "uint8") for one in rgb)


def scale_and_mask(x, mask, scale):
    return ep.ops.where(mask, x * scale, -1e9)


def bias_and_residual(x, bias, residual):
    total = x + bias + residual
    return total, ep.ops.relu(total)


def draw(rng, *shapes, dtype=REAL):
    """Return random numbers from 0.5 to 1.5."""
    return [(rng.random(shape) + 0.5).astype(dtype) for shape in shapes]


class Expression(NamedTuple):
    """An expression.

    function: takes arrays, and then numbers. draw: (rng, rows) -> the arrays with that number of rows. numbers: such as
    a rate.
    """

    function: Callable[..., Any]
    draw: Callable[[np.random.Generator, int], Sequence[np.ndarray]]
    numbers: tuple[float, ...] = ()


def planes(rng, rows):
    """Return three arrays of bytes."""
    return list(rng.integers(0, 256, (3, rows, 48)).astype(np.uint8))


def with_mask(rng, rows):
    """Return numbers, and a mask for all rows."""
    return [*draw(rng, (rows, 40)), rng.random(40) > 0.5]


EXPRESSIONS = {
    "saxpy chain": Expression(saxpy_chain, lambda rng, rows: draw(rng, *[(rows, 40)] * 3)),
    "gelu(x + b) c": Expression(gelu_of_sum, lambda rng, rows: draw(rng, (rows, 40), (40,), (rows, 40))),
    "AMSGrad": Expression(amsgrad, lambda rng, rows: draw(rng, *[(rows * 40,)] * 5), (0.1,)),
    "Black-Scholes": Expression(black_scholes, lambda rng, rows: draw(rng, *[(rows * 40,)] * 3)),
    "SwiGLU": Expression(swiglu, lambda rng, rows: np.split(draw(rng, (rows, 80))[0], 2, 1)),
    "SwiGLU of bfloat16": Expression(swiglu, lambda rng, rows: np.split(draw(rng, (rows, 80), dtype=HALF)[0], 2, 1)),
    "YUV to RGB": Expression(yuv_to_rgb, planes),
    "scale, mask": Expression(scale_and_mask, with_mask, (0.125,)),
    "bias, residual": Expression(
        bias_and_residual, lambda rng, rows: draw(rng, *[(rows, 40), (40,), (rows, 40)], dtype=HALF)
    ),
}


def structure_of(name):
    """Return the structure of an expression, and its arrays on the host."""
    function, make, numbers = EXPRESSIONS[name]
    arrays = make(np.random.default_rng(0), 4)
    return traced(lambda *given: function(*given, *numbers), arrays), arrays


def traced(function: Callable[..., Any], arrays: Sequence[np.ndarray[Any, Any]]) -> Any:
    """Return the structure of the single kernel of a function of host arrays."""
    base = arrays_of(arrays, ["array"] * len(arrays))
    trace = Trace(base, "a function", LazyArray, numbers_vary=False)
    found = function(*(trace.give(array, array.shape, array.dtype) for array in arrays))
    results = [one.node.position for one in (found if isinstance(found, tuple) else (found,))]
    (group,) = Schedule(trace, results, round_each=False).groups
    return group.structure
