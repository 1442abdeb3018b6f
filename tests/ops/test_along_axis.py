"""take_along_axis and scatter: each element against a loop over all elements."""

import re

import numpy as np
import pytest

import ep
import ep.ops
from ep import DeviceType
from ep.include.number_kind import ALL, INTEGERS
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed

SHAPES = [
    ((3, 5, 7), 1, (3, 4, 7)),
    ((3, 5, 7), 0, (11, 5, 7)),
    ((3, 5, 7), -1, (3, 5, 2)),
    ((7,), 0, (13,)),
    ((7, 1), 0, (13, 1)),
    ((1, 7, 1), 1, (1, 5, 1)),
    ((5, 1, 3), 1, (5, 4, 3)),
    ((2, 3, 2, 3, 2), 2, (2, 3, 5, 3, 2)),
    ((0, 5), 1, (0, 3)),
    ((4, 5), 1, (4, 0)),
    ((4, 0), 1, (4, 0)),
]
"""Shapes of x, axes, and shapes of indices."""


def drawn(rng, shape, dtype):
    """Return elements of a type, all of them different, as far as the type has so many."""
    count = int(np.prod(shape))
    kind = np.dtype(dtype).kind
    numbers = rng.permutation(count) % 120 if kind in "iub" else rng.standard_normal(count)
    if kind == "c":
        numbers = numbers + 1j * rng.standard_normal(count)
    return numbers.reshape(shape).astype(dtype)


def taken(x, indices, axis):
    result = np.empty(indices.shape, x.dtype)
    for position in np.ndindex(indices.shape):
        source = list(position)
        source[axis] = int(indices[position])
        result[position] = x[tuple(source)]
    return result


@pytest.mark.parametrize(("shape", "axis", "of_indices"), SHAPES)
def test_take_along_axis(shape, axis, of_indices, device, rng):
    x, indices = drawn(rng, shape, np.float32), rng.integers(-shape[axis], max(shape[axis], 1), of_indices)
    wanted = taken(x, indices, axis)
    given = placed(device, x), placed(device, indices)
    take = lambda x, indices: ep.ops.take_along_axis(x, indices, axis, mode="wrap_negative")  # noqa: E731
    fused = ep.fuse(take)
    for got in (take(*given), *(fused(*given) for _ in range(3))):
        np.testing.assert_array_equal(host(got), wanted)


@pytest.mark.parametrize("data_type", ALL, ids=lambda item: item.name)
def test_types_of_elements(data_type, device, rng):
    x, indices = drawn(rng, (5, 7), data_type.dtype), rng.integers(0, 5, (3, 7))
    got = host(ep.ops.take_along_axis(placed(device, x), placed(device, indices), 0))
    assert got.tobytes() == taken(x, indices, 0).tobytes()


@pytest.mark.parametrize("data_type", INTEGERS, ids=lambda item: item.name)
def test_types_of_indices(data_type, device, rng):
    x, indices = drawn(rng, (5, 7), np.float64), rng.integers(0, 7, (5, 3)).astype(data_type.dtype)
    got = host(ep.ops.take_along_axis(placed(device, x), placed(device, indices)))
    np.testing.assert_array_equal(got, taken(x, indices, 1))


@pytest.mark.parametrize(
    ("shape", "axis", "of_indices"), [((5, 7), 0, (3, 1)), ((1, 7), 1, (4, 2)), ((1, 5, 7), 1, (3, 2, 1))]
)
def test_sizes_of_one_are_repeated(shape, axis, of_indices, device, rng):
    x, indices = drawn(rng, shape, np.float32), rng.integers(0, shape[axis], of_indices)
    got = host(ep.ops.take_along_axis(placed(device, x), placed(device, indices), axis))
    np.testing.assert_array_equal(got, np.take_along_axis(x, indices, axis))


def test_indices_out_of_range(device):
    x, indices = np.arange(15.0).reshape(3, 5), np.array([[2, -3, 0], [1, 7, 9]])
    given = placed(device, x[:2]), placed(device, indices)
    assert host(ep.ops.take_along_axis(*given, mode="zero")).tolist() == [[2, 0, 0], [6, 0, 0]]
    assert host(ep.ops.take_along_axis(*given, mode="clip")).tolist() == [[2, 0, 0], [6, 9, 9]]
    for axis, mode, words in ((1, "raise", "indices[0, 1] is -3"), (1, "wrap_negative", "indices[1, 1] is 7")):
        with pytest.raises(IndexError, match=re.escape(words) if device.type is DeviceType.kCPU else None):
            host(ep.ops.take_along_axis(*given, axis, mode))
    indices = np.array([[0, 0, 0, 0, 0], [0, 9, 0, 0, 0]])  # the position is that in the given indices
    with pytest.raises(IndexError, match=re.escape("indices[1, 1] is 9") if device.type is DeviceType.kCPU else None):
        host(ep.ops.take_along_axis(placed(device, x), placed(device, indices), 0))


