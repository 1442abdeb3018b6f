"""The ops as NumPy computes them: one ufunc if it has one, else several, always without a temporary.

Each function is called with the operands and the array of the result. Functions that NumPy lacks are computed number by
number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ep.bench.case import Arrays, Call
from ep.bench.data import Array
from ep.include.primitive import BinaryOp, ReduceOp, UnaryOp
from ep.include.primitive.op_table import OPS
from ep.include.primitive.reduce_op import EXTREMES, TRUTHS

Way = Callable[..., object]


def relu(x: Array, out: Array) -> None:
    """Compute max(x, 0)."""
    np.maximum(x, x.dtype.type(0), out=out)


def reciprocal_sqrt(x: Array, out: Array) -> None:
    """Compute 1 / sqrt(x)."""
    np.sqrt(x, out=out)
    np.reciprocal(out, out=out)


def sigmoid(x: Array, out: Array) -> None:
    """Compute 1 / (1 + exp(-x))."""
    one = x.dtype.type(1)
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, one, out=out)
    np.divide(one, out, out=out)


def silu(x: Array, out: Array) -> None:
    """Compute x / (1 + exp(-x))."""
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, x.dtype.type(1), out=out)
    np.divide(x, out, out=out)


def quick_gelu(x: Array, out: Array) -> None:
    """Compute x / (1 + exp(-1.702 x))."""
    np.multiply(x, x.dtype.type(-1.702), out=out)
    np.exp(out, out=out)
    np.add(out, x.dtype.type(1), out=out)
    np.divide(x, out, out=out)


def softplus(x: Array, out: Array) -> None:
    """Compute log(1 + exp(x))."""
    np.logaddexp(x, x.dtype.type(0), out=out)


def log_sigmoid(x: Array, out: Array) -> None:
    """Compute -log(1 + exp(-x))."""
    np.negative(x, out=out)
    np.logaddexp(out, x.dtype.type(0), out=out)
    np.negative(out, out=out)


def mish(x: Array, out: Array) -> None:
    """Compute x tanh(log(1 + exp(x)))."""
    softplus(x, out)
    np.tanh(out, out=out)
    np.multiply(out, x, out=out)


def elu(x: Array, out: Array) -> None:
    """Compute x, or exp(x) - 1 below 0."""
    np.minimum(x, x.dtype.type(0), out=out)
    np.expm1(out, out=out)
    np.maximum(x, out, out=out)  # exp(x) - 1 is x or more only at 0 and below


def fast_gelu(x: Array, out: Array) -> None:
    """Compute 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))."""
    number = x.dtype.type
    np.multiply(x, x, out=out)
    np.multiply(out, number(0.044715), out=out)
    np.add(out, number(1), out=out)
    np.multiply(out, x, out=out)
    np.multiply(out, number(math.sqrt(2 / math.pi)), out=out)
    np.tanh(out, out=out)
    np.add(out, number(1), out=out)
    np.multiply(out, x, out=out)
    np.multiply(out, number(0.5), out=out)


def where(cond: Array, x: Array, y: Array, out: Array) -> None:
    """Compute x where cond is true, else y: `np.where` has no `out`."""
    np.copyto(out, y)
    np.copyto(out, x, where=cond)


def add(srcs: Arrays, out: Array) -> None:
    """Compute the sum from the left."""
    first, second, *others = srcs
    np.add(first, second, out=out)
    for other in others:
        np.add(out, other, out=out)


def matmul(a: Array, b: Array, out: Array) -> None:
    """Compute the product; of 16-bit types in float32, since NumPy has no product that accumulates in it."""
    if out.dtype.itemsize == 2:
        out[...] = np.matmul(a.astype(np.float32), b.astype(np.float32))
    else:
        np.matmul(a, b, out=out)


def softmax(x: Array, out: Array, log: bool) -> None:
    """Compute exp(x) / sum(exp(x)) of each row, or its logarithm; of 16-bit types in float32."""
    if out.dtype.itemsize == 2:
        wide = x.astype(np.float32)
        softmax(wide, wide, log)
        out[...] = wide
        return
    np.subtract(x, x.max(-1, keepdims=True), out=out)
    if log:
        np.subtract(out, np.log(np.exp(out).sum(-1, keepdims=True)), out=out)
    else:
        np.exp(out, out=out)
        np.divide(out, out.sum(-1, keepdims=True), out=out)


def softmax_backward(y: Array, dy: Array, out: Array, log: bool) -> None:
    """Compute (dy - sum(y dy)) y of each row, or dy - exp(y) sum(dy); of 16-bit types in float32."""
    if out.dtype.itemsize == 2:
        wide = y.astype(np.float32)
        softmax_backward(wide, dy.astype(np.float32), wide, log)
        out[...] = wide
        return
    if log:
        np.subtract(dy, np.exp(y) * dy.sum(-1, keepdims=True), out=out)
    else:
        np.multiply(y, dy - (y * dy).sum(-1, keepdims=True), out=out)


def reduce(op: ReduceOp, src: Array, axes: tuple[int, ...], out: Array) -> None:
    """Reduce all elements along the axes to one value; sums in the type of src, of 16-bit floats in float32."""
    function = getattr(np, op.name.removeprefix("k").lower())
    if op in EXTREMES + TRUTHS:
        function(src, axis=axes, out=out)
    elif out.dtype.itemsize == 2 and out.dtype.kind not in "iu":
        out[...] = function(src.astype(np.float32), axis=axes)
    else:
        function(src, axis=axes, dtype=out.dtype, out=out)


def segment_sum(rows: Array, ids: Array, out: Array) -> None:
    """Compute the sum of the rows of each segment; of 16-bit floats in float32."""
    wide = np.zeros(out.shape, np.float32) if out.dtype.itemsize == 2 and out.dtype.kind not in "iu" else out
    wide.fill(0)
    np.add.at(wide, ids if ids.ndim == 1 else (np.arange(len(ids))[:, None], ids), rows.astype(wide.dtype, copy=False))
    if wide is not out:
        out[...] = wide


def scan(src: Array, axis: int, out: Array) -> None:
    """Compute the sums of all elements up to each one; of 16-bit floats in float32."""
    if out.dtype.itemsize == 2 and out.dtype.kind not in "iu":
        out[...] = np.cumsum(src.astype(np.float32), axis)
    else:
        np.cumsum(src, axis, out.dtype, out)


def places(x: Array, out: Array) -> None:
    """Write the places of the largest elements of each row, the largest first; of equal ones the first."""
    last, wide = x.shape[-1] - 1, x.astype(np.float32) if x.dtype.kind == "V" else x
    if out.shape[-1] == 1:
        np.argmax(wide, -1, out[:, 0])
    else:
        out[...] = (last - np.argsort(wide[:, ::-1], -1, kind="stable")[:, ::-1])[:, : out.shape[-1]]


def leaf_sums(x: Array, words: Array, roots: Array, depth: int, out: Array) -> None:
    """Add the weights of the leaves that rows reach in complete trees, whose words TreeEnsemble describes."""
    rows, numbers = np.arange(len(x))[:, None], words.view(x.dtype)
    node = np.broadcast_to(roots, (len(x), len(roots)))
    for _ in range(depth):
        is_not_above = x[rows, words[node + 1]] <= numbers[node]
        node = node + words[node + 2 + is_not_above]
    np.sum(numbers[node], axis=1, keepdims=True, out=out)


def box(begin: Sequence[int], dims: Sequence[int]) -> tuple[slice, ...]:
    """Return the index for the box of `dims` that begins at `begin`."""
    return tuple(slice(start, start + size) for start, size in zip(begin, dims, strict=True))


def inside_border(src: Any, before: Sequence[int], out: Any) -> tuple[Any, Any]:
    """Return the part of `out` inside the border, and the part of `src` for it: `np.pad` has no `out`."""
    begin = [max(size, 0) for size in before]
    end = [min(size + there, room) for size, there, room in zip(before, src.shape, out.shape, strict=True)]
    inside = [stop - start for start, stop in zip(begin, end, strict=True)]
    from_src = [start - size for start, size in zip(begin, before, strict=True)]
    return out[box(begin, inside)], src[box(from_src, inside)]


def one_hot(indices: Array, out: Array) -> Call:
    """Return a call that writes zeros, and a one in each row."""
    rows = np.arange(len(indices))

    def way() -> None:
        out.fill(0)
        out[rows, indices] = 1

    return way


def one_by_one(function: Callable[[float], float]) -> Way:
    """Return a way to compute a function that only the standard library has."""
    each: Any = np.frompyfunc(function, 1, 1)

    def way(x: Array, out: Array) -> None:
        out[...] = each(x.astype(np.float64)).astype(np.float64).astype(out.dtype)

    return way


def _selu(x: float) -> float:
    return 1.0507009873554804934193349852946 * (x if x > 0 else 1.6732632423543772848170429916717 * math.expm1(x))


def _digamma(x: float) -> float:
    """Return digamma of x > 0: recurrence up to 10, then the asymptotic series."""
    shift = 0.0
    while x < 10:
        shift, x = shift - 1 / x, x + 1
    square = 1 / (x * x)
    tail = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return shift + math.log(x) - 0.5 / x - tail


def _of_numpy(op: UnaryOp | BinaryOp) -> Any:
    """Return NumPy's function with a name of the op; None if it has none."""
    found = (getattr(np, name, None) for name in (op.name.removeprefix("k").lower(), OPS[op].alias))
    return next((one for one in found if isinstance(one, np.ufunc)), None)


