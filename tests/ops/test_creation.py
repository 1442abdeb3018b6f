"""New arrays: NumPy's numbers, errors that name the argument, and constants in functions that are traced."""

import math

import numpy as np
import pytest

import ep
import ep.ops as o
from ep import DeviceType
from ep.ops import copy_to_host as host
from ep.ops.devices import arrays_of
from tests.fuse.placing import placed

X = np.array([1, 2, -3], np.float32)

MADE = {
    "zeros": lambda m: m.zeros(3, "float32"),
    "ones": lambda m: m.ones((3,), "float32"),
    "full": lambda m: m.full((2, 3), 2.5, "float32"),
    "arange": lambda m: m.arange(3, dtype="float32"),
    "linspace": lambda m: m.linspace(0, 1, 3, dtype="float32"),
    "eye": lambda m: m.eye(3, dtype="float32"),
    "eye in float64": lambda m: m.eye(3).astype("float32"),
}


@pytest.mark.parametrize("name", MADE)
def test_arrays_made_in_a_function_are_its_constants(name, device):
    make = MADE[name]
    x = placed(device, X)
    fused = ep.fuse(lambda x: (x * make(o), make(o)))
    for _ in range(2):
        product, made = map(host, fused(x))
        np.testing.assert_array_equal(product, X * make(np))
        np.testing.assert_array_equal(made, make(np))
        assert made.dtype == np.float32
    loss, slope = ep.value_and_grad(lambda x: o.sum(x * make(o)))(x)
    np.testing.assert_allclose(host(loss), np.sum(X * make(np)), rtol=1e-6)
    whole = np.broadcast_to(make(np), np.broadcast_shapes(X.shape, make(np).shape))
    np.testing.assert_allclose(host(slope), whole.reshape(-1, 3).sum(axis=0), rtol=1e-6)


def test_a_constant_is_placed_once(device, monkeypatch):
    """Later calls do not copy the numbers of arange to the device again."""
    fused = ep.fuse(lambda x: o.cumulative_sum(x, 0) * o.arange(3, dtype="float32"))
    x, copies = placed(device, X), []
    fused(x)
    arrays = type(arrays_of((x,), ("x",)))
    copy = arrays.copy_from_host
    monkeypatch.setattr(arrays, "copy_from_host", lambda self, array: copies.append(array) or copy(self, array))
    for _ in range(3):
        np.testing.assert_array_equal(host(fused(x)), np.cumsum(X) * np.arange(3))
    assert not copies
    o.arange(3, device=device.type)
    assert len(copies) == 1


def test_a_function_makes_arrays_without_arguments():
    assert ep.fuse(lambda: o.ones(3))().tolist() == [1, 1, 1]
    assert ep.fuse(lambda: o.arange(0))().shape == (0,)
    assert type(o.zeros(1)) is np.ndarray  # after it, arrays are computed again


def test_a_device_that_is_named_is_the_one_of_the_result():
    fused = ep.fuse(lambda x: x + o.ones(3, "float32", device="cpu", device_index=0))
    np.testing.assert_array_equal(fused(X), X + 1)