def test_operands_with_strides_and_lists(device, rng):
    x, indices = drawn(rng, (5, 7), np.float32).T, rng.integers(0, 5, (7, 6))[:, ::2]
    got = host(ep.ops.take_along_axis(placed(device, x), placed(device, indices)))
    np.testing.assert_array_equal(got, taken(x, indices, 1))
    assert ep.ops.take_along_axis([[1, 2], [3, 4]], [[1, 1], [0, 1]], 1).tolist() == [[2, 2], [3, 4]]


def test_the_gradient_of_take_along_axis(device, rng):
    """Elements that are taken several times get the sum."""
    x, indices = drawn(rng, (3, 5, 2), np.float64), rng.integers(-5, 5, (3, 9, 2))
    weights = rng.standard_normal(indices.shape)
    wanted = np.zeros(x.shape)
    for i, j, k in np.ndindex(indices.shape):
        wanted[i, indices[i, j, k], k] += weights[i, j, k]
    loss = lambda x, i, w: ep.ops.sum(ep.ops.take_along_axis(x, i, 1, "wrap_negative") * w)  # noqa: E731
    got = ep.grad(loss)(*(placed(device, item) for item in (x, indices, weights)))
    np.testing.assert_allclose(host(got), wanted, 1e-13)


X, INDICES = np.zeros((2, 3)), np.zeros((2, 1), np.int64)
REFUSED = [
    (lambda x, i: ep.ops.take_along_axis(ep.ops.sum(x), i), ValueError, "x has no axes; one is needed"),
    (lambda x, i: ep.ops.take_along_axis(x, i, 2), ValueError, "axis is 2"),
    (lambda x, i: ep.ops.take_along_axis(x, i, 0.5), TypeError, "axis must be an integer"),
    (lambda x, i: ep.ops.take_along_axis(x, ep.ops.sum(i)), ValueError, r"indices has shape \(\); it must have 2 axes"),
    (lambda x, i: ep.ops.take_along_axis(x, x), TypeError, "indices has dtype float64; it must be an integer type"),
    (lambda x, i: ep.ops.take_along_axis(x, i, mode="wrap"), ValueError, "mode is 'wrap'"),
    (lambda x, i: ep.ops.take_along_axis(x, ep.ops.concat([i, i])), ValueError, r"x \(2,\), indices \(4,\)"),
]


