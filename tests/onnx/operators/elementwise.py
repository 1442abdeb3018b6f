"""Records of the elementwise operators."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.onnx.operators.record import Draw, Output, Record, Refused


def by_element(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """Return a function of arrays that applies one of numbers to each."""

    def call(x: Any) -> Any:
        flat = [function(float(one)) for one in np.asarray(x).reshape(-1)]
        return np.array(flat, np.float64).reshape(np.shape(x))

    return call


def drawn(**attributes: Sequence[Any]) -> Callable[[Draw], Any]:
    """Return what draws one input and these attributes."""

    def draw(d: Draw) -> Any:
        return [d.array(d.shape())], {name: d.pick(name, values) for name, values in attributes.items()}

    return draw


def unary(name: str, function: Callable[[Any], Any], ulps: float = 4, **attributes: Sequence[Any]) -> Record:
    """Return the record of a function of each element."""

    def reference(d: Draw, x: Any, **given: Any) -> Any:
        return function(x, **given) if given else function(x)

    return Record(name, drawn(**attributes), reference, ulps)


def broadcast(inputs: Sequence[Any]) -> None:
    """Raise Refused for shapes that do not broadcast."""
    try:
        np.broadcast_shapes(*(one.shape for one in inputs))
    except ValueError:
        raise Refused("shape shapes broadcast") from None


def pair(d: Draw, **attributes: Sequence[Any]) -> Any:
    """Draw two inputs that broadcast, or, rarely, do not."""
    whole = d.shape()
    shapes = [whole, d.narrowed(whole)] if d.maybe("same") else [d.narrowed(whole), whole]
    if d.since >= 7 and whole and d.rarely("contradictory shapes"):
        shapes[0] = (*whole[:-1], whole[-1] + 2)
    inputs = [d.array(one) for one in shapes]
    return inputs, {name: d.pick(name, values) for name, values in attributes.items()}


def binary(name: str, function: Callable[[Any, Any], Any], ulps: float = 4) -> Record:
    """Return the record of a function of two elements."""

    def reference(d: Draw, x: Any, y: Any) -> Any:
        broadcast((x, y))
        return function(x, y)

    return Record(name, pair, reference, ulps)


def several(name: str, function: Callable[..., Any]) -> Record:
    """Return the record of a function of one or more inputs. A mean of the largest numbers may overflow."""
    wide = name == "Mean"

    def draw(d: Draw) -> Any:
        whole = d.shape()
        number = d.pick("inputs", (1, 2, 3, 5))
        shapes = [whole, *(d.narrowed(whole) for _ in range(number - 1))]
        if whole and number > 1 and d.rarely("contradictory shapes"):
            shapes[1] = (*whole[:-1], whole[-1] + 2)
        order = d.rng.permutation(number)
        return [d.array(shapes[k], wild=not wide or d.dtype.itemsize == 2) for k in order], {}

    def reference(d: Draw, *inputs: Any) -> Any:
        broadcast(inputs)
        return function(d, *np.broadcast_arrays(*inputs))

    return Record(name, draw, reference, 8)


def _sum(d: Draw, *inputs: Any) -> Any:
    total = functools.reduce(np.add, inputs)
    return Output(total, magnitude=sum(map(np.abs, inputs)))


def _mean(d: Draw, *inputs: Any) -> Any:
    total = functools.reduce(np.add, [one / len(inputs) for one in inputs])
    return Output(total, magnitude=sum(map(np.abs, inputs)))


def div(x: Any, y: Any) -> Any:
    """Return quotients; those of integers are truncated."""
    if x.dtype.kind not in "iu":
        return x / y
    x, y = np.broadcast_arrays(x, y)
    flat = [_quotient(int(a), int(b)) for a, b in zip(x.reshape(-1), y.reshape(-1), strict=True)]
    return wrapped(flat, x.dtype).reshape(x.shape)


def _quotient(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def wrapped(numbers: Sequence[int], dtype: Any) -> Any:
    """Return integers in a type, modulo 2 to the number of its bits."""
    dtype = np.dtype(dtype)
    bits = 8 * dtype.itemsize
    low = int(np.iinfo(dtype).min)
    return np.array([(int(one) - low) % 2**bits + low for one in numbers], dtype)


def _integers(d: Draw) -> Any:
    inputs, attributes = pair(d)
    x, y = inputs
    return [x, np.where(y == 0, 3, y).astype(y.dtype)] if y.dtype.kind in "iu" else inputs, attributes


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _sigmoid(x: Any) -> Any:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), np.where(x < 0, e / (1 + e), x))


def _gelu(x: Any, approximate: str) -> Any:
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return np.where(x == -np.inf, 0, x * _sigmoid(2 * inner))
    return np.where(x == -np.inf, 0, x * by_element(lambda one: math.erfc(-one * math.sqrt(0.5)) / 2)(x))


def _elu(x: Any, alpha: float) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0, x)))


def _swish(x: Any, alpha: float) -> Any:
    found = x * _sigmoid(alpha * x)
    return Output(found, magnitude=np.abs(found) * np.where(np.isfinite(x), 1 + np.abs(alpha * x), 1))


_LAMBDS = (0.5, 2.0, 0.0, -1.5, 1e6, math.inf, -math.inf, math.nan)


def _shrink(d: Draw, x: Any, bias: float, lambd: float) -> Any:
    if x.dtype.kind in "iu":
        flat = [
            one + int(bias) if one < -lambd else one - int(bias) if one > lambd else 0 for one in x.reshape(-1).tolist()
        ]
        return wrapped(flat, x.dtype).reshape(x.shape)
    bias, lambd = (float(d.dtype.type(one)) for one in (bias, lambd))
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0))


def _is_inf(x: Any, detect_negative: int, detect_positive: int) -> Any:
    return ((x == np.inf) & bool(detect_positive)) | ((x == -np.inf) & bool(detect_negative))


def _as_input(d: Draw, number: float) -> float:
    """Return an attribute as a number of the type of the input."""
    return float(np.float64(np.float32(number)).astype(d.dtype))


def _clip(d: Draw) -> Any:
    x = d.array(d.shape())
    if d.since < 11:
        bounds = {"min": (-1.5, None, 0.0), "max": (2.0, None, 1.25)}
        return [x], {name: d.pick(name, values) for name, values in bounds.items()}
    least = d.pick("min", (None, -1, 0, 2))
    most = d.pick("max", (None, 1, 5, 0))
    if d.dtype.kind == "u" and least is not None:
        least = abs(least)
    return [x, *(None if one is None else np.array(one, d.dtype) for one in (least, most))], {}


def _clipped(d: Draw, x: Any, least: Any = None, most: Any = None, **attributes: Any) -> Any:
    least, most = attributes.get("min", least), attributes.get("max", most)
    x = x if least is None else np.maximum(x, np.asarray(least, x.dtype))
    return x if most is None else np.minimum(x, np.asarray(most, x.dtype))


def _mod(d: Draw) -> Any:
    inputs, _ = _integers(d)
    return inputs, {"fmod": d.pick("fmod", (0, 1))}


def _remainder(d: Draw, x: Any, y: Any, fmod: int) -> Any:
    broadcast((x, y))
    if x.dtype.kind not in "iu":
        return np.fmod(x, y) if fmod else Output(np.mod(x, y), magnitude=np.abs(x) + np.abs(y))
    x, y = np.broadcast_arrays(x, y)
    pairs = zip(x.reshape(-1).tolist(), y.reshape(-1).tolist(), strict=True)
    flat = [a - b * _quotient(a, b) if fmod else a % b for a, b in pairs]
    return wrapped(flat, x.dtype).reshape(x.shape)


def _bit_shift(d: Draw) -> Any:
    inputs, attributes = pair(d, direction=("LEFT", "RIGHT"))
    bits = 8 * d.dtype.itemsize
    return [inputs[0], d.rng.integers(0, bits + 3, inputs[1].shape).astype(d.dtype)], attributes


def _shifted(d: Draw, x: Any, y: Any, direction: str) -> Any:
    broadcast((x, y))
    x, y = np.broadcast_arrays(x, y)
    pairs = zip(x.reshape(-1).tolist(), y.reshape(-1).tolist(), strict=True)
    return wrapped([a << b if direction == "LEFT" else a >> b for a, b in pairs], x.dtype).reshape(x.shape)


def _prelu(d: Draw) -> Any:
    x = d.array(d.shape())
    return [x, d.array(d.narrowed(x.shape))], {}


def _prelu_of(d: Draw, x: Any, slope: Any) -> Any:
    if x.dtype.kind not in "iu":
        return np.where(x < 0, x * slope, x)
    x, slope = np.broadcast_arrays(x, slope)
    pairs = zip(x.reshape(-1).tolist(), slope.reshape(-1).tolist(), strict=True)
    return wrapped([a * b if a < 0 else a for a, b in pairs], x.dtype).reshape(x.shape)


def _where(d: Draw) -> Any:
    whole = d.shape()
    shapes = [d.narrowed(whole), d.narrowed(whole), whole]
    order = d.rng.permutation(3)
    of = d.types["T"][int(d.rng.integers(len(d.types["T"])))]
    return [d.array(shapes[order[0]]), *(d.array(shapes[k], of) for k in order[1:])], {}


def _dropout(d: Draw) -> Any:
    x = d.array(d.shape())
    ratio = d.pick("ratio", (None, 0.1, 0.0, 0.75))
    seed = d.pick("seed", (None, 7)) if d.since >= 12 else None
    if d.since < 12:
        return [x], {"ratio": ratio}
    of = d.types["T1"][int(d.rng.integers(len(d.types["T1"])))]
    mode = d.pick("training_mode", (None, np.array(False)))
    return [x, None if ratio is None else np.array(ratio).astype(of), mode], {"seed": seed}


def _not_dropped(d: Draw, x: Any, *others: Any, **_: Any) -> Any:
    mask = np.ones(x.shape, bool)
    return x, Output(mask, bool if d.since >= 10 else d.dtype)


def _pow(d: Draw) -> Any:
    inputs, _ = pair(d)
    x, y = inputs
    kinds = d.types.get("T1", [d.dtype])
    of = kinds[int(d.rng.integers(len(kinds)))]
    if x.dtype.kind in "iu":
        return [np.where(np.abs(x) > 9, 3, x).astype(x.dtype), d.rng.integers(0, 5, y.shape).astype(of)], {}
    return [x, d.array(y.shape, of) if of.kind not in "iu" else d.rng.integers(0, 5, y.shape).astype(of)], {}


def _power(d: Draw, x: Any, y: Any) -> Any:
    broadcast((x, y))
    if x.dtype.kind not in "iu":
        return np.power(x, y.astype(np.float64))
    x, y = np.broadcast_arrays(x, y)
    pairs = zip(x.reshape(-1).tolist(), y.reshape(-1).tolist(), strict=True)
    powers = [a ** int(b) for a, b in pairs]
    if d.drawn[1].dtype.kind not in "iu":  # such a power saturates, as Cast does
        powers = [min(max(one, np.iinfo(x.dtype).min), np.iinfo(x.dtype).max) for one in powers]
    return wrapped(powers, x.dtype).reshape(x.shape)


def _relu(x: Any) -> Any:
    return np.maximum(x, np.zeros((), x.dtype))


def _threshold(d: Draw, x: Any, alpha: float) -> Any:
    return np.where(x > _as_input(d, alpha), x, 0.0)


def _attributed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reference whose attributes are numbers of float32, as ONNX stores them."""

    def reference(d: Draw, x: Any, **given: Any) -> Any:
        return function(x, **{name: float(np.float32(one)) for name, one in given.items()})

    return reference


