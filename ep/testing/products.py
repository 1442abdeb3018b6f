"""The common part of the tests of the three matrix products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ep.include import DataType
from ep.testing.arrays import Array, Rng
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.references.matmul import check, matrices, product, stored


def written(device: DeviceUnderTest, c: Array, launch: Any) -> Any:
    """Return c after `launch(memory)`; `memory` has a copy of c and a few more elements, which must stay unchanged."""
    memory = device.guarded(c)
    launch(memory)
    return device.written(memory, c.shape)


def held(data_type: DataType, number: float) -> Any:
    """Return a number of a test, or for integers that cannot hold it another one."""
    kind = data_type.dtype.kind
    if kind in "iu" and (number != int(number) or (kind == "u" and number < 0)):
        return abs(int(4 * number))
    return number


def unread(array: Array) -> Any:
    """Return an array that must not be read; numbers that spread, unless they are integers."""
    return array if array.dtype.kind in "iu" else np.full_like(array, np.nan)


def try_dims(
    launch: Any,
    device: DeviceUnderTest,
    rng: Rng,
    data_type: DataType,
    transposes: Any,
    batches: Any,
    sizes: Any,
    alpha: Any = 1,
    beta: Any = 0,
) -> None:
    """Launch, and compare.

    launch: (device, data type, transposes, a, b, c, alpha, beta) -> c. alpha, beta: as `held` changes them.
    batches: the batch dims of a, b and c, before those of the matrices; sizes: m, n and k.
    """
    (of_a, of_b, of_c), (m, n, k) = batches, sizes
    alpha, beta = (held(data_type, number) for number in (alpha, beta))
    a = matrices(rng, data_type, *stored((*of_a, m, k), transposes[0]))
    b = matrices(rng, data_type, *stored((*of_b, k, n), transposes[1]))
    c = matrices(rng, data_type, *of_c, m, n)
    if beta == 0:
        c = unread(c)
    got = launch(device, data_type, transposes, a, b, c, alpha, beta)
    num_terms = math.prod(np.broadcast_shapes(of_a, of_b, of_c)) // max(math.prod(of_c), 1)
    check(got, *product(alpha, a, b, beta, c, transposes), k * num_terms)
