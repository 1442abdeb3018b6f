"""Recurrent layers: a product for the whole sequence, then steps, each with a product of its own."""

from __future__ import annotations

from typing import Any, Final

from ep import ops
from ep.expressions.walk import Walk
from ep.torch.table import Arguments, Call, add

_LSTM: Final = 2
"""The number that PyTorch gives to this kind of layer."""
_LEAST_STEPS: Final = 16
"""The fewest steps for which the recurrent weight is transposed: a product of few rows reads it faster then."""


def _lstm_step(parts: list[Any], states: list[Any], others: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return h, and the next h and c. The gates are i, f, c and o."""
    (of_x,), (hidden, cell), (recurrent,) = parts, states, others
    product = ops.matmul(hidden, recurrent, transpose_x2=recurrent.shape[1] == hidden.shape[1])
    i, f, g, o = ops.split(ops.add(product, of_x), 4, axis=-1)
    cell = ops.add(ops.mul(ops.sigmoid(f), cell), ops.mul(ops.sigmoid(i), ops.tanh(g)))
    hidden = ops.mul(ops.sigmoid(o), ops.tanh(cell))
    return [hidden], [hidden, cell]


_STEPS: Final = Walk(_lstm_step)


def _layer(c: Call, a: Arguments) -> Any:
    """Return h of all steps, and the last h and c. What PyTorch keeps for gradients is not computed."""
    x, states = a.input, [a.hx_, a.cx_]
    if a.mode != _LSTM or a.num_layers != 1 or a.bidirectional or a.batch_first or a.batch_sizes or c.is_read(3):
        raise NotImplementedError("a recurrent layer that is not one direction of one layer of an LSTM")
    size, rows = a.hidden_size, x.shape[:2]
    products = ops.matmul(x.reshape((-1, x.shape[2])), a.weight0, transpose_x2=True)
    if a.has_biases:
        products = ops.add(products, ops.add(a.weight2, a.weight3))
    given = products.reshape((*rows, 4 * size)), [one.reshape((rows[1], size)) for one in states]
    recurrent = a.weight1 if rows[0] < _LEAST_STEPS else ops.permute(a.weight1, (1, 0))
    (hidden,), last = _STEPS([given[0]], given[1], [recurrent], backwards=a.reverse)
    return hidden, *(one.reshape((1, rows[1], size)) for one in last), None


add({"mkldnn_rnn_layer.default": _layer})
