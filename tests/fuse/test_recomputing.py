"""Maps that the kernel which reads them computes, once or again: results are those of NumPy, and less is written."""

import numpy as np
import pytest

import ep
import ep.ops
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed

SHAPE = (5, 7)


def written(function, *arrays):
    """Return the bytes that the kernels of a function write, one after the other."""
    text = str(ep.fuse(function).explain(*arrays))
    return [int(line.rpartition("writes ")[2]) for line in text.splitlines() if "kernel of" in line]


def test_a_map_that_only_a_later_kernel_reads_is_computed_there(device):
    """The mean of all is no row kernel: the difference would be written before it is known."""
    x, y = (placed(device, np.ones(SHAPE, np.float32)) for _ in range(2))
    assert written(lambda x, y: x - y - ep.ops.sum(x * y, keepdims=True), x, y)[-1] == 4 * 5 * 7
    assert len(written(lambda x, y: x - y - ep.ops.sum(x * y, keepdims=True), x, y)) == 2


def test_a_light_map_is_computed_twice(device):
    """The first kernel sums it, and the second one reads x, not the differences."""

    def function(x, y):
        away = x - y
        rows = ep.ops.sum(away * away, -1, keepdims=True)
        return away * ep.ops.sum(rows, keepdims=True)

    x, y = placed(device, np.ones(SHAPE, np.float32)), placed(device, np.ones((1, 7), np.float32))
    assert written(function, x, y)[0] == 4 * 5


def draw(rng):
    """Return a random function of two arrays, for `ep.ops` and for NumPy: maps, and sums of rows, columns and all."""
    chosen = [(int(rng.integers(8)), *map(int, rng.integers(0, 2**16, 2))) for _ in range(int(rng.integers(6, 22)))]
    num_results = int(rng.integers(1, 4))

    def function(m, x, y):
        values = [x, y]
        for kind, one, other in chosen:
            a, b = values[-1 - one % min(len(values), 6)], values[other % len(values)]
            values.append(
                [
                    lambda a, b: a + b,
                    lambda a, b: a - b,
                    lambda a, b: a * b,
                    lambda a, b: m.sin(a) if m is np else ep.ops.sin(a),
                    lambda a, b: m.maximum(a, b),
                    lambda a, b: a - m.mean(a, -1, keepdims=True),
                    lambda a, b: b * m.sum(a, -1, keepdims=True) / 7,
                    lambda a, b: a - m.mean(b, (0, 1), keepdims=True),
                ][kind](a, b)
            )
        return tuple(values[-num_results:])

    return function


@pytest.mark.parametrize("number", range(12))
def test_random_functions(number, device, rng):
    for _ in range(4):
        function, arrays = draw(rng), [rng.standard_normal(SHAPE) for _ in range(2)]
        wanted = function(np, *arrays)
        found = ep.fuse(lambda x, y, function=function: function(ep.ops, x, y))(
            *(placed(device, one) for one in arrays)
        )
        for one, expected in zip(found, wanted, strict=True):
            most = max(np.max(np.abs(expected)), 1)
            np.testing.assert_allclose(host(one), np.broadcast_to(expected, one.shape), 1e-9, 1e-9 * most)
