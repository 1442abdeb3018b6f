"""index, index_put, gather_nd, scatter_nd, scatter_rows and ravel_multi_index, beside NumPy's advanced indexing."""

import re

import numpy as np
import pytest

import ep
import ep.ops
from ep import DeviceType
from ep.include.number_kind import ALL, INTEGERS
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed

OPS = {"none": None, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}

INDEXED = [
    ((5,), 0, [(3,)]),
    ((5, 7), 0, [(3,), (3,)]),
    ((5, 7, 3), 0, [(2, 1), (4,)]),
    ((5, 7, 3), 1, [(2, 1), (4,)]),
    ((5, 7, 3), -2, [(), (4,)]),
    ((2, 5, 7, 3), 1, [(2, 1), (1, 4), (2, 4)]),
    ((5, 7), 0, [(), ()]),
    ((5, 7), 0, [(0,), (0,)]),
    ((5, 7), 0, [(0, 1), (3,)]),
    ((0, 7), 1, [(3,)]),
    ((1, 1, 1), 0, [(3,), (3,), (3,)]),
    ((2, 2, 1, 2, 2, 1, 2, 2, 3), 2, [(2,), (1,), (2, 1)]),
    ((5, 7, 3), 0, [None, (4,), None]),
    ((5, 7, 3), 0, [(2, 1), None, (4,)]),
    ((2, 5, 7, 3), 1, [(3,), None, ()]),
    ((5, 0, 3), -3, [(2,), None, (2,)]),
]
"""Shapes of x, the first axis, and shapes of indices: None for an axis that is whole."""


def drawn(rng, shape, axis, of_indices):
    """Return x, indices that may be negative, and the index of NumPy."""
    x = rng.standard_normal(shape).astype(np.float32)
    first = axis % len(shape)
    sizes = zip(shape[first:], of_indices, strict=False)
    indices = [None if item is None else rng.integers(-size, size, item) for size, item in sizes]
    return x, indices, (*[slice(None)] * first, *(slice(None) if item is None else item for item in indices))


def among(pattern, arrays):
    """Return arrays, and None where the pattern has it."""
    arrays = iter(arrays)
    return [None if item is None else next(arrays) for item in pattern]


@pytest.mark.parametrize(("shape", "axis", "of_indices"), INDEXED)
def test_index(shape, axis, of_indices, device, rng):
    x, indices, at = drawn(rng, shape, axis, of_indices)
    given = [placed(device, np.asarray(item)) for item in (x, *indices) if item is not None]
    index = lambda x, *items: ep.ops.index(x, among(indices, items), axis, "wrap_negative")  # noqa: E731
    fused = ep.fuse(index)
    for got in (index(*given), *(fused(*given) for _ in range(3))):
        np.testing.assert_array_equal(host(got), x[at], strict=True)


@pytest.mark.parametrize("reduction", OPS)
@pytest.mark.parametrize(("shape", "axis", "of_indices"), INDEXED)
def test_index_put(shape, axis, of_indices, reduction, device, rng):
    x, indices, at = drawn(rng, shape, axis, of_indices)
    updates = rng.standard_normal(x[at].shape).astype(np.float32)
    wanted, axes = x.copy(), [k for k, item in enumerate(at) if not isinstance(item, slice)]
    if reduction == "none":  # one after the other: NumPy does not say which one stays
        lead = axes[0] if len(axes) == axes[-1] - axes[0] + 1 else 0
        each = dict(zip(axes, np.broadcast_arrays(*(at[k] for k in axes)), strict=True))
        for position in np.ndindex(each[axes[0]].shape):
            target = tuple(int(each[k][position]) if k in each else slice(None) for k in range(len(at)))
            wanted[target] = updates[(*[slice(None)] * lead, *position)]
    else:
        OPS[reduction].at(wanted, at, updates)
    given = [placed(device, np.asarray(item)) for item in (x, updates, *indices) if item is not None]
    put = lambda x, new, *items: ep.ops.index_put(x, among(indices, items), new, axis, reduction, "wrap_negative")  # noqa: E731
    fused = ep.fuse(put)
    for got in (put(*given), *(fused(*given) for _ in range(3))):
        np.testing.assert_allclose(host(got), wanted, 1e-5, strict=True)
    np.testing.assert_array_equal(host(given[0]), x)


@pytest.mark.parametrize("types", [("int64", "int32"), ("uint64", "int8"), ("uint8", "uint8"), ("int16", "int16")])
def test_indices_of_several_types(types, device, rng):
    x = rng.standard_normal((5, 7)).astype(np.float32)
    indices = [rng.integers(0, size, 9).astype(dtype) for size, dtype in zip((5, 7), types, strict=True)]
    got = ep.ops.index(placed(device, x), [placed(device, item) for item in indices])
    np.testing.assert_array_equal(host(got), x[indices[0].astype(int), indices[1].astype(int)])
    if types[0] == "uint64":
        large = placed(device, np.uint64([2**64 - 1]))
        with pytest.raises(IndexError):
            host(ep.ops.index(placed(device, x), [large, placed(device, np.int8([0]))], mode="wrap_negative"))


