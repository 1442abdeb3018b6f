"""Products of broadcast batches of matrices, merged into as few products as the data allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from ep.common.primitive.broadcast import Dims, broadcast_dims, simplify_walk
from ep.common.primitive.strides import broadcast_strides
from ep.include.errors import Argument, ArgumentValueError

_NAMES = "a_dims", "b_dims", "c_dims"
_BATCH_NAMES = [f"{name}[:-2]" for name in _NAMES]


class Walk(NamedTuple):
    """A walk over matrices of a and b, with strides in elements, 0 along axes that are broadcast."""

    dims: Dims
    a_strides: Dims
    b_strides: Dims

    @property
    def size(self) -> int:
        """The number of matrices that it visits."""
        return math.prod(self.dims)

    def outer(self) -> Walk:
        """Return the walk over all axes but the last."""
        return Walk(self.dims[:-1], self.a_strides[:-1], self.b_strides[:-1])


ONE: Final = Walk((), (), ())
"""The walk that visits one matrix."""


class Product(NamedTuple):
    """Products [m, k] by [k, n]: each matrix of c, in the order of memory, is the sum of some of them.

    batches: the offsets of the operands for each matrix of c; terms: the offsets, from there, of each product of the
        sum.
    """

    m: int
    n: int
    k: int
    batches: Walk
    terms: Walk


def matrix_sizes(
    a_dims: Dims, b_dims: Dims, c_dims: Dims, transpose_a: bool, transpose_b: bool
) -> tuple[int, int, int]:
    """Return m, n and k of a product.

    Raises ValueError, with the names of Launch's arguments, if the dims have none.
    """
    for dims, name in zip((a_dims, b_dims, c_dims), _NAMES, strict=True):
        if len(dims) < 2:
            raise ArgumentValueError(name, f"is {dims}; it must have at least the two dims of a matrix")
    m, k = reversed(a_dims[-2:]) if transpose_a else a_dims[-2:]
    other_k, n = reversed(b_dims[-2:]) if transpose_b else b_dims[-2:]
    if k != other_k:
        raise ArgumentValueError(
            "a_dims",
            f"{a_dims} has k = {k}, and",
            Argument("b_dims"),
            f"{b_dims} has k = {other_k}; they must be equal",
        )
    if c_dims[-2:] != (m, n):
        raise ArgumentValueError(
            "c_dims",
            f"{c_dims} ends with {c_dims[-2:]}; the product of",
            Argument("a"),
            "and",
            Argument("b"),
            f"has (m, n) = {(m, n)}",
        )
    return m, n, k


def broadcast_product(a_dims: Dims, b_dims: Dims, c_dims: Dims, transpose_a: bool, transpose_b: bool) -> Product:
    """Return the product of broadcast batches. Axes of c may be broadcast too: products along them are summed.

    Raises ValueError, with the names of Launch's arguments, if the dims do not fit together. If the order of memory
    allows, axes are merged into m or k, so that one product replaces many.
    """
    m, n, k = matrix_sizes(a_dims, b_dims, c_dims, transpose_a, transpose_b)
    each = a_dims[:-2], b_dims[:-2], c_dims[:-2]
    dims = broadcast_dims(*each, names=_BATCH_NAMES)
    steps = broadcast_strides(each[0], len(dims), m * k), broadcast_strides(each[1], len(dims), k * n)
    batches, terms = walks_over(dims, each[2], *steps)
    if 0 not in dims and k:
        m, batches = _fold_rows(m, k, batches, transpose_a)
        k, terms = _fold_depth(m, n, k, batches, terms, transpose_a, transpose_b)
    return Product(m, n, k, batches, terms)


def walks_over(dims: Dims, of_c: Dims, a_strides: Dims, b_strides: Dims) -> tuple[Walk, Walk]:
    """Return the walks over the matrices of c and over the products that are summed. of_c: the axes of c."""
    of_c = (1,) * (len(dims) - len(of_c)) + of_c
    if of_c == dims:
        return walk_over(dims, a_strides, b_strides), ONE
    # an axis of c has its own size, even if it is 1; the other axes are summed
    axes = [*zip(dims, of_c, a_strides, b_strides, strict=True)]
    batches = _walk_of_axes([(size, a, b) for size, kept, a, b in axes if kept == size])
    return batches, _walk_of_axes([(size, a, b) for size, kept, a, b in axes if kept != size])


def _walk_of_axes(axes: Sequence[tuple[int, int, int]]) -> Walk:
    return walk_over(*zip(*axes, strict=True)) if axes else ONE


def walk_over(dims: Dims, a_strides: Dims, b_strides: Dims) -> Walk:
    """Return the walk over axes, in as few as possible."""
    if 0 in dims:
        return Walk(dims, a_strides, b_strides)
    simple = Walk(*simplify_walk(dims, a_strides, b_strides))
    return ONE if simple.dims == (1,) else simple


def _fold_rows(m: int, k: int, batches: Walk, transpose_a: bool) -> tuple[int, Walk]:
    """Merge the last axis of batches into the rows of a and c, if b is the same along it."""
    if batches.dims and not transpose_a and batches.b_strides[-1] == 0 and batches.a_strides[-1] == m * k:
        return m * batches.dims[-1], batches.outer()
    return m, batches


def _fold_depth(
    m: int, n: int, k: int, batches: Walk, terms: Walk, transpose_a: bool, transpose_b: bool
) -> tuple[int, Walk]:
    """Merge the last axis of terms into k, if a is [k, m] and b is [k, n] in memory."""
    adjacent = terms.dims and (terms.a_strides[-1], terms.b_strides[-1]) == (m * k, k * n)
    if adjacent and transpose_a and not transpose_b:
        return k * terms.dims[-1], terms.outer()
    return k, terms
