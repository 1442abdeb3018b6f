"""Functions of the array API that other operators compute: NumPy's results, fused and not, with gradients."""

import math

import numpy as np
import pytest

import ep
import ep.ops
from ep import DeviceType
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed

INF, NAN = math.inf, math.nan
X = np.linspace(-3, 4, 3 * 5 * 7).reshape(3, 5, 7)
Y = np.cos(X) * 2
EDGES = np.array([0.0, -0.0, 1, -2, INF, -INF, NAN, 1e300, 1e-310, 5])

CASES = {
    "clip": (lambda m, x: m.clip(x, -1, 2), [X]),
    "clip below": (lambda m, x: m.clip(x, -1, None), [X]),
    "clip by arrays": (lambda m, x, y: m.clip(x, y, y + 1), [X, Y]),
    "hypot": (lambda m, x, y: m.hypot(x, y), [X, Y]),
    "hypot of a number": (lambda m, x: m.hypot(x, 3.0), [X]),
    "hypot at the edges": (lambda m, x, y: m.hypot(x, y), [EDGES[:, None], EDGES]),
    "logaddexp": (lambda m, x, y: m.logaddexp(x, y), [X, Y]),
    "logaddexp at the edges": (lambda m, x, y: m.logaddexp(x, y), [EDGES[:, None], EDGES]),
    "var": (lambda m, x: m.var(x), [X]),
    "var of an axis": (lambda m, x: m.var(x, axis=1, keepdims=True), [X]),
    "var of integers": (lambda m, x: m.var(x, axis=(0, 2)), [(9 * X).astype(np.int32)]),
    "var of complex numbers": (lambda m, x: m.var(x, axis=-1), [X + 1j * Y]),
    "std": (lambda m, x: m.std(x, axis=-1), [X]),
    "vecdot": (lambda m, x, y: m.vecdot(x, y), [X, Y[:1]]),
    "vecdot of complex numbers": (lambda m, x, y: m.vecdot(x, y), [X + 1j * Y, Y + 0j]),
    "vecdot of integers": (lambda m, x, y: m.vecdot(x, y), [(9 * X).astype(np.int32)] * 2),
    "tensordot": (lambda m, x, y: m.tensordot(x, y, axes=1), [X, Y[0].T.copy()]),
    "tensordot of pairs": (lambda m, x, y: m.tensordot(x, y, axes=((2, 0), (0, 1))), [X, Y.transpose(2, 0, 1).copy()]),
    "tensordot of none": (lambda m, x, y: m.tensordot(x, y, axes=0), [X[0], Y[0, 0]]),
    "matrix_transpose": (lambda m, x: m.matrix_transpose(x), [X]),
    "reshape": (lambda m, x: m.reshape(x, (7, -1)), [X]),
    "squeeze": (lambda m, x: m.squeeze(x, 1), [X[:, :1, None]]),
    "squeeze all": (lambda m, x: m.squeeze(x), [X[:1, :, None]]),
    "expand_dims": (lambda m, x: m.expand_dims(x, -2), [X]),
    "expand_dims twice": (lambda m, x: m.expand_dims(x, (0, 2)), [X]),
    "moveaxis": (lambda m, x: m.moveaxis(x, 0, -1), [X]),
    "moveaxis of two": (lambda m, x: m.moveaxis(x, (0, 1), (2, 0)), [X]),
    "flip": (lambda m, x: m.flip(x), [X]),
    "flip of an axis": (lambda m, x: m.flip(x, -1), [X]),
    "flip of nothing": (lambda m, x: m.flip(x, 1), [X[:, :0]]),
    "roll": (lambda m, x: m.roll(x, 4), [X]),
    "roll of an axis": (lambda m, x: m.roll(x, -8, 1), [X]),
    "roll of two": (lambda m, x: m.roll(x, (2, -1), (0, 2)), [X]),
    "roll by nothing": (lambda m, x: m.roll(x, 5, 1), [X]),
    "broadcast_to": (lambda m, x: m.broadcast_to(x, (3, 5, 7)), [X[:, :1]]),
    "full_like": (lambda m, x: m.full_like(x, 2.5), [X]),
    "full_like in a type": (lambda m, x: m.full_like(x, 7, dtype="int8"), [X]),
    "zeros_like": (lambda m, x: m.zeros_like(x), [EDGES]),
    "ones_like": (lambda m, x: m.ones_like(x, "float32"), [X[:0]]),
}