@pytest.mark.parametrize("data_type", ALL, ids=lambda item: item.name)
def test_types_of_elements(data_type, device, rng):
    x = rng.integers(0, 2, (5, 7)).astype(data_type.dtype)
    i, j = rng.integers(0, 5, 11), rng.integers(0, 7, 11)
    given = placed(device, x), [placed(device, i), placed(device, j)]
    assert host(ep.ops.index(*given)).tobytes() == x[i, j].tobytes()
    wanted = x.copy()
    wanted[i, j] = 1
    assert host(ep.ops.index_put(*given, 1)).tobytes() == wanted.tobytes()


def test_updates_that_are_repeated(device, rng):
    x, i = rng.standard_normal((5, 7, 3)), np.array([3, 1, 4])
    for updates in (2.5, rng.standard_normal(3), rng.standard_normal((3, 1)), rng.standard_normal((5, 1, 1))):
        wanted = x.copy()
        wanted[:, i] = updates
        there = placed(device, updates) if isinstance(updates, np.ndarray) else updates
        got = ep.ops.index_put(placed(device, x), [placed(device, i)], there, 1)
        np.testing.assert_array_equal(host(got), wanted)


@pytest.mark.parametrize("batch", [0, 1, 2])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_gather_nd(batch, depth, device, rng):
    x = rng.standard_normal((2, 3, 4, 5, 3)).astype(np.float32)
    sizes = x.shape[batch : batch + depth]
    lead = (*x.shape[:batch], 6)
    indices = np.stack([rng.integers(-size, size, lead) for size in sizes] or [np.zeros(lead)], -1)[..., :depth].astype(
        int
    )
    wanted = np.stack([x[(*position[:batch], *indices[position])] for position in np.ndindex(lead)]).reshape(
        *lead, *x.shape[batch + depth :]
    )
    given = placed(device, x), placed(device, indices)
    gather = lambda x, indices: ep.ops.gather_nd(x, indices, batch, "wrap_negative")  # noqa: E731
    fused = ep.fuse(gather)
    for got in (gather(*given), *(fused(*given) for _ in range(3))):
        np.testing.assert_array_equal(host(got), wanted, strict=True)


@pytest.mark.parametrize("reduction", OPS)
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_scatter_nd(depth, reduction, device, rng):
    x = rng.integers(-9, 9, (3, 2, 5)).astype(np.float32)
    indices = np.stack([rng.integers(-size, size, (4, 3)) for size in x.shape[:depth]] or [np.zeros((4, 3))], -1)
    indices = indices[..., :depth].astype(np.int64)
    updates = rng.integers(-9, 9, (4, 3, *x.shape[depth:])).astype(np.float32)
    wanted = x.copy()
    for position in np.ndindex(4, 3):
        at = (*indices[position], ...)
        new = updates[position]
        wanted[at] = new if reduction == "none" else OPS[reduction](wanted[at], new)
    given = [placed(device, item) for item in (x, indices, updates)]
    scatter = lambda *given: ep.ops.scatter_nd(*given, reduction, "wrap_negative")  # noqa: E731
    fused = ep.fuse(scatter)
    for got in (scatter(*given), *(fused(*given) for _ in range(3))):
        np.testing.assert_array_equal(host(got), wanted, strict=True)


def test_where_a_wrong_index_is(device):
    """The error names the array, or the last axis; a wrong index is one of its axis, not of the whole array."""
    x = placed(device, np.zeros((2, 3, 4)))
    rows, columns, both = (placed(device, np.array(item)) for item in ([[1, 0]], [[0], [3]], [[0, 0], [0, 3]]))
    calls = [
        (lambda: ep.ops.index(x, [rows, columns]), "indices[1][1, 0] is 3; the axis holds 0 ... 2"),
        (lambda: ep.ops.index_put(x, [columns], 1.0, 0), "indices[0][1, 0] is 3; the axis holds 0 ... 1"),
        (lambda: ep.ops.gather_nd(x, both), "indices[1, 1] is 3; the axis holds 0 ... 2"),
        (lambda: ep.ops.scatter_nd(x, both, 1.0, mode="wrap_negative"), "indices[1, 1] is 3; the axis holds -3 ... 2"),
    ]
    for call, words in calls:
        with pytest.raises(IndexError, match=re.escape(words) if device.type is DeviceType.kCPU else None):
            host(call())
    assert host(ep.ops.index(x, [rows, columns], mode="clip")).shape == (2, 2, 4)


