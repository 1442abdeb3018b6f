"""Products of broadcast batches as calls, each of which multiplies a strided batch of matrices."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ep.common.primitive.product import Product
from ep.common.primitive.strides import contiguous_strides

Triple = tuple[int, int, int]


class StridedBatch(NamedTuple):
    """A strided batch of products of `rows` rows: strides and offsets in elements of a, b and c.

    first: whether no earlier batch wrote these matrices of c. Later ones add to them.
    """

    rows: int
    batch_count: int
    strides: Triple
    offsets: Triple
    first: bool


def strided_batches(
    product: Product, transpose_a: bool, max_matrices: int, max_rows: int | None = None
) -> Iterator[StridedBatch]:
    """Yield one batch for the longest batch axis and each index on the other axes, one term after another.

    There are more if there are more matrices than `max_matrices`, or more rows than `max_rows`, unless it is
    None.
    """
    dims, of_a, of_b = product.batches
    of_c = [stride * product.m * product.n for stride in contiguous_strides(dims)]
    axes = list(zip(dims, of_a, of_b, of_c, strict=True))
    batch_count, *strides = axes.pop(dims.index(max(dims))) if axes else (1, 0, 0, 0)
    term_axes = [(size, a, b, 0) for size, a, b in zip(*product.terms, strict=True)]
    row_steps = 1 if transpose_a else product.k, 0, product.n
    pieces = [
        (rows, matrices, tuple(row * of_row + matrix * step for of_row, step in zip(row_steps, strides, strict=True)))
        for row, rows in _pieces(product.m, max_rows or product.m)
        for matrix, matrices in _pieces(batch_count, max_matrices)
    ]
    for number, term in enumerate(_offsets(term_axes)):
        for place in _offsets(axes):
            for rows, matrices, begin in pieces:
                a, b, c = (sum(offsets) for offsets in zip(term, place, begin, strict=True))
                yield StridedBatch(rows, matrices, (strides[0], strides[1], strides[2]), (a, b, c), number == 0)


def _pieces(size: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield the start and the size of pieces of at most a given size."""
    for begin in range(0, size, most):
        yield begin, min(most, size - begin)


def _offsets(axes: Sequence[tuple[int, int, int, int]]) -> Iterator[Triple]:
    """Yield the offsets of the matrices of a walk; an axis is its size and its strides."""
    for place in itertools.product(*(range(size) for size, *_ in axes)):
        a, b, c = (sum(index * axis[operand] for index, axis in zip(place, axes, strict=True)) for operand in (1, 2, 3))
        yield a, b, c
