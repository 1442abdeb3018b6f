"""Recurrent operators: a product for the whole sequence, then a product and one fused function for each step."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ep import ops
from ep.expressions import fuse
from ep.onnx.operators import elementwise as e
from ep.onnx.operators.placing import placed

_ACTIVATIONS: Final[dict[str, tuple[Callable[..., Any], tuple[float, ...]]]] = {
    "affine": (lambda x, alpha, beta: ops.add(ops.mul(x, alpha), beta), (1.0, 0.0)),
    "elu": (ops.elu, (1.0,)),
    "hardsigmoid": (e.hard_sigmoid, (0.2, 0.5)),
    "leakyrelu": (ops.leaky_relu, (0.01,)),
    "relu": (ops.relu, ()),
    "scaledtanh": (lambda x, alpha, beta: ops.mul(ops.tanh(ops.mul(x, beta)), alpha), (1.0, 1.0)),
    "sigmoid": (ops.sigmoid, ()),
    "softplus": (ops.soft_plus, ()),
    "softsign": (ops.soft_sign, ()),
    "tanh": (ops.tanh, ()),
    "thresholdedrelu": (e.thresholded_relu, (1.0,)),
}
"""The functions of gates, by their names in lower case, with the defaults of alpha and beta."""

_Function = tuple[str, tuple[float, ...]]


def _functions(default: Sequence[str], *, direction: str, activations: Any = None, activation_alpha: Any = None,
               activation_beta: Any = None, **_: Any) -> list[tuple[_Function, ...]]:  # fmt: skip
    """Return the functions of each direction with their alpha and beta, which are assigned in order to functions that
    have them."""
    count = 2 if direction == "bidirectional" else 1
    names = [*default] * count if activations is None else activations
    given = iter(activation_alpha or ()), iter(activation_beta or ())
    found = []
    for name in names[: len(default) * count]:  # by default, RNN has a second one, for the other direction
        if name.lower() not in _ACTIVATIONS:
            raise NotImplementedError(f"activation {name} is none of {', '.join(_ACTIVATIONS)}")
        numbers = _ACTIVATIONS[name.lower()][1]
        found.append((name.lower(), tuple(next(one, number) for one, number in zip(given, numbers, strict=False))))
    if len(found) != len(default) * count:
        raise NotImplementedError(f"activations has {len(found)} names; it must have {len(default) * count}")
    return [tuple(found[k : k + len(default)]) for k in range(0, len(found), len(default))]


_OF_GATES: Final = {"lstm": ("sigmoid", "tanh", "tanh"), "gru": ("sigmoid", "tanh"), "rnn": ("tanh",)}
"""The functions of gates by default."""


def check(operator: str) -> Callable[..., None]:
    """Return what takes attributes and raises NotImplementedError for a function of a gate that there is not."""

    def check_functions(**attributes: Any) -> None:
        _functions(_OF_GATES[operator], **attributes)

    return check_functions


def _applied(function: _Function, x: Any, clip: float | None) -> Any:
    name, numbers = function
    return _ACTIVATIONS[name][0](x if clip is None else e.clip_by_attributes(x, -clip, clip), *numbers)


def _gate(x: Any, k: int, size: int) -> Any:
    """Return the part of a row that is gate k."""
    return ops.slice(x, ..., (k * size, (k + 1) * size))


@functools.lru_cache(64)
def _lstm_step(functions: tuple[_Function, ...], clip: float | None, coupled: bool) -> Any:
    """Return the function of one step. Its arguments: the products of x and h for the gates i, o, f, c, the cell, three
    peepholes."""
    f, g, h = functions

    def step(of_x: Any, of_h: Any, cell: Any, *peepholes: Any) -> Any:
        def gate(function: _Function, k: int) -> Any:
            total = ops.add(_gate(of_x, k, size), _gate(of_h, k, size))
            return _applied(
                function, ops.add(total, ops.mul(peepholes[k], cell)) if k < len(peepholes) else total, clip
            )

        size = cell.shape[-1]
        i = gate(f, 0)
        kept = ops.sub(1.0, i) if coupled else gate(f, 2)
        cell = ops.add(ops.mul(kept, cell), ops.mul(i, gate(g, 3)))
        return ops.mul(gate(f, 1), _applied(h, cell, None)), cell

    return fuse(step)


@functools.lru_cache(64)
def _gru_steps(functions: tuple[_Function, ...], clip: float | None, reset_first: bool) -> tuple[Any, Any]:
    """Return the functions of one step; the first one resets h, if this is done before its product."""
    f, g = functions

    def resets(of_x: Any, of_h: Any, hidden: Any) -> Any:
        size = hidden.shape[-1]
        return ops.mul(_applied(f, ops.add(_gate(of_x, 1, size), _gate(of_h, 1, size)), clip), hidden)

    def step(of_x: Any, of_h: Any, hidden: Any, candidate: Any) -> Any:
        size = hidden.shape[-1]
        update = _applied(f, ops.add(_gate(of_x, 0, size), _gate(of_h, 0, size)), clip)
        if not reset_first:
            reset = _applied(f, ops.add(_gate(of_x, 1, size), _gate(of_h, 1, size)), clip)
            candidate = ops.mul(reset, ops.add(_gate(of_h, 2, size), candidate))
        new = _applied(g, ops.add(_gate(of_x, 2, size), candidate), clip)
        return ops.add(ops.mul(ops.sub(1.0, update), new), ops.mul(update, hidden))

    return fuse(resets), fuse(step)


@functools.lru_cache(64)
def _rnn_step(function: _Function, clip: float | None) -> Any:
    return fuse(lambda of_x, of_h: _applied(function, ops.add(of_x, of_h), clip))


def lstm(
    x: Any, w: Any, r: Any, bias: Any = None, lengths: Any = None, hidden: Any = None, cell: Any = None,
    peepholes: Any = None, *, clip: float | None = None, input_forget: int = 0, layout: int = 0, **attributes: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Return h of all steps, and the last h and cell: the gates are i, o, f and c."""
    functions = _functions(_OF_GATES["lstm"], **attributes)

    def cell_of(k: int) -> tuple[Any, Any]:
        step, recurrent = _lstm_step(functions[k], clip, bool(input_forget)), _direction(r, k)
        holes = [] if peepholes is None else ops.split(_direction(peepholes, k), 3)
        offset = None if bias is None else ops.add(*ops.split(_direction(bias, k), 2))
        return offset, lambda of_x, h, c: step(of_x, ops.matmul(h, recurrent, transpose_x2=True), c, *holes)

    return _run(x, w, cell_of, lengths, [hidden, cell], r.shape[-1], layout, attributes["direction"])


