"""Cases of matrix products."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ep.bench import numpy_ways
from ep.bench.case import Arrays, Call, Case, MatmulWork
from ep.bench.data import Array, Input
from ep.include.data_type import DTypeLike
from ep.include.primitive import BatchMatmul, BlasTransposeType, BroadcastMatmul, Matmul

_N, _T = BlasTransposeType


def matmul(
    name: str,
    m: int,
    n: int,
    k: int,
    dtype: DTypeLike = np.float32,
    batch_size: int = 0,
    transpose_b: bool = False,
    has_weights: bool = False,
    **about: Any,
) -> Case:
    """Return a case of `[m, k]` by `[k, n]`, or a batch of them if batch_size > 0; has_weights: b is constant."""
    item, batch = np.dtype(dtype), (batch_size,) * bool(batch_size)
    sizes = (*batch, m, n, k)
    return _case(
        *(name, BatchMatmul if batch else Matmul, (item, _N, _T if transpose_b else _N)),
        ((*batch, m, k), (*batch, n, k) if transpose_b else (*batch, k, n), (*batch, m, n)),
        MatmulWork(transpose_b, has_weights),
        lambda inputs, out: (*sizes, 1, inputs[0], inputs[1], 0, out),
        **about,
    )


def broadcast_matmul(
    name: str, batch: int, m: int, n: int, k: int, dtype: DTypeLike = np.float32, **about: Any
) -> Case:
    """Return a case that multiplies the matrices of a batch by one matrix."""
    a_dims, b_dims, c_dims = (batch, m, k), (k, n), (batch, m, n)
    return _case(
        *(name, BroadcastMatmul, (np.dtype(dtype), _N, _N, 3), (a_dims, b_dims, c_dims), MatmulWork()),
        lambda inputs, out: (1, a_dims, inputs[0], b_dims, inputs[1], 0, c_dims, out),
        **about,
    )


def _case(
    name: str,
    primitive: type[Any],
    key: tuple[Any, ...],
    dims: tuple[tuple[int, ...], ...],
    work: MatmulWork,
    arguments: Any,
    **about: Any,
) -> Case:
    a_dims, b_dims, c_dims = dims
    item: np.dtype[Any] = key[0]

    def numpy(inputs: Arrays, out: Array) -> Call:
        a, b = inputs
        return partial(numpy_ways.matmul, a, b.swapaxes(-1, -2) if work.transpose_b else b, out)

    # each of k partial sums of normal numbers, which grow with the square root of k, is rounded
    depth = max(a_dims[-1], 16)
    error = {2: 2.0**-6, 4: 2.0**-22 * depth, 8: 2.0**-51 * depth}[item.itemsize]
    return Case(
        name, primitive, key, work, (Input(a_dims, item), Input(b_dims, item)), c_dims, item, arguments, numpy,
        operations=2 * a_dims[-1] * int(np.prod(c_dims)), relative_error=error, absolute_error=error, **about,
    )  # fmt: skip
