"""The softmaxes of rows and their gradients, in long double; and the largest term of each result."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

Rows: TypeAlias = np.ndarray
Exact: TypeAlias = Callable[..., tuple[Rows, Rows]]
"""A function of the operands. It returns the results, and the least magnitudes whose ulps measure their errors."""


def _wide(*operands: Rows) -> list[Rows]:
    # NumPy does not support bfloat16 itself, but converts it to float64
    return [operand.astype(np.float64).astype(np.longdouble) for operand in operands]


def softmax(x: Rows) -> tuple[Rows, Rows]:
    (x,) = _wide(x)
    with np.errstate(all="ignore"):
        e = np.exp(x - x.max(axis=1, keepdims=True, initial=-np.inf))
        y = e / e.sum(axis=1, keepdims=True)
    return y, np.zeros_like(y)


def log_softmax(x: Rows) -> tuple[Rows, Rows]:
    epsilon = 2.0**-53 if x.dtype == np.float64 else 2.0**-24
    (x,) = _wide(x)
    with np.errstate(all="ignore"):
        d = x - x.max(axis=1, keepdims=True, initial=-np.inf)
        e = np.exp(d)
        # for the largest element, log1p keeps the small rest: the sum of the others
        rest = e.sum(axis=1, keepdims=True) - 1
        small = np.sort(e, axis=1)[:, :-1].sum(axis=1, keepdims=True)
        y = d - np.log1p(np.where(rest < 1, small, rest))
    return y, np.full_like(y, epsilon)


def softmax_backward(y: Rows, dy: Rows) -> tuple[Rows, Rows]:
    y, dy = _wide(y, dy)
    with np.errstate(all="ignore"):
        dx = y * (dy - (y * dy).sum(axis=1, keepdims=True))
        return dx, np.abs(y) * np.maximum(np.abs(dy), np.abs(y * dy).sum(axis=1, keepdims=True))


def log_softmax_backward(y: Rows, dy: Rows) -> tuple[Rows, Rows]:
    y, dy = _wide(y, dy)
    with np.errstate(all="ignore"):
        dx = dy - np.exp(y) * dy.sum(axis=1, keepdims=True)
        return dx, np.maximum(np.abs(dy), np.exp(y) * np.abs(dy).sum(axis=1, keepdims=True))
