"""Recurrent operators: a product for the whole sequence, then steps, each with a product of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ep import ops
from ep.expressions.recurrent import Activation, Step, gates, lstm_step, recurrence
from ep.onnx.operators import elementwise as e
from ep.onnx.operators.fitting import check, check_rank, check_shape, numbers
from ep.onnx.operators.line import line, one_of
from ep.onnx.operators.placing import placed

NDArray = np.ndarray[Any, Any]

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


def _functions(
    default: Sequence[str], *, direction: str = "forward", activations: Any = None, activation_alpha: Any = None,
    activation_beta: Any = None, **_: Any,
) -> list[tuple[_Function, ...]]:  # fmt: skip
    """Return the functions of each direction with their alpha and beta, which are assigned in order to functions that
    have them."""
    count = 2 if direction == "bidirectional" else 1
    names = [*default] * count if activations is None else [name.lower() for name in activations]
    if names == ["tanh", "tanh"] and len(default) == 1:  # by default, RNN has a second one, for the other direction
        names = names[:count]
    if len(names) != len(default) * count:
        raise NotImplementedError(f"activations has {len(names)} names; it must have {len(default) * count}")
    given = iter(activation_alpha or ()), iter(activation_beta or ())
    found = []
    for k, name in enumerate(names):
        if name not in _ACTIVATIONS:
            raise NotImplementedError(f"activation {activations[k]} is none of {', '.join(_ACTIVATIONS)}")
        numbers = _ACTIVATIONS[name][1]
        found.append((name, tuple(next(one, number) for one, number in zip(given, numbers, strict=False))))
    for argument, left, all_given in zip(
        ("activation_alpha", "activation_beta"), given, (activation_alpha, activation_beta), strict=True
    ):
        if more := len([*left]):
            raise NotImplementedError(
                f"{argument} is {all_given}; it must have {len(all_given) - more} numbers, as the functions have"
            )
    return [tuple(found[k : k + len(default)]) for k in range(0, len(found), len(default))]


_OF_GATES: Final = {"lstm": ("sigmoid", "tanh", "tanh"), "gru": ("sigmoid", "tanh"), "rnn": ("tanh",)}
"""The functions of gates by default."""


_check_direction: Final = one_of(direction=("forward", "reverse", "bidirectional"))


def check_functions(operator: str) -> Callable[..., Any]:
    """Return what takes attributes and raises NotImplementedError for values that there are not."""

    def check_all(*, clip: float | None = None, **attributes: Any) -> None:
        _check_direction(**attributes)
        if clip is not None and not clip >= 0:
            raise NotImplementedError(f"clip is {clip}; it must be 0 or more")
        _functions(_OF_GATES[operator], **attributes)

    return check_all


@functools.lru_cache(64)
def _activation(function: _Function, clip: float | None) -> Activation:
    """Return the function of an array that is limited first: for equal arguments the same one."""
    name, numbers = function
    return lambda x: _ACTIVATIONS[name][0](x if clip is None else e.clip(x, -clip, clip), *numbers)


@functools.lru_cache(64)
def _gru_step(functions: tuple[_Function, ...], clip: float | None, reset_first: bool) -> Step:
    """Return the step of gates z, r and h. reset_first: whether h is reset before its product.

    Its weights are then those of the first two gates and those of the last one; else all of them, and the offset of the
    product of the last one.
    """
    f, g = (_activation(function, clip) for function in functions)

    def step(of_x: Sequence[Any], states: Sequence[Any], weights: Any, last: Any) -> list[Any]:
        (hidden,) = states
        of_h = gates(ops.matmul(hidden, weights, transpose_x2=True), 2 if reset_first else 3)
        update, reset = (f(ops.add(of_x[k], of_h[k])) for k in (0, 1))
        if reset_first:
            candidate = ops.matmul(ops.mul(reset, hidden), last, transpose_x2=True)
        else:
            candidate = ops.mul(reset, ops.add(of_h[2], last))
        new = g(ops.add(of_x[2], candidate))
        return [ops.add(ops.mul(ops.sub(1.0, update), new), ops.mul(update, hidden))]

    return step


@functools.lru_cache(64)
def _rnn_step(function: _Function, clip: float | None) -> Step:
    def step(of_x: Sequence[Any], states: Sequence[Any], recurrent: Any) -> list[Any]:
        of_h = ops.matmul(states[0], recurrent, transpose_x2=True)
        return [_activation(function, clip)(ops.add(of_x[0], of_h))]

    return step


def going_on(x: Any, lengths: NDArray, *, layout: int = 0, **_: Any) -> NDArray | None:
    """Return for each step which sequences go on; None if all go on to the end.

    x: an array with the sequences, of which the shape is read. Raises ValueError for lengths that no sequence has.
    """
    check_rank("X", x, 3)
    rows, steps = x.shape[:2] if layout else x.shape[1::-1]
    each = numbers("sequence_lens", lengths, rows)
    check(all(0 <= one <= steps for one in each), "sequence_lens", each, f"numbers of 0 to {steps} steps")
    return (lengths > np.arange(steps)[:, None])[..., None] if (lengths < steps).any() else None


@line("LSTM", 7, host=(4,), check=check_functions("lstm"), of_data=going_on)
def lstm(
    x: Any, w: Any, r: Any, bias: Any = None, lengths: Any = None, hidden: Any = None, cell: Any = None,
    peepholes: Any = None, *, clip: float | None = None, input_forget: int = 0, layout: int = 0, **attributes: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Return h of all steps, and the last h and cell: the gates are i, o, f and c."""
    check_shapes(4, x, w, r, bias, layout, initial_h=hidden, initial_c=cell, **attributes)
    recurrent = [[one] for one in directions_of(r)]
    weights = Weights(_products_with(w), recurrent)
    return lstm_of(
        x, weights, bias, lengths, hidden, cell, peepholes, r.shape[2], clip, input_forget, layout, attributes
    )