@pytest.mark.parametrize("name", CASES)
def test_numpys_results(name, device):
    """One by one, fused, and where NumPy's function is called with lazy arrays and arrays of a device."""
    function, arrays = CASES[name]
    with np.errstate(all="ignore"):
        wanted = function(np, *arrays)
    placed_arrays = [placed(device, one.copy()) for one in arrays]
    before = [host(one).tobytes() for one in placed_arrays]
    results = [function(ep.ops, *placed_arrays), ep.fuse(lambda *each: function(ep.ops, *each))(*placed_arrays)]
    if "vecdot" not in name:
        results.append(ep.fuse(lambda *each: function(np, *each))(*placed_arrays))
    if device.type is not DeviceType.kCPU:
        results.append(function(np, *placed_arrays))
    for result in results:
        got = host(result)
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(got, wanted, 1e-13, 1e-13)
    if isinstance(results[0], np.ndarray):
        results[0][...] = 0  # a new array
    assert [host(one).tobytes() for one in placed_arrays] == before


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(
    ("name", "arguments"), [("hypot", (X * 90, Y)), ("logaddexp", (X * 90, Y)), ("var", (Y, 1)), ("std", (X * 90, 1))]
)
def test_other_floating_types(name, arguments, dtype, device):
    """The dtype is kept; a sum of squares of 16-bit numbers does not overflow."""
    arguments = [one.astype(np.dtype(dtype)) if isinstance(one, np.ndarray) else one for one in arguments]
    given = [placed(device, one) if isinstance(one, np.ndarray) else one for one in arguments]
    wide = [one.astype(np.float64) if isinstance(one, np.ndarray) else one for one in arguments]
    got, wanted = host(getattr(ep.ops, name)(*given)), getattr(np, name)(*wide)
    assert got.dtype == np.dtype(dtype)
    np.testing.assert_allclose(got.astype(np.float64), wanted, {"float32": 1e-5, "float16": 3e-3}.get(dtype, 3e-2))


def test_corrections(device):
    x = placed(device, X)
    for correction in (0, 1, 0.5):
        wanted = X.var(axis=1) * 5 / (5 - correction)
        np.testing.assert_allclose(host(ep.ops.var(x, 1, correction=correction)), wanted, 1e-13)
        np.testing.assert_allclose(host(ep.ops.std(x, 1, correction=correction)), np.sqrt(wanted), 1e-13)
    with np.errstate(all="ignore"):
        assert host(ep.ops.var(x, 1, correction=5)).tolist() == np.full((3, 7), INF).tolist()
    assert np.isnan(host(ep.ops.var(placed(device, X[:0]))))


def test_the_gradient_of_std_where_all_numbers_are_equal(device):
    """It does not exist; where they differ, it is right beside it."""
    x = placed(device, np.float64([[2, 1], [2, 3]]))
    slopes = host(ep.grad(lambda x: ep.ops.sum(ep.ops.std(x, 0)))(x))
    assert np.isnan(slopes[:, 0]).all()
    assert slopes[:, 1].tolist() == [-0.5, 0.5]


SMOOTH = (
    "clip",
    "hypot",
    "logaddexp",
    "var of an axis",
    "std",
    "vecdot",
    "tensordot of pairs",
    "flip",
    "roll",
    "moveaxis",
)


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients(name, device):
    """Central differences of NumPy's function."""
    function, arrays = CASES[name]
    weights = np.sin(np.arange(function(np, *arrays).size)).reshape(np.shape(function(np, *arrays)))
    given = [placed(device, one.copy()) for one in (*arrays, weights)]
    loss = lambda *each: ep.ops.sum(function(ep.ops, *each[:-1]) * each[-1])  # noqa: E731
    found = ep.grad(loss, by=tuple(range(len(arrays))))(*given)
    for k, gradient in enumerate(found):
        for place in (0, 31, arrays[k].size - 1):
            index = np.unravel_index(place % arrays[k].size, arrays[k].shape)
            ends = []
            for step in (1e-6, -1e-6):
                moved = [one.copy() for one in arrays]
                moved[k][index] += step
                ends.append((function(np, *moved) * weights).sum())
            np.testing.assert_allclose(host(gradient)[index], (ends[0] - ends[1]) / 2e-6, 1e-5, 1e-7)
    at_zero = ep.grad(lambda x, y: ep.ops.sum(ep.ops.hypot(x, y)))(*[placed(device, np.zeros(3))] * 2)
    assert host(at_zero).tolist() == [0, 0, 0]