def test_gradients(device, rng):
    """Each element gets the sum over its copies; of updates of one part the last one has a gradient."""
    x, i, j = rng.standard_normal((4, 3, 2)), np.array([0, 3, 0, 0]), np.array([1, 2, 1, 0])
    updates, weights = rng.standard_normal((4, 2)), rng.standard_normal((4, 2))
    wanted = np.zeros(x.shape)
    np.add.at(wanted, (i, j), weights)
    given = [placed(device, item) for item in (x, i, j, weights)]
    got = ep.grad(lambda x, i, j, w: ep.ops.sum(ep.ops.index(x, [i, j]) * w))(*given)
    np.testing.assert_allclose(host(got), wanted)
    given = [placed(device, item) for item in (x, i, j, updates, np.asarray(wanted + 1))]
    for reduction, stays in (("none", [False, True, True, True]), ("add", [True] * 4)):
        loss = lambda x, i, j, u, w, r=reduction: ep.ops.sum(ep.ops.index_put(x, [i, j], u, 0, r) * w)  # noqa: E731
        by_x, by_updates = ep.grad(loss, by=(0, 3))(*given)
        slopes = wanted + 1
        np.testing.assert_allclose(host(by_updates), slopes[i, j] * np.array(stays)[:, None])
        if reduction == "none":
            slopes[i, j] = 0
        np.testing.assert_allclose(host(by_x), slopes)


@pytest.mark.parametrize("reduction", OPS)
@pytest.mark.parametrize(
    ("axis", "batch_dims", "of_indices"), [(0, 0, (4,)), (1, 0, (2, 3)), (2, 1, (3, 6)), (1, 1, (3,))]
)
def test_scatter_rows(axis, batch_dims, of_indices, reduction, device, rng):
    """What gather reads is written."""
    x = rng.standard_normal((3, 5, 4)).astype(np.float32)
    indices = rng.integers(0, x.shape[axis], of_indices)
    shape = (*x.shape[:axis], *of_indices[batch_dims:], *x.shape[axis + 1 :])
    updates, wanted = rng.standard_normal(shape).astype(np.float32), x.copy()
    for b in np.ndindex(x.shape[:batch_dims]):
        for position in np.ndindex(of_indices[batch_dims:]):
            between = [slice(None)] * (axis - batch_dims)
            target, source = (*b, *between, indices[(*b, *position)]), (*b, *between, *position)
            new = updates[source]
            wanted[target] = new if reduction == "none" else OPS[reduction](wanted[target], new)
    given = [placed(device, item) for item in (x, indices, updates)]
    got = ep.ops.scatter_rows(*given, axis, batch_dims, reduction)
    np.testing.assert_array_equal(host(got), wanted)
    assert ep.ops.scatter_rows(*given, axis, batch_dims, reduction, out=given[0]) is given[0]
    np.testing.assert_array_equal(host(given[0]), wanted)


def test_out_may_be_any_operand(device):
    """What is read later is not overwritten before."""
    x, indices, updates = np.zeros(5, np.int64), np.array([3, 1, 0, 4, 2]), np.arange(5) + 10
    for k in range(3):
        given = [placed(device, item) for item in (x, indices, updates)]
        ep.ops.scatter_rows(*given, out=given[k])
        assert host(given[k]).tolist() == [12, 11, 14, 10, 13]


@pytest.mark.parametrize("data_type", INTEGERS, ids=lambda item: item.name)
def test_ravel_multi_index(data_type, device, rng):
    dims, shapes = (5, 1, 7), ((3, 1), (), (4,))
    given = [rng.integers(0, size, shape).astype(data_type.dtype) for size, shape in zip(dims, shapes, strict=True)]
    wanted = np.ravel_multi_index([item.astype(int) for item in given], dims)
    got = host(ep.ops.ravel_multi_index([placed(device, np.asarray(item)) for item in given], dims))
    np.testing.assert_array_equal(got, wanted, strict=True)
    item = host(ep.ops.ravel_multi_index([placed(device, given[0])], 5))
    np.testing.assert_array_equal(item, given[0].astype(np.int64), strict=True)


REFUSED = [
    (lambda i: ep.ops.ravel_multi_index([i, i], (4,)), ValueError, "dims has 1 sizes; multi_index has 2 arrays"),
    (lambda i: ep.ops.ravel_multi_index([i], (-1,)), ValueError, "dims"),
    (lambda i: ep.ops.ravel_multi_index([i], (4,), "zero"), ValueError, "mode is 'zero'; it must be raise"),
    (lambda i: ep.ops.ravel_multi_index([ep.ops.cast(i, "float32")], (4,)), TypeError, "multi_index has dtype float32"),
    (lambda i: ep.ops.ravel_multi_index(None, (4,)), TypeError, "multi_index must be a sequence of arrays"),
    (lambda i: ep.ops.ravel_multi_index([i, ep.ops.concat([i, i])], (4, 4)), ValueError, r"multi_index\[0\] \(3,\)"),
]


@pytest.mark.parametrize(("function", "error", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_ravel_multi_index_refuses(function, error, words, device):
    with pytest.raises(error, match=words):
        function(placed(device, np.array([0, 1, 2])))