UNARY: Final[Mapping[UnaryOp, Way]] = {
    **{op: function for op in UnaryOp if (function := _of_numpy(op))},
    UnaryOp.kIdentity: lambda x, out: np.copyto(out, x),
    UnaryOp.kRelu: relu,
    UnaryOp.kRsqrt: reciprocal_sqrt,
    UnaryOp.kSigmoid: sigmoid,
    UnaryOp.kLogSigmoid: log_sigmoid,
    UnaryOp.kSilu: silu,
    UnaryOp.kMish: mish,
    UnaryOp.kSoftPlus: softplus,
    UnaryOp.kElu: elu,
    UnaryOp.kFastGelu: fast_gelu,
    UnaryOp.kQuickGelu: quick_gelu,
}
"""The unary ops that NumPy can compute, each in the fastest way."""

ONE_BY_ONE: Final[Mapping[UnaryOp, Way]] = {
    UnaryOp.kErf: one_by_one(math.erf),
    UnaryOp.kErfc: one_by_one(math.erfc),
    UnaryOp.kGelu: one_by_one(lambda x: 0.5 * x * math.erfc(-x / math.sqrt(2))),
    UnaryOp.kSelu: one_by_one(_selu),
    UnaryOp.kLgamma: one_by_one(math.lgamma),
    UnaryOp.kDigamma: one_by_one(_digamma),
}
"""The unary ops that NumPy cannot compute."""

BINARY: Final[Mapping[BinaryOp, Any]] = {op: function for op in BinaryOp if (function := _of_numpy(op))}
"""The binary ops that NumPy has."""