def gru(
    x: Any, w: Any, r: Any, bias: Any = None, lengths: Any = None, hidden: Any = None, *, clip: float | None = None,
    linear_before_reset: int = 0, layout: int = 0, **attributes: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Return h of all steps, and the last h: the gates are z, r and h."""
    functions, size = _functions(_OF_GATES["gru"], **attributes), r.shape[-1]

    def cell_of(k: int) -> tuple[Any, Any]:
        resets, step = _gru_steps(functions[k], clip, not linear_before_reset)
        recurrent = _direction(r, k)
        of_gates, of_new = ops.split(recurrent, [2 * size])
        offset, later = None, 0.0
        if bias is not None:
            early, of_r = ops.split(_direction(bias, k), 2)
            if linear_before_reset:  # the last gate's is reset with its product
                of_r, later = ops.split(of_r, [2 * size])
                of_r = ops.pad(of_r, (0, size))
            offset = ops.add(early, of_r)

        def reset_after(of_x: Any, h: Any) -> tuple[Any]:
            return (step(of_x, ops.matmul(h, recurrent, transpose_x2=True), h, later),)

        def reset_before(of_x: Any, h: Any) -> tuple[Any]:
            of_h = ops.matmul(h, of_gates, transpose_x2=True)
            return (step(of_x, of_h, h, ops.matmul(resets(of_x, of_h, h), of_new, transpose_x2=True)),)

        return offset, reset_after if linear_before_reset else reset_before

    return _run(x, w, cell_of, lengths, [hidden], size, layout, attributes["direction"])


def rnn(
    x: Any, w: Any, r: Any, bias: Any = None, lengths: Any = None, hidden: Any = None, *, clip: float | None = None,
    layout: int = 0, **attributes: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Return h of all steps, and the last h."""
    functions = _functions(_OF_GATES["rnn"], **attributes)

    def cell_of(k: int) -> tuple[Any, Any]:
        step, recurrent = _rnn_step(functions[k][0], clip), _direction(r, k)
        offset = None if bias is None else ops.add(*ops.split(_direction(bias, k), 2))
        return offset, lambda of_x, h: (step(of_x, ops.matmul(h, recurrent, transpose_x2=True)),)

    return _run(x, w, cell_of, lengths, [hidden], r.shape[-1], layout, attributes["direction"])


def _direction(array: Any, k: int) -> Any:
    """Return the part of an array for direction k."""
    part = array if array.shape[0] == 1 else ops.slice(array, (k, k + 1))
    return part.reshape(array.shape[1:])


def _stacked(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Return arrays joined along a new axis, a single one without a copy."""
    shape = arrays[0].shape
    return ops.stack(arrays, axis) if len(arrays) > 1 else arrays[0].reshape((*shape[:axis], 1, *shape[axis:]))


def _run(
    x: Any, w: Any, cell_of: Callable[[int], tuple[Any, Callable[..., Any]]], lengths: Any, states: Sequence[Any],
    size: int, layout: int, direction: str,
) -> tuple[Any, ...]:  # fmt: skip
    """Return h of all steps, and the states after the last one.

    cell_of: returns, for a direction, an offset for all products with x, and a function of the product of a step and
    the states that returns the next states, h first.
    """
    if layout:
        x = ops.permute(x, (1, 0, 2))
        states = [None if one is None else ops.permute(one, (1, 0, 2)) for one in states]
    steps, rows, _ = x.shape
    if lengths is not None and not ((lengths >= 0) & (lengths <= steps)).all():
        raise ValueError(f"sequence_lens has {lengths.tolist()}; each must be one of 0 to {steps}")
    zeros = np.zeros((rows, size), x.dtype)
    all_h, last = [], []
    for k in range(w.shape[0]):
        offset, cell = cell_of(k)
        products = ops.matmul(x.reshape((steps * rows, x.shape[2])), _direction(w, k), transpose_x2=True)
        products = products if offset is None else ops.add(products, offset)
        now = [placed(zeros, x) if one is None else _direction(one, k) for one in states]
        found: list[Any] = [None] * steps
        of_steps = ops.split(products, steps) if steps > 1 else [products]
        for t in range(steps)[:: -1 if direction == "reverse" or k else 1]:
            new = cell(of_steps[t], *now)
            if lengths is not None and not (lengths > t).all():  # a sequence that has ended keeps its states
                goes_on = placed((lengths > t)[:, None], x)
                found[t] = ops.where(goes_on, new[0], placed(zeros, x))
                new = [ops.where(goes_on, one, old) for one, old in zip(new, now, strict=True)]
            else:
                found[t] = new[0]
            now = [*new]
        all_h.append(_stacked(found) if steps else placed(np.zeros((0, rows, size), x.dtype), x))
        last.append(now)
    results = [_stacked(all_h, 1), *(_stacked(one) for one in zip(*last, strict=True))]
    if layout:
        results = [ops.permute(results[0], (2, 0, 1, 3)), *(ops.permute(one, (1, 0, 2)) for one in results[1:])]
    return tuple(results)
