"""Gradients by numbers: arguments that take the dtype of arrays, with gradients of their own dtype."""

import math

import ml_dtypes
import numpy as np
import pytest

import ep
import ep.ops
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed

X = np.array([[1.0, 2, 0.5], [0.25, 3, 1.5]])
NUMBERS = 0.5, 0.75, np.float64(0.5), np.float32(0.5), np.float16(0.5), ml_dtypes.bfloat16(0.5)


def loss_of(w, decay):
    return ep.ops.sum(w * w) * decay * 2 + np.exp(decay) * ep.ops.sum(w / (1 + decay))


def slope(w, decay):
    """Return the gradient by the number, by hand."""
    squares, total = (w * w).sum(), w.sum()
    return 2 * squares + math.exp(decay) * total * (1 / (1 + decay) - 1 / (1 + decay) ** 2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_numbers_with_arrays(number, dtype, device):
    """The array keeps its dtype, as with a number that no gradient is by."""
    given = X.astype(np.dtype(dtype))
    w, own = placed(device, given), np.asarray(number).dtype
    for places in ({"by": ("w", "decay")}, {"argnums": (0, 1)}):
        loss, (of_w, of_number) = ep.value_and_grad(loss_of, **places)(w, number)
        assert (loss.dtype, of_w.dtype, of_number.dtype) == (given.dtype, given.dtype, own)
        assert host(of_number).shape == ()
        tolerance = 5e-2 if 2 in (given.itemsize, own.itemsize) else 1e-5
        np.testing.assert_allclose(host(of_number).astype(np.float64), slope(X, float(number)), tolerance)
    assert host(loss).tobytes() == host(ep.fuse(loss_of)(w, number)).tobytes() or dtype in ("float16", "bfloat16")


def test_other_values_need_no_trace(device):
    traces, w = [], placed(device, X)

    def traced(w, decay):
        traces.append(decay)
        return loss_of(w, decay)

    by_number = ep.grad(traced, argnums=1)
    for number in (0.5, 0.25, 0.125):
        assert math.isclose(host(by_number(w, number)), slope(X, number))
    assert len(traces) == 1


def test_numbers_alone(device):
    """Also second derivatives, and in a tree with arrays."""
    assert host(ep.grad(lambda x: x * x * x)(3.0)) == 27
    assert host(ep.grad(ep.grad(lambda x: x * x * x))(3.0)) == 18
    assert math.isclose(host(ep.grad(lambda x: np.exp(x) * 2)(1.0)), 2 * math.e)
    assert host(ep.grad(lambda x: ep.ops.real(x * x))(3j)) == -6j  # the conjugate of 6j
    tree = {"w": placed(device, X.astype(np.float32)), "rest": [0.5]}
    found = ep.grad(lambda tree: ep.ops.sum(tree["w"] * tree["rest"][0]))(tree)
    assert np.array_equal(host(found["w"]), np.full(X.shape, 0.5, np.float32))
    assert host(found["rest"][0]) == X.sum()


def test_in_another_trace(device):
    w = placed(device, X)
    inner = ep.grad(lambda w, factor: ep.ops.sum(w * w) * factor, "factor")
    assert np.array_equal(host(ep.fuse(lambda w: w + inner(w, 2.0))(w)), X + (X * X).sum())
    assert np.array_equal(host(ep.fuse(lambda w, factor: w + inner(w, factor))(w, 2.0)), X + (X * X).sum())


def test_aux(device):
    """Other results have no influence on gradients, and any structure."""
    w = placed(device, X)
    both = ep.value_and_grad(lambda w, s: (ep.ops.sum(w) * s, {"rows": w * s, "none": None}), argnums=1, has_aux=True)
    (loss, aux), of_number = both(w, 2.0)
    assert host(loss) == 2 * X.sum()
    assert host(of_number) == X.sum()
    assert np.array_equal(host(aux["rows"]), 2 * X)
    assert aux["none"] is None
    of_w, rows = ep.grad(lambda w, s: (ep.ops.sum(w) * s, w * s), has_aux=True)(w, 3.0)
    assert np.array_equal(host(of_w), np.full(X.shape, 3.0))
    assert np.array_equal(host(rows), 3 * X)


def test_what_a_number_does_not_become(device):
    """No integer, and no real number of a complex one."""
    with pytest.raises(TypeError, match="x has dtype float64, y has int64; convert one of them"):
        ep.grad(lambda s, x: ep.ops.sum(s * x))(0.5, placed(device, np.arange(3)))
    with pytest.raises(TypeError, match="x has dtype complex128, y has float64; convert one of them"):
        ep.grad(lambda s, x: ep.ops.sum(ep.ops.real(s * x)))(0.5j, placed(device, X))
    for number, what in ((3, "is the number 3"), (np.int32(3), "is the number 3"), (True, "is True")):
        with pytest.raises(TypeError, match=f"s {what}; gradients are by"):
            ep.grad(lambda s: s * s)(number)


@pytest.mark.parametrize("loss", [lambda w, s: s * s, lambda w, s: 4.0, lambda w, s: np.float64(4.0)])
def test_a_loss_that_depends_on_no_argument_of_the_gradients(loss):
    w = np.array([1.0, 2, 3], np.float32)
    for first in (w, 5.0, [w, 1.0]):
        value, found = ep.value_and_grad(loss)(first, 2.0)
        assert (value.shape, value.dtype, float(value)) == ((), np.float64, 4.0)
        for one, given in zip(*((found, first) if isinstance(first, list) else ([found], [first])), strict=True):
            np.testing.assert_array_equal(one, np.zeros_like(given), strict=isinstance(given, np.ndarray))
    traced = ep.grad(lambda a, b: b * b)
    assert [float(traced(2.0, b)) for b in (3.0, 4.0)] == [0, 0]


def test_positions_from_the_end_and_of_numpy():
    w, b = np.array([1.0, 2, 3]), np.array([4.0, 5, 7])
    for places in (-1, np.int64(1), np.array(1), np.uint8(1)):
        np.testing.assert_array_equal(ep.grad(lambda w, b: (w * b).sum(), argnums=places)(w, b), w)
    of_b, of_w = ep.grad(lambda w, b: (w * b).sum(), by=(-1, np.int32(0)))(w, b)
    np.testing.assert_array_equal((of_b, of_w), (w, b))
    with pytest.raises(ValueError, match=r"^by is .*one argument of .* twice"):
        ep.grad(lambda w, b: (w * b).sum(), by=(-1, 1))(w, b)