NUMBERS = {
    "full": lambda m, x, n: x + m.full((3,), n, "float32"),
    "full of its type": lambda m, x, n: m.full((3,), n),
    "full_like": lambda m, x, n: m.full_like(x, n),
    "full_like in a type": lambda m, x, n: m.full_like(x, n, "float64"),
    "linspace": lambda m, x, n: x + m.linspace(0, n, 3, dtype="float32"),
    "arange": lambda m, x, n: m.arange(1, n),
    "var": lambda m, x, n: m.var(x, correction=n),
    "std": lambda m, x, n: m.std(x, correction=n),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_are_arguments_make_arrays(name):
    function = NUMBERS[name]
    fused = ep.fuse(lambda x, n: function(o, x, n))
    for number in (2.0, 1.0, 1.5, 2.0):
        expected = function(np, X, number)
        found = fused(X, number)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_gradients_of_a_number_that_fills_an_array():
    slope = ep.grad(lambda n, x: o.sum(x * o.full((3,), n, "float32")))(np.array([2], np.float32)[0], X)
    assert float(slope) == X.sum()


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "bool", "float32", "complex64", None])
@pytest.mark.parametrize(
    "bounds", [(0, 1, 4), (-1, 1, 4), (-7.5, 3, 6), (0, 9, 0), (2, 5, 1), (np.float32(0), np.int8(1), 3)]
)
def test_linspace_is_numpys(dtype, bounds):
    if dtype == "uint8" and bounds[0] < 0:
        with pytest.raises(ValueError, match="does not hold"):
            o.linspace(*bounds, dtype=dtype)
        return
    start, stop, num = bounds
    for endpoint in (True, False):
        found = o.linspace(*bounds, dtype=dtype, endpoint=endpoint)
        expected = np.linspace(float(start), float(stop), num, endpoint, dtype=dtype)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_linspace_of_complex_numbers():
    found = o.linspace(0, 1j, 3)
    assert found.dtype == np.complex128
    assert found.tolist() == [0, 0.5j, 1j]


REFUSED = {
    "a complex start": (lambda: o.linspace(1j, 0, 3, dtype="float32"), TypeError, "start is 1j"),
    "a complex stop": (lambda: o.linspace(0, np.complex64(1j), 3, dtype="int32"), TypeError, "stop is 1j"),
    "NaN as an integer": (lambda: o.linspace(math.nan, 0, 3, dtype="int32"), ValueError, "start is nan"),
    "infinity as an integer": (lambda: o.linspace(0, math.inf, 3, dtype="uint8"), ValueError, "stop is inf"),
    "an array": (lambda: o.linspace(np.zeros(2), 1, 3), TypeError, "start must be a number"),
    "text": (lambda: o.linspace(0, "1", 3), TypeError, "stop must be a number"),
    "arange of NaN": (lambda: o.arange(math.nan), ValueError, "stop is nan"),
    "arange of a complex number": (lambda: o.arange(0, 1j), TypeError, "stop is 1j"),
    "arange of an array": (lambda: o.arange(np.zeros(2)), TypeError, "stop must be a number"),
    "a step of 0": (lambda: o.arange(0, 3, 0), ValueError, "step is 0"),
    "device 0": (lambda: o.zeros(2, device=0), TypeError, "device must be a DeviceType or its tag"),
    "device 0 of arange": (lambda: o.arange(2, device=0), TypeError, "device must be"),
    "no device type": (lambda: o.copy_to_device(X, 0), TypeError, "device_type must be"),
    "a device beyond": (
        lambda: o.arange(2, device_index=3),
        ValueError,
        "device_index is 3; the number of cpu devices",
    ),
    "a device before": (lambda: o.zeros(2, device="cpu", device_index=-1), ValueError, "device_index is -1"),
    "a copy beyond": (lambda: o.copy_to_device(X, DeviceType.kCPU, 3), ValueError, "device_index is 3"),
    "half a device": (lambda: o.full(2, 1, device_index=0.5), TypeError, "device_index"),
    "hypot of a complex number": (lambda: o.hypot(X, 1j), TypeError, "y is the complex number 1j; float32 is real"),
    "hypot of a complex64": (
        lambda: o.hypot(np.complex64(1), X),
        TypeError,
        r"x is the complex number \(1\+0j\); float32 is real",
    ),
    "hypot of complex numbers": (
        lambda: o.hypot(X + 0j, X + 0j),
        LookupError,
        "x and y have dtype complex64; hypot takes float16",
    ),
    "hypot of a complex argument": (
        lambda: ep.fuse(o.hypot)(X, 1j),
        TypeError,
        "y is the complex number 1j; float32 is real",
    ),
    "a complex correction": (lambda: o.var(X, correction=1j), TypeError, "correction must be a real number"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_other_arguments_are_errors_that_name_them(what):
    call, error, words = REFUSED[what]
    with pytest.raises(error, match=words):
        call()
