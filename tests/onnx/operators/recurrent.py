"""Records of the recurrent operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.onnx.operators.record import Draw, Output, Record, Refused

NDArray = np.ndarray[Any, Any]


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "Affine": (lambda x, a, b: a * x + b, (1.0, 0.0)),
    "Elu": (lambda x, a: np.where(x > 0, x, a * np.expm1(x)), (1.0,)),
    "HardSigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), (0.2, 0.5)),
    "LeakyRelu": (lambda x, a: np.where(x < 0, a * x, x), (0.01,)),
    "Relu": (lambda x: np.maximum(x, 0), ()),
    "ScaledTanh": (lambda x, a, b: a * np.tanh(b * x), (1.0, 1.0)),
    "Sigmoid": (_sigmoid, ()),
    "Softplus": (lambda x: np.log1p(np.exp(x)), ()),
    "Softsign": (lambda x: x / (1 + np.abs(x)), ()),
    "Tanh": (np.tanh, ()),
}
"""The functions of gates with the defaults of alpha and beta."""
DEFAULTS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def drawn(name: str) -> Callable[[Draw], Any]:
    """Return what draws the inputs of an operator; now and then one of them has another size."""
    gates = GATES[name]

    def draw(d: Draw) -> Any:
        steps, rows, size, hidden = (int(d.rng.integers(1, 5)) for _ in range(4))
        if d.rarely("nothing"):
            steps, rows = d.pick("empty", ((0, rows), (steps, 0)))
        direction = d.pick("direction", (None, "forward", "reverse", "bidirectional"))
        count = 2 if direction == "bidirectional" else 1
        layout = d.pick("layout", (None, 0, 1)) if d.since >= 14 else None

        def numbers(*shape: int) -> NDArray:
            return (d.rng.standard_normal(shape) / 2).astype(d.dtype)

        def state(key: str) -> Any:
            return numbers(*((rows, count, hidden) if layout else (count, rows, hidden))) if d.maybe(key) else None

        x = numbers(*((rows, steps, size) if layout else (steps, rows, size)))
        inputs = [
            x,
            numbers(count, gates * hidden, size),
            numbers(count, gates * hidden, hidden),
            numbers(count, 2 * gates * hidden) if d.maybe("B") else None,
            d.rng.integers(0, steps + 1, rows).astype(np.int32) if d.maybe("lengths") else None,
            state("initial_h"),
        ]
        if name == "LSTM":
            inputs += [state("initial_c"), numbers(count, 3 * hidden) if d.maybe("P") else None]
        if d.rarely("contradictory sizes"):
            place = d.pick("which", [k for k, one in enumerate(inputs) if one is not None and k])
            inputs[place] = np.concatenate([inputs[place], inputs[place][-1:]]) if rows else inputs[place]
        attributes = {
            "hidden_size": hidden,
            "direction": direction,
            "layout": layout,
            "clip": d.pick("clip", (None, None, 0.25)),
            "input_forget": d.pick("input_forget", (None, 0, 1)) if name == "LSTM" else None,
            "linear_before_reset": d.pick("linear", (None, 0, 1)) if name == "GRU" else None,
        }
        if d.maybe("activations"):
            names = [str(d.pick("function", sorted(FUNCTIONS))) for _ in range(len(DEFAULTS[name]) * count)]
            attributes["activations"] = names
        return inputs, attributes

    return draw


def reference(name: str) -> Callable[..., Any]:
    """Return the steps of an operator, one after another."""
    gates = GATES[name]

    def run(
        d: Draw, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None, c: Any = None,
        p: Any = None, *, hidden_size: int, direction: str = "forward", layout: int = 0, clip: float | None = None,
        input_forget: int = 0,
        linear_before_reset: int = 0, activations: Any = None, **_: Any,
    ) -> Any:  # fmt: skip
        count, hidden = 2 if direction == "bidirectional" else 1, hidden_size
        x = x.swapaxes(0, 1) if layout else x
        steps, rows, size = x.shape
        states = (rows, count, hidden) if layout else (count, rows, hidden)
        wanted = {
            "W": (w, (count, gates * hidden, size)), "R": (r, (count, gates * hidden, hidden)),
            "B": (b, (count, 2 * gates * hidden)), "sequence_lens": (lengths, (rows,)), "initial_h": (h, states),
            "initial_c": (c, states), "P": (p, (count, 3 * hidden)),
        }  # fmt: skip
        for key, (one, shape) in wanted.items():
            if one is not None and one.shape != shape:
                raise Refused(key)
        names = [*DEFAULTS[name]] * count if activations is None else [
            one.decode() if isinstance(one, bytes) else one for one in activations]  # fmt: skip
        h, c = (
            np.zeros((count, rows, hidden)) if one is None else one.swapaxes(0, 1) if layout else one for one in (h, c)
        )
        every, last_h, last_c = np.zeros((steps, count, rows, hidden)), h.copy(), c.copy()
        for k, row in np.ndindex(count, rows):
            length = steps if lengths is None else int(lengths[row])
            order = [*range(length)]
            order = order[::-1] if direction == "reverse" or k else order
            functions = [_function(one) for one in names[k * len(DEFAULTS[name]) :][: len(DEFAULTS[name])]]
            before, after = (np.zeros(gates * hidden),) * 2 if b is None else np.split(b[k], 2)
            holes = np.zeros((3, hidden)) if p is None else p[k].reshape(3, hidden)
            one = last_h[k, row], last_c[k, row]
            for step in order:
                one = _step(name, functions, x[step, row] @ w[k].T + before, r[k], after, holes, *one,
                            clip=clip, coupled=bool(input_forget), linear=bool(linear_before_reset))  # fmt: skip
                every[step, k, row] = one[0]
            last_h[k, row], last_c[k, row] = one
        found = [every, last_h, last_c] if name == "LSTM" else [every, last_h]
        if layout:
            found = [every.transpose(2, 0, 1, 3), *(one.swapaxes(0, 1) for one in found[1:])]
        return tuple(Output(one, d.dtype, np.maximum(np.abs(one), 1)) for one in found)

    return run


def _function(name: str) -> Callable[[Any], Any]:
    function, numbers = FUNCTIONS[name]
    return lambda x: function(x, *numbers)


def _step(
    name: str, functions: Any, of_x: Any, r: Any, after: Any, holes: Any, h: Any, c: Any, *, clip: Any, coupled: bool,
    linear: bool,
) -> tuple[Any, Any]:  # fmt: skip
    def applied(function: Any, value: Any) -> Any:
        return function(value if clip is None else np.clip(value, -clip, clip))

    if name == "RNN":
        return applied(functions[0], of_x + h @ r.T + after), c
    if name == "GRU":
        f, g = functions
        (xz, xr, xh), (rz, rr, rh), (bz, br, bh) = np.split(of_x, 3), np.split(r, 3), np.split(after, 3)
        z, reset = applied(f, xz + h @ rz.T + bz), applied(f, xr + h @ rr.T + br)
        inner = reset * (h @ rh.T + bh) if linear else (reset * h) @ rh.T + bh
        return (1 - z) * applied(g, xh + inner) + z * h, c
    f, g, last = functions
    i, o, forget, cell = np.split(of_x + h @ r.T + after, 4)
    i = applied(f, i + holes[0] * c)
    forget = 1 - i if coupled else applied(f, forget + holes[2] * c)
    c = forget * c + i * applied(g, cell)
    o = applied(f, o + holes[1] * c)
    return o * last(c), c


RECORDS = {
    name: Record(name, drawn(name), reference(name), 64, constants=(1, 2, 3, 4, 7), types=("float32",))
    for name in GATES
}