class Weights(NamedTuple):
    """The weights of an LSTM. of_x: for each direction, what returns the products of the rows of x. recurrent: for each
    direction, the factors of h. product: of h and these, None for the usual one."""

    of_x: Sequence[Callable[[Any], Any]]
    recurrent: Sequence[Sequence[Any]]
    product: Callable[..., Any] | None = None


def lstm_of(
    x: Any, weights: Weights, bias: Any, lengths: Any, hidden: Any, cell: Any, peepholes: Any, size: int,
    clip: float | None, input_forget: int, layout: int, attributes: Mapping[str, Any],
) -> tuple[Any, ...]:  # fmt: skip
    """Return what `lstm` does, for weights in any form. size: of h."""
    functions = _functions(_OF_GATES["lstm"], **attributes)
    check_shape("P", peepholes, (len(weights.of_x), 3 * size))

    def step_of(three: tuple[_Function, ...]) -> Step:
        f, g, h = three
        activations = _activation(f, clip), _activation(g, clip), _activation(h, None)
        if weights.product is None:
            return lstm_step(activations, "iofc", bool(input_forget))
        return lstm_step(activations, "iofc", bool(input_forget), weights.product, len(weights.recurrent[0]))

    def cell_of(k: int) -> _Cell:
        holes = [] if peepholes is None else ops.split(_direction(peepholes, k), 3)
        offset = None if bias is None else ops.add(*ops.split(_direction(bias, k), 2))
        return offset, step_of(functions[k]), [*weights.recurrent[k], *holes]

    return _run(x, weights.of_x, 4, cell_of, lengths, [hidden, cell], size, layout, attributes["direction"])