@pytest.mark.parametrize(("function", "error", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function, error, words, device):
    given = placed(device, X), placed(device, INDICES)
    for each in (function, ep.fuse(function)):
        with pytest.raises(error, match=words):
            each(*given)


OPS = {"none": lambda _, update: update, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
SCATTERED = [
    ((3, 5, 7), 1, (3, 4, 7)),
    ((3, 5, 7), 0, (11, 5, 6)),
    ((3, 5, 7), -1, (2, 4, 9)),
    ((7,), 0, (23,)),
    ((7, 1), 0, (13, 1)),
    ((1, 7, 1), 1, (1, 5, 1)),
    ((0, 5), 1, (0, 3)),
    ((4, 5), 1, (4, 0)),
    ((4, 5), 1, (0, 3)),
    ((4, 0), 1, (4, 0)),
]
"""Shapes of x, axes, and shapes of indices, which may be smaller than x along other axes."""


def scattered(x, indices, updates, axis, reduction):
    """Return the array with updates, computed in float32 if it has 16 bits."""
    wide = np.float32 if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x.dtype
    result = x.astype(wide)
    with np.errstate(all="ignore"):
        for position in np.ndindex(indices.shape):
            target = list(position)
            target[axis] = int(indices[position])
            old, new = (
                result[tuple(target)],
                wide.type(updates[position]) if wide is x.dtype else wide(updates[position]),
            )
            result[tuple(target)] = OPS[reduction](old, new)
    return result.astype(x.dtype)


@pytest.mark.parametrize("reduction", OPS)
@pytest.mark.parametrize(("shape", "axis", "of_indices"), SCATTERED)
def test_scatter(shape, axis, of_indices, reduction, device, rng):
    x, updates = drawn(rng, shape, np.float32), drawn(rng, of_indices, np.float32)
    indices = rng.integers(-shape[axis], max(shape[axis], 1), of_indices)
    wanted = scattered(x, indices, updates, axis, reduction)
    given = [placed(device, item) for item in (x, indices, updates)]
    function = lambda x, i, u: ep.ops.scatter(x, i, u, axis, reduction, mode="wrap_negative")  # noqa: E731
    fused = ep.fuse(function)
    for got in (function(*given), *(fused(*given) for _ in range(3))):
        np.testing.assert_array_equal(host(got), wanted)
    np.testing.assert_array_equal(host(given[0]), x)


@pytest.mark.parametrize("reduction", OPS)
@pytest.mark.parametrize("data_type", ALL, ids=lambda item: item.name)
def test_types_that_are_scattered(data_type, reduction, device, rng):
    x, updates = drawn(rng, (5, 7), data_type.dtype), drawn(rng, (23, 7), data_type.dtype)
    indices = rng.integers(0, 5, updates.shape)
    given = [placed(device, item) for item in (x, indices, updates)]
    if data_type.dtype.kind == "c" and reduction in ("max", "min"):
        with pytest.raises(LookupError, match="scatter"):
            ep.ops.scatter(*given, 0, reduction)
        return
    got, wanted = host(ep.ops.scatter(*given, 0, reduction)), scattered(x, indices, updates, 0, reduction)
    assert got.dtype == x.dtype
    np.testing.assert_allclose(got.astype(wanted.dtype), wanted, 1e-6 if data_type.dtype.kind == "c" else 0)


REPEATED = [
    ((7, 5), 0, (4, 1)),
    ((7, 5), 1, (1, 4)),
    ((3, 7, 5), 1, (1, 4, 1)),
    ((3, 7, 5), 1, (3, 4, 1)),
    ((3, 7, 5), 2, (1, 1, 4)),
    ((3, 7, 5), 2, (3, 1, 4)),
    ((3, 7, 5), 2, (1, 7, 4)),
    ((3, 7, 5), 0, (4, 1, 5)),
    ((3, 7, 5), 0, (4,)),
    ((3, 7, 5), 1, (1,)),
    ((3, 7, 1), 1, (3, 4, 1)),
    ((1, 7, 5), 1, (1, 0, 1)),
]
"""Shapes of x, axes, and shapes of indices that are repeated to those of updates: 4 elements along the axis."""


@pytest.mark.parametrize(("shape", "axis", "of_indices"), REPEATED)
def test_indices_that_are_repeated(shape, axis, of_indices, device, rng):
    """Rows have one index each, if all of their elements have the same one."""
    whole = (*shape[:axis], 0 if 0 in of_indices else 4, *shape[axis + 1 :])
    given = of_indices if len(of_indices) > 1 else (*of_indices, *[1] * (len(shape) - axis - 1))
    x, updates = drawn(rng, shape, np.float32), drawn(rng, whole, np.float32)
    indices = rng.integers(-shape[axis], shape[axis], given)
    every = np.broadcast_to(indices, whole)
    operands = [placed(device, item) for item in (x, indices, updates)]
    for reduction in OPS:

        def function(x, i, u, reduction=reduction):
            i = ep.ops.expand(i, whole)
            scattered = ep.ops.scatter(x, i, u, axis, reduction, mode="wrap_negative")
            return scattered, ep.ops.take_along_axis(x, i, axis, mode="wrap_negative")

        fused = ep.fuse(function)
        for got in (function(*operands), *(fused(*operands) for _ in range(3))):
            np.testing.assert_array_equal(host(got[0]), scattered(x, every, updates, axis, reduction))
            np.testing.assert_array_equal(host(got[1]), taken(x, every, axis))


def test_no_elements_are_moved_for_indices_of_rows(device, rng):
    x, indices, updates = np.zeros((7, 5)), rng.integers(0, 7, (4, 1)), np.ones((4, 5))
    function = ep.fuse(lambda x, i, u: ep.ops.scatter(x, ep.ops.expand(i, (4, 5)), u, 0, "add"))
    said = str(function.explain(*(placed(device, item) for item in (x, indices, updates))))
    assert "scatter_rows" in said
    assert "permute" not in said
    assert "expand" not in said


def test_special_values_that_are_scattered(device):
    x, updates = np.float32([1, np.nan, np.inf, -0.0]), np.float32([np.nan, 2, -np.inf, 0.0])
    indices = np.arange(4)
    given = [placed(device, item) for item in (x, indices, updates)]
    for reduction, function in OPS.items():
        with np.errstate(all="ignore"):
            wanted = function(x, updates)
        np.testing.assert_array_equal(host(ep.ops.scatter(*given, 0, reduction)), wanted)


def test_updates_that_are_repeated(device, rng):
    """A number, and axes of size 1, as PyTorch's scatter has a value."""
    x, indices = drawn(rng, (5, 7), np.float32), rng.integers(0, 7, (5, 3))
    row = drawn(rng, (1, 3), np.float32)
    given = placed(device, x), placed(device, indices)
    for updates, wanted in ((2.5, np.full((5, 3), np.float32(2.5))), (row, np.repeat(row, 5, 0))):
        there = placed(device, updates) if isinstance(updates, np.ndarray) else updates
        for each in (ep.ops.scatter, ep.fuse(ep.ops.scatter)):
            np.testing.assert_array_equal(host(each(*given, there)), scattered(x, indices, wanted, 1, "none"))


def test_indices_out_of_range_of_a_scatter(device):
    x, indices, updates = np.zeros((2, 3)), np.array([[1, -1], [3, 0]]), np.array([[1.0, 2], [3, 4]])
    given = [placed(device, item) for item in (x, indices, updates)]
    assert host(ep.ops.scatter(*given, mode="zero")).tolist() == [[0, 1, 0], [4, 0, 0]]
    assert host(ep.ops.scatter(*given, mode="clip")).tolist() == [[2, 1, 0], [4, 0, 3]]
    with pytest.raises(IndexError, match=re.escape("indices[0, 1] is -1") if device.type is DeviceType.kCPU else None):
        host(ep.ops.scatter(*given))


@pytest.mark.parametrize("reduction", OPS)
def test_the_gradients_of_scatter(reduction, device, rng):
    """Central differences, with several updates of one place, and of places that are not named."""
    x, updates, indices = rng.standard_normal((3, 4)), rng.standard_normal((3, 5)), rng.integers(0, 3, (3, 5))
    weights = rng.standard_normal(x.shape)
    loss = lambda x, u, i, w: ep.ops.sum(ep.ops.scatter(x, i, u, 1, reduction) * w)  # noqa: E731
    found = ep.grad(loss, by=(0, 1))(*(placed(device, item) for item in (x, updates, indices, weights)))
    for k, gradient in enumerate(found):
        for position in np.ndindex((x, updates)[k].shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [x.copy(), updates.copy()]
                moved[k][position] += step
                ends.append((scattered(moved[0], indices, moved[1], 1, reduction) * weights).sum())
            np.testing.assert_allclose(host(gradient)[position], (ends[0] - ends[1]) / 2e-6, 1e-5, 1e-7)


def test_the_gradients_where_numbers_are_equal_or_zero(device):
    """Equal numbers share the gradient; a product without the zero is that of the others."""
    x, updates, indices = np.array([2.0, 0, 0, 5]), np.array([2.0, 1, 3, 4, 0]), np.array([0, 0, 1, 2, 2])
    given = [placed(device, item) for item in (x, updates, indices)]
    for reduction, wanted in (
        ("max", ([0.5, 0, 0, 1], [0.5, 0, 1, 1, 0])),
        ("mul", ([2, 3, 0, 1], [2, 4, 0, 0, 0])),
    ):
        loss = lambda x, u, i, reduction=reduction: ep.ops.sum(ep.ops.scatter(x, i, u, 0, reduction))  # noqa: E731
        found = ep.grad(loss, by=(0, 1))(*given)
        assert [host(item).tolist() for item in found] == [list(map(float, item)) for item in wanted]


SCATTER_REFUSED = [
    (lambda x, i, u: ep.ops.scatter(ep.ops.sum(x), i, u), ValueError, "x has no axes; one is needed"),
    (lambda x, i, u: ep.ops.scatter(x, ep.ops.sum(i), u), ValueError, r"indices has shape \(\); it must have 2 axes"),
    (lambda x, i, u: ep.ops.scatter(x, i, u, 2), ValueError, "axis is 2"),
    (lambda x, i, u: ep.ops.scatter(x, i, u, reduction="sum"), ValueError, "reduction is 'sum'; it must be one of"),
    (lambda x, i, u: ep.ops.scatter(x, i, u, mode="wrap"), ValueError, "mode is 'wrap'"),
    (lambda x, i, u: ep.ops.scatter(x, x, u), TypeError, "indices has dtype float64; it must be an integer type"),
    (lambda x, i, u: ep.ops.scatter(x, i, i), TypeError, "updates has int64|updates has dtype int64|x has dtype"),
    (lambda x, i, u: ep.ops.scatter(x, i, x), ValueError, "updates"),
    (lambda x, i, u: ep.ops.scatter(x, ep.ops.concat([i, i]), 1.0), ValueError, "along axis 0 it must have at most 2"),
]


@pytest.mark.parametrize(("function", "error", "words"), SCATTER_REFUSED, ids=range(len(SCATTER_REFUSED)))
def test_what_scatter_refuses(function, error, words, device):
    given = placed(device, X), placed(device, INDICES), placed(device, X[:, :1].copy())
    for each in (function, ep.fuse(function)):
        with pytest.raises(error, match=words):
            each(*given)