def _hard_sigmoid(d: Draw, x: Any, alpha: float, beta: float) -> Any:
    alpha, beta = _as_input(d, alpha), _as_input(d, beta)
    return Output(np.clip(alpha * x + beta, 0, 1), magnitude=np.clip(np.abs(alpha * x) + abs(beta), 0, 8))


SLOPES = (0.01, 1.0, 0.0, 0.3, -0.5)
ALPHAS = (1.0, 0.5, 2.0, 1.67326)

_FUNCTIONS = {
    "Acos": np.arccos,
    "Acosh": np.arccosh,
    "Asin": np.arcsin,
    "Asinh": np.arcsinh,
    "Atan": np.arctan,
    "Atanh": np.arctanh,
    "Ceil": np.ceil,
    "Cos": np.cos,
    "Cosh": np.cosh,
    "Erf": lambda x: by_element(math.erf)(x).astype(x.dtype),
    "Exp": np.exp,
    "Floor": np.floor,
    "Identity": lambda x: x,
    "IsNaN": np.isnan,
    "Log": np.log,
    "Neg": np.negative,
    "Not": np.logical_not,
    "Abs": np.abs,
    "Reciprocal": lambda x: 1 / x,
    "Relu": _relu,
    "Round": np.rint,
    "Sigmoid": _sigmoid,
    "Sign": lambda x: np.where(x > 0, 1, np.where(x < 0, -1, 0)),
    "Sin": np.sin,
    "Sinh": np.sinh,
    "Softplus": _softplus,
    "Softsign": lambda x: np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x))),
    "Sqrt": np.sqrt,
    "Tan": np.tan,
    "Tanh": np.tanh,
    "BitwiseNot": np.invert,
    "HardSwish": lambda x: Output(np.where(x <= -3, 0, x * np.clip(x / 6 + 0.5, 0, 1)), magnitude=np.abs(x)),
    "Mish": lambda x: np.where(x == -np.inf, 0, x * np.tanh(_softplus(x))),
}
_PAIRS = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
}
_ALL = (
    *(unary(name, function, 8) for name, function in _FUNCTIONS.items()),
    *(binary(name, function) for name, function in _PAIRS.items()),
    Record("Div", _integers, lambda d, x, y: (broadcast((x, y)), div(x, y))[1]),
    Record("Mod", _mod, _remainder, 1),
    Record("Pow", _pow, _power, 16),
    Record("BitShift", _bit_shift, _shifted),
    Record("PRelu", _prelu, _prelu_of),
    Record("Where", _where, lambda d, c, x, y: np.where(c, x, y), 0),
    Record("Clip", _clip, _clipped, 1),
    Record("Dropout", _dropout, _not_dropped, 0, known=(2,)),
    several("Max", lambda d, *some: functools.reduce(np.maximum, some)),
    several("Min", lambda d, *some: functools.reduce(np.minimum, some)),
    several("Sum", _sum),
    several("Mean", _mean),
    Record(
        "Celu", drawn(alpha=ALPHAS), _attributed(lambda x, alpha: np.where(x > 0, x, alpha * _elu(x / alpha, 1.0))), 8
    ),
    Record("Elu", drawn(alpha=ALPHAS), _attributed(_elu), 8),
    Record(
        "Selu",
        drawn(alpha=ALPHAS, gamma=(1.0507, 1.0, 0.5)),
        _attributed(lambda x, alpha, gamma: gamma * _elu(x, alpha)),
        8,
    ),
    Record("LeakyRelu", drawn(alpha=SLOPES), _attributed(lambda x, alpha: np.where(x < 0, alpha * x, x))),
    Record("HardSigmoid", drawn(alpha=(0.2, 0.5, -1.0, 1e6), beta=(0.5, 0.0, 2.0)), _hard_sigmoid, 4),
    Record("ThresholdedRelu", drawn(alpha=(1.0, 0.0, -0.5, 2.5, 1e6)), _threshold, 0),
    Record(
        "Shrink",
        drawn(bias=(0.0, 1.5, 2.0, -3.0), lambd=_LAMBDS),
        _shrink,
        1,
    ),
    Record("IsInf", drawn(detect_negative=(0, 1), detect_positive=(1, 0)), lambda d, x, **given: _is_inf(x, **given)),
    Record("Gelu", drawn(approximate=("none", "tanh")), lambda d, x, approximate: _gelu(x, approximate), 64),
    Record("Swish", drawn(alpha=(1.0, 0.5, -2.0, 30.0)), _attributed(_swish), 8),
)
RECORDS = {one.name: one for one in _ALL}