CREATED = {
    "zeros": (((2, 3),), {}),
    "ones": ((3, "int8"), {}),
    "arange": ((7,), {}),
    "arange of steps": ((2.5, -3, -0.5), {"dtype": "float32"}),
    "linspace": ((0, 1, 7), {}),
    "linspace without its end": ((-1, 2, 5), {"endpoint": False, "dtype": "float32"}),
    "eye": ((3,), {}),
    "eye of a diagonal": ((3, 5), {"k": -1, "dtype": "complex64"}),
}


@pytest.mark.parametrize("name", CREATED)
def test_new_arrays(name, device):
    args, options = CREATED[name]
    function = name.partition(" ")[0]
    wanted = getattr(np, function)(*args, **options)
    for where in (device.type, device.type.tag):
        got = host(getattr(ep.ops, function)(*args, **options, device=where))
        assert got.dtype == wanted.dtype
        assert np.array_equal(got, wanted)


REFUSED = [
    (lambda x: ep.ops.reshape(x, (4, -1)), ValueError, r"shape is \(4, -1\); an array of shape \(3, 5, 7\) cannot"),
    (lambda x: ep.ops.squeeze(x, 1), ValueError, "axis 1 of x has size 5; it must be 1"),
    (lambda x: ep.ops.expand_dims(x, (0, 0)), ValueError, r"axis is \(0, 0\); each axis must be there once"),
    (lambda x: ep.ops.moveaxis(x, 3, 0), ValueError, r"source is 3; it must be -3 \.\.\. 2"),
    (lambda x: ep.ops.moveaxis(x, (0, 1), 0), ValueError, "source has 2 axes, destination has 1"),
    (lambda x: ep.ops.matrix_transpose(ep.ops.sum(x)), ValueError, r"x has shape \(\); it must have two axes"),
    (lambda x: ep.ops.broadcast_to(x, (3, -1, 7)), ValueError, r"shape\[1\] is -1; it must not be negative"),
    (lambda x: ep.ops.roll(x, (1, 2), (0, 1, 2)), ValueError, "shift has 2 numbers, axis has 3"),
    (lambda x: ep.ops.roll(x, 1.5), TypeError, "shift must be an integer"),
    (lambda x: ep.ops.vecdot(x, x[:, :, :4]), ValueError, "x1 has 7 elements along axis -1, x2 has 4"),
    (lambda x: ep.ops.vecdot(x, x[0], axis=1), ValueError, "x1 has 3 axes, x2 has 2; count it from the last"),
    (lambda x: ep.ops.tensordot(x, x, axes=4), ValueError, "axes is 4; x1 has 3 axes"),
    (lambda x: ep.ops.tensordot(x, x, axes=1), ValueError, r"axes \[2\] of x1, of shape \(3, 5, 7\), do not fit"),
    (lambda x: ep.ops.full_like(x, 300, "int8"), ValueError, "fill_value is 300, which int8 does not hold"),
    (lambda x: ep.ops.clip(x, 0j), TypeError, "is the complex number 0j"),
]


@pytest.mark.parametrize(("function", "error", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function, error, words, device):
    x = placed(device, X)
    for each in (ep.fuse(function), *([function] if "x[" not in words else [])):
        with pytest.raises(error, match=words):
            each(x)


def test_arguments_of_new_arrays():
    for function, words in (
        (lambda: ep.ops.arange(0, 3, 0), "step is 0"),
        (lambda: ep.ops.arange(300, dtype="int8"), "is 299, which int8 does not hold"),
        (lambda: ep.ops.linspace(0, 1, -1), "num is -1"),
        (lambda: ep.ops.eye(-1), "n_rows is -1"),
    ):
        with pytest.raises(ValueError, match=words):
            function()
