"""Functions of several operators, methods, and numbers and functions of NumPy, on tensors on a mesh."""

import numpy as np

import ep
import ep.ops
from ep.mesh import Placement, from_whole
from ep.mesh.world import world

X = np.linspace(-3, 4, 60).reshape(3, 4, 5)
INDICES = np.arange(45).reshape(3, 3, 5) * 7 % 4
SCALE = np.array(0.025)
ROWS = np.array([2, 0])
PAIRS = np.stack([INDICES[0, :, 0] % 3, INDICES[0, :, 1]], -1)


def _put_along(x):
    result = x.copy()
    for i, j, k in np.ndindex(INDICES.shape):
        result[i, INDICES[i, j, k], k] -= x[i, j, k]
    return result


def _put(x):
    result = x.copy()
    result[ROWS, ROWS + 1] *= 2.5
    return result


def _of(m, array):
    """Return an array for functions of a module: on the mesh, unless they are NumPy's."""
    return array if m is np else from_whole(array, Placement(world().size), "B")


def attention(x):
    """Return the mixtures of the rows of x up to each row."""
    products = np.where(np.tri(x.shape[-2], dtype=bool), x @ x.swapaxes(-1, -2) / np.sqrt(x.shape[-1]), -np.inf)
    parts = np.exp(products - products.max(-1, keepdims=True))
    return parts / parts.sum(-1, keepdims=True) @ x


FUNCTIONS = {
    "attention": lambda m, x: m.attention(x, x, x, is_causal=True) if m is ep.ops else attention(x),
    "flip": lambda m, x: m.flip(x, (0, 2)),
    "roll": lambda m, x: m.roll(x, 2, 1),
    "clip": lambda m, x: m.clip(x, -1, 2),
    "hypot": lambda m, x: m.hypot(x, 2.0),
    "logaddexp": lambda m, x: m.logaddexp(x, x * 2),
    "var": lambda m, x: m.var(x, axis=1),
    "quantize": lambda m, x: (
        m.dequantize(m.quantize(x, _of(m, SCALE), dtype="int8"), _of(m, SCALE))
        if m is ep.ops
        else np.clip(np.rint(x / SCALE), -128, 127) * SCALE
    ),
    "layer_norm": lambda m, x: (
        m.layer_norm(x) if m is ep.ops else (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    ),
    "moveaxis": lambda m, x: m.moveaxis(x, 0, -1),
    "expand_dims": lambda m, x: m.expand_dims(x, 1),
    "sort": lambda m, x: m.sort(x, 2),
    "places": lambda m, x: m.argmin(x, 0),
    "running sums": lambda m, x: m.cumulative_sum(x, axis=1),
    "zeros_like": lambda m, x: m.zeros_like(x),
    "exp": lambda m, x: np.exp(x),
    "scalars": lambda m, x: np.float64(2) * x / np.sqrt(64) + np.array(3.0),
    "take_along_axis": lambda m, x: m.take_along_axis(x, _of(m, INDICES), 1),
    "scatter": lambda m, x: _put_along(x) if m is np else m.scatter(x, _of(m, INDICES), -x[:, :3], 1, "add"),
    "index": lambda m, x: x[ROWS, ROWS + 1] if m is np else m.index(x, [_of(m, ROWS), _of(m, ROWS + 1)]),
    "index_put": lambda m, x: (
        _put(x) if m is np else m.index_put(x, [_of(m, ROWS), _of(m, ROWS + 1)], 2.5, 0, "mul", mode="raise")
    ),
    "gather_nd": lambda m, x: x[INDICES[0, :, 0] % 3, INDICES[0, :, 1]] if m is np else m.gather_nd(x, _of(m, PAIRS)),
    "methods": lambda m, x: x.sum(0).T.astype("float32") + x.max(0).T.astype("float32"),
    "indices": lambda m, x: x[1, ..., None, 1:],
}


def check_functions_and_methods():
    """Each gives the whole result, however x is split."""
    placement = Placement(world().size)
    for name, function in FUNCTIONS.items():
        wanted = function(np, X)
        for sbp in ("S(0)", "S(2)", "B"):
            found = function(ep.ops, from_whole(X, placement, sbp))
            assert found.dtype == wanted.dtype, name
            assert np.allclose(found.numpy(), wanted, rtol=1e-6), (name, sbp)
    fused = ep.fuse(lambda x: ep.ops.flip(x, 1) * ep.ops.ones_like(x))
    assert np.array_equal(fused(from_whole(X, placement, "S(0)")).numpy(), X[:, ::-1])


def check_gradients_by_numbers():
    placement = Placement(world().size)
    found = ep.grad(lambda x, s: ep.ops.sum(x * x) * s, argnums="s")(from_whole(X, placement, "S(1)"), 2.0)
    assert np.allclose(found.numpy(), (X * X).sum())
