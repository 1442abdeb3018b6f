"""In a fused function, a row gives the same bits whatever other rows hold; so does a column that is reduced."""

import numpy as np
import pytest

import ep
from ep.include.number_kind import FLOATS
from ep.ops import copy_to_host as host
from ep.testing.primitive.test_neighbours import small, special
from ep.testing.samples import finite
from tests.fuse.placing import placed
from tests.fuse.test_random_graphs import bits
from tests.fuse.test_rows import layer_norm

ops = ep.ops
FUNCTIONS = {
    "mean": lambda x, axis: ops.mean(x * 1.5, axis, keepdims=True) + x * 0.5,
    "mean alone": lambda x, axis: ops.mean(x * 1.5, axis, keepdims=True),
    "sum": lambda x, axis: ops.sum(x * x, axis, keepdims=True) - x,
    "max": lambda x, axis: ops.max(x * 2.0, axis, keepdims=True) - x,
    "layer norm": lambda x, axis: layer_norm(x, 1.25, 0.5) * ops.mean(x, axis, keepdims=True),
    "softmax": lambda x, axis: ops.softmax(x * 2.0, axis) + ops.log_softmax(x, axis),
}


@pytest.mark.parametrize("data_type", FLOATS, ids=lambda one: one.name)
@pytest.mark.parametrize(("shape", "axis"), [((7, 37), 1), ((37, 7), 0), ((11, 1), 1), ((1, 11), 0), ((5, 3, 7), 1)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows(name, shape, axis, data_type, device, rng):
    axis = len(shape) - 1 if name == "layer norm" else axis
    count = int(np.prod(shape))
    stays = rng.random([1 if k == axis else size for k, size in enumerate(shape)]) < 0.5
    kept = np.broadcast_to(stays, shape)
    fused = ep.fuse(lambda x: FUNCTIONS[name](x, axis))
    for draw in (small, finite):
        x = draw(rng, data_type, count).reshape(shape)
        other = np.where(kept, x, special(rng, data_type, count).reshape(shape))
        before, after = (host(fused(placed(device, one))) for one in (x, other))
        rows = np.broadcast_to(stays, before.shape)
        assert bits(before[rows]) == bits(after[rows])