@line("GRU", 7, host=(4,), check=check_functions("gru"), of_data=going_on)
def gru(
    x: Any, w: Any, r: Any, bias: Any = None, lengths: Any = None, hidden: Any = None, *, clip: float | None = None,
    linear_before_reset: int = 0, layout: int = 0, **attributes: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Return h of all steps, and the last h: the gates are z, r and h."""
    functions, size = _functions(_OF_GATES["gru"], **attributes), r.shape[-1]
    check_shapes(3, x, w, r, bias, layout, initial_h=hidden, **attributes)

    def cell_of(k: int) -> _Cell:
        recurrent, offset = _direction(r, k), None
        weights = [recurrent, placed(np.zeros(size, x.dtype), x)]
        if not linear_before_reset:
            weights = ops.split(recurrent, [2 * size])
        if bias is not None:
            early, of_r = ops.split(_direction(bias, k), 2)
            if linear_before_reset:  # the last gate's is reset with its product
                of_r, weights[1] = ops.split(of_r, [2 * size])
                of_r = ops.pad(of_r, (0, size))
            offset = ops.add(early, of_r)
        return offset, _gru_step(functions[k], clip, not linear_before_reset), weights

    return _run(x, _products_with(w), 3, cell_of, lengths, [hidden], size, layout, attributes["direction"])


@line("RNN", 7, host=(4,), check=check_functions("rnn"), of_data=going_on)
def rnn(
    x: Any, w: Any, r: Any, bias: Any = None, lengths: Any = None, hidden: Any = None, *, clip: float | None = None,
    layout: int = 0, **attributes: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Return h of all steps, and the last h."""
    functions = _functions(_OF_GATES["rnn"], **attributes)
    check_shapes(1, x, w, r, bias, layout, initial_h=hidden, **attributes)

    def cell_of(k: int) -> _Cell:
        offset = None if bias is None else ops.add(*ops.split(_direction(bias, k), 2))
        return offset, _rnn_step(functions[k][0], clip), [_direction(r, k)]

    return _run(x, _products_with(w), 1, cell_of, lengths, [hidden], r.shape[-1], layout, attributes["direction"])


def check_shapes(
    gates: int, x: Any, w: Any, r: Any, bias: Any, layout: int, *, direction: str, hidden_size: int | None = None,
    initial_h: Any = None, initial_c: Any = None, **_: Any,
) -> None:  # fmt: skip
    """Raise ValueError for inputs whose shapes do not fit each other and the attributes. gates: of the operator."""
    check_rank("X", x, 3)
    check_rank("R", r, 3)
    directions, size, rows = 2 if direction == "bidirectional" else 1, r.shape[2], x.shape[0 if layout else 1]
    check(hidden_size in (None, size), "hidden_size", hidden_size, f"{size}, as R of shape {tuple(r.shape)} has")
    check_shape("W", w, (directions, gates * size, x.shape[2]))
    check_shape("R", r, (directions, gates * size, size))
    check_shape("B", bias, (directions, 2 * gates * size))
    for argument, one in (("initial_h", initial_h), ("initial_c", initial_c)):
        check_shape(argument, one, (rows, directions, size) if layout else (directions, rows, size))


def _direction(array: Any, k: int) -> Any:
    """Return the part of an array for direction k."""
    part = array if array.shape[0] == 1 else ops.slice(array, (k, k + 1))
    return part.reshape(array.shape[1:])


def directions_of(array: Any) -> list[Any]:
    """Return the parts of an array, one for each direction."""
    return [_direction(array, k) for k in range(array.shape[0])]


def _products_with(w: Any) -> list[Callable[[Any], Any]]:
    """Return for each direction what multiplies rows by its weights, the rows of a matrix."""
    return [functools.partial(ops.matmul, x2=one, transpose_x2=True) for one in directions_of(w)]


def _stacked(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Return arrays joined along a new axis, a single one without a copy."""
    shape = arrays[0].shape
    return ops.stack(arrays, axis) if len(arrays) > 1 else arrays[0].reshape((*shape[:axis], 1, *shape[axis:]))


_Cell = tuple[Any, Step, Sequence[Any]]
"""The offset of all products with x, the step, and its weights."""


def _run(
    x: Any, of_x: Sequence[Callable[[Any], Any]], num_gates: int, cell_of: Callable[[int], _Cell], lengths: Any,
    states: Sequence[Any], size: int, layout: int, direction: str,
) -> tuple[Any, ...]:  # fmt: skip
    """Return h of all steps, and the states after the last one.

    of_x: for each direction, what returns the products of the rows of x with the weights of all gates.
    cell_of: returns the cell of a direction. lengths: those of the sequences, or the result of `going_on`.
    """
    if layout:
        x = ops.permute(x, (1, 0, 2))
        states = [None if one is None else ops.permute(one, (1, 0, 2)) for one in states]
    steps, rows, _ = x.shape
    masks = lengths
    if lengths is not None and lengths.dtype != bool:
        found = going_on(x, lengths)
        masks = None if found is None else placed(found, x)
    zeros = placed(np.zeros((rows, size), x.dtype), x)
    all_h, last = [], []
    for k, product in enumerate(of_x):
        offset, step, weights = cell_of(k)
        products = product(x.reshape((steps * rows, x.shape[2])))
        products = (products if offset is None else ops.add(products, offset)).reshape((steps, rows, num_gates * size))
        now: list[Any] = [zeros if one is None else _direction(one, k) for one in states]
        of_h = placed(np.zeros((0, rows, size), x.dtype), x)
        if steps:
            arrays, others = ([products], weights) if masks is None else ([products, masks], [zeros, *weights])
            steps_of = recurrence(step, num_gates, masks is not None)
            (of_h,), now = steps_of(arrays, now, others, backwards=direction == "reverse" or k > 0)
        all_h.append(of_h)
        last.append(now)
    results = [_stacked(all_h, 1), *(_stacked(one) for one in zip(*last, strict=True))]
    if layout:
        results = [ops.permute(results[0], (2, 0, 1, 3)), *(ops.permute(one, (1, 0, 2)) for one in results[1:])]
    return tuple(results)
