"""Numbers and functions of NumPy on arrays of a device and lazy arrays: as numbers of Python, as those of `ep.ops`."""

import math
import operator
from functools import partial

import ml_dtypes
import numpy as np
import pytest

import ep
import ep.ops
from ep import DataType
from ep.include.number_kind import FLOATS
from ep.ops import copy_to_host as host
from tests.fuse.placing import placed

SCALARS = [
    *(np.float64(2), np.sqrt(64), np.float32(0.5), np.float16(4), ml_dtypes.bfloat16(2), np.longdouble(2)),
    *(np.int8(3), np.uint64(5), np.int64(-2), np.longlong(2), np.bool_(True)),
]
SYMBOLS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}
X = np.array([[1, 2, 3], [5, 8, 13]])


def python_number(scalar):
    """Return the number of Python that a scalar is."""
    return float(scalar) if isinstance(scalar, np.longdouble) else scalar.item()


def swapped(function, y, x):
    return function(x, y)


def in_block(function):
    """Return the function that assigns the result of another one to a view of its argument."""

    def block(x):
        with ep.lazy() as lazy:
            view = lazy.view(x)
            view[...] = function(view)
        return x

    return block


def same(got, wanted):
    got, wanted = host(got), host(wanted)
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    assert got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("scalar", SCALARS, ids=repr)
@pytest.mark.parametrize("data_type", [*FLOATS, DataType.kComplex64], ids=lambda one: one.name)
def test_a_scalar_takes_the_type_of_the_array(data_type, scalar, device):
    """In both orders, in functions, expressions and blocks, closed over and as an argument: the bits of the number."""
    x, number = placed(device, X.astype(data_type.dtype)), python_number(scalar)
    for name, symbol in SYMBOLS.items():
        for wanted, function, by_name in (
            (getattr(ep.ops, name)(x, number), lambda x, s=scalar, f=symbol: f(x, s), getattr(ep.ops, name)(x, scalar)),
            (getattr(ep.ops, name)(number, x), lambda x, s=scalar, f=symbol: f(s, x), getattr(ep.ops, name)(scalar, x)),
        ):
            same(by_name, wanted)
            same(ep.fuse(function)(x), wanted)
            same(ep.fuse(function)(x, scalar), wanted)
            if not isinstance(x, np.ndarray):
                same(function(x), wanted)
            for _ in range(3):  # the later ones by what blocks know
                same(in_block(function)(placed(device, X.astype(data_type.dtype))), wanted)


@pytest.mark.parametrize("scalar", [np.array(2.0), np.array(8), np.array(0.5, np.float16)], ids=repr)
def test_an_array_without_axes_is_a_number_in_an_expression(scalar, device):
    x = placed(device, X.astype(np.float32))
    number = scalar.item()
    for symbol in SYMBOLS.values():
        same(ep.fuse(partial(swapped, symbol, scalar))(x), ep.fuse(partial(swapped, symbol, number))(x))
        same(ep.fuse(partial(symbol, scalar))(x), ep.fuse(partial(symbol, number))(x))
        if not isinstance(x, np.ndarray):
            same(symbol(x, scalar), symbol(x, number))
            same(symbol(scalar, x), symbol(number, x))
            same(ep.fuse(symbol)(x, scalar), symbol(x, number))


def test_numbers_that_the_type_does_not_hold(device):
    """They are refused as Python's are, and nothing is written."""
    floats, integers = placed(device, X.astype(np.float32)), placed(device, X.astype(np.int8))
    for x, number in ((floats, np.float64(1e300)), (integers, np.float64(2.5)), (integers, np.int64(200))):
        for function in (lambda x, n=number: x * n, lambda x, n=number: ep.ops.mul(x, n)):
            with pytest.raises(ValueError, match="does not hold"):
                ep.fuse(function)(x)
        with pytest.raises(ValueError, match="does not hold"):
            ep.ops.mul(x, number)
    with pytest.raises(TypeError, match="is the complex number 1j"):
        ep.ops.mul(floats, np.complex64(1j))
    with pytest.raises(TypeError, match="convert one of them"):  # two numbers of NumPy have their own types
        ep.ops.add(np.float32(1), np.float64(1))
    assert ep.ops.add(np.float32(1), 2).dtype == np.float32


def test_scalars_as_arguments(device):
    """A trace is valid for all values of a type; where an array is needed, they are one of their own type."""
    x, traces = placed(device, X.astype(np.float32)), []

    @ep.fuse
    def scaled(x, rate):
        traces.append(rate)
        return x * (1 - rate) / np.sqrt(2 * rate)

    for rate in (np.float64(0.5), np.float64(0.25), np.float64(0.125)):
        wanted = X * (1 - rate) / math.sqrt(2 * rate)
        np.testing.assert_allclose(host(scaled(x, rate)), wanted, 1e-6)
        assert scaled(x, rate).dtype == np.float32
    assert len(traces) == 1
    scaled(x, np.float32(0.5))
    assert len(traces) == 2
    alone = ep.fuse(
        lambda n: (n * 2, ep.ops.exp(n), n.astype("float64"), n.dtype == np.float32 and n.shape == () and n)
    )
    got = alone(np.float32(0.5))
    assert [one.dtype for one in got] == [np.float32, np.float32, np.float64, np.float32]
    np.testing.assert_allclose(got, [1, math.exp(0.5), 0.5, 0.5], 1e-6)
    assert host(ep.grad(lambda n: n * n * n)(np.float32(3))) == 27
    chosen = ep.fuse(lambda x, flag: ep.ops.where(flag, x, -x))
    if isinstance(x, np.ndarray):
        assert np.array_equal(chosen(x, np.bool_(False)), -x)


FUNCTIONS = {
    "exp": lambda np, x: np.exp(x),
    "arctan": lambda np, x: np.arctan(x),
    "power": lambda np, x: np.power(x, 2),
    "maximum": lambda np, x: np.maximum(2, x),
    "less": lambda np, x: np.less(x, 3),
    "divide": lambda np, x: np.divide(x, 3),
    "matmul": lambda np, x: np.matmul(x, np.transpose(x)),
    "sum": lambda np, x: np.sum(x),
    "sum of an axis": lambda np, x: np.sum(x, axis=0, keepdims=True),
    "mean": lambda np, x: np.mean(x, 1),
    "max": lambda np, x: np.max(x, axis=-1),
    "any": lambda np, x: np.any(x > 12),
    "concatenate": lambda np, x: np.concatenate([x, x], axis=1),
    "stack": lambda np, x: np.stack((x, x)),
    "where": lambda np, x: np.where(x > 2, x, 0),
    "tile": lambda np, x: np.tile(x, (2, 1)),
    "pad": lambda np, x: np.pad(x, 1),
    "tensordot": lambda np, x: np.tensordot(x, np.transpose(x), 1),
    "tensordot_by_name": lambda np, x: np.tensordot(a=x, b=x, axes=([0], [0])),
    "std": lambda np, x: np.std(x, ddof=1),
    "var": lambda np, x: np.var(x, axis=1, ddof=1, keepdims=True),
    "var_by_position": lambda np, x: np.var(x, 1, None, None, 1, True),
    "clip": lambda np, x: np.clip(x, a_min=2, a_max=3),
    "clip_of_one_side": lambda np, x: np.clip(x, None, 3),
    "sum_by_position": lambda np, x: np.sum(x, 0, None, None, True),
    "sum_by_name": lambda np, x: np.sum(a=x, axis=1),
    "max_by_position": lambda np, x: np.max(x, 0, None, True),
    "defaults": lambda np, x: np.pad(np.round(np.reshape(x, -1, order="C"), decimals=0), 1, mode="constant"),
    "pad_of_twos": lambda np, x: np.pad(x, 1, constant_values=2),
    "tile_by_name": lambda np, x: np.tile(A=x, reps=(2, 1)),
    "conj": lambda np, x: np.conj(x) + np.conjugate(x),
    "real": lambda np, x: np.real(x) + np.imag(x),
    "real_of_complex": lambda np, x: (
        np.real(np.conj(x.astype("complex128"))) + np.imag(np.conj(x.astype("complex128")))
    ),
    "std_method": lambda np, x: x.std(ddof=1) + x.var(1, ddof=1),
    "astype": lambda np, x: x.astype("float64", copy=False).astype(np.float32, copy=False),
    "shape": lambda np, x: x * np.shape(x)[1] + np.ndim(x) + np.size(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numpy(name, device):
    """They are those of `ep.ops`, on lazy arrays and on arrays of a device that is not the host."""
    function, given = FUNCTIONS[name], X / 4 + 1.0
    x, wanted = placed(device, given), function(np, given)
    found = [ep.fuse(lambda x: function(np, x))(x)] + ([] if isinstance(x, np.ndarray) else [function(np, x)])
    for one in found:
        assert host(one).dtype == wanted.dtype
        np.testing.assert_allclose(host(one), wanted, 1e-12)


def test_functions_that_there_are_not(device):
    x = placed(device, X.astype(np.float32))
    for function, message in (
        (lambda x: np.spacing(x), "numpy.spacing takes arrays of the host alone"),
        (lambda x: np.add.reduce(x), "numpy.add.reduce .* use ep.ops.sum"),
        (lambda x: np.sqrt(x, dtype=np.float64), "numpy.sqrt with dtype .* use ep.ops.sqrt"),
        (lambda x: np.hypot(x, x, out=x), "numpy.hypot with out takes arrays of the host alone; use ep.ops.hypot"),
        (lambda x: np.add.at(x, 0, 1), r"numpy\.add\.at takes arrays of the host alone$"),
        (lambda x: np.multiply.outer(x, x), r"numpy\.multiply\.outer takes arrays of the host alone$"),
        (lambda x: np.maximum.accumulate(x), r"numpy\.maximum\.accumulate takes arrays of the host alone$"),
        (lambda x: np.deg2rad(x), r"numpy\.deg2rad takes arrays of the host alone$"),
        (lambda x: np.where(x > 0), r"numpy\.where without x and y .* use ep\.ops\.where$"),
        (lambda x: np.std(x, dtype=np.float64), r"numpy\.std with dtype .* use ep\.ops\.std$"),
        (lambda x: np.max(x, initial=0), r"numpy\.max with initial .* use ep\.ops\.max$"),
        (lambda x: np.round(x, 2), r"numpy\.round with decimals .* use ep\.ops\.round$"),
        (lambda x: np.pad(x, 1, "edge"), r"numpy\.pad with mode .* use ep\.ops\.pad$"),
        (lambda x: np.var(x, ddof=1, correction=1), "numpy.var has .* two names of one parameter"),
        (lambda x: np.sort(x, kind="stable"), r"numpy\.sort with kind .* use ep\.ops\.sort$"),
        (lambda x: np.median(x), "numpy.median: "),
        (lambda x: np.linalg.norm(x), "numpy.linalg.norm: "),
        (lambda x: np.ones((2, 3), np.float32) * x, r"(x is on the host|x \(ndarray\) is no part of the trace)"),
        (lambda x: x * [[1.0, 2, 3]], r"y \(list\) is (on the host|no part of the trace)"),
    ):
        with pytest.raises(TypeError, match=message):
            ep.fuse(function)(x)
        if not isinstance(x, np.ndarray):
            with pytest.raises(TypeError, match=message):
                function(x)
    with pytest.raises(TypeError, match="use x // y"):
        ep.fuse(lambda x: np.divide(x, 2))(placed(device, X))


def test_gradients_with_scalars(device):
    x = placed(device, X.astype(np.float32))
    of_x, of_scalar = ep.ops.vjp("mul", (x, np.float64(3)), {}, None, x)
    assert np.array_equal(host(of_x), 3 * host(x))
    assert host(of_scalar).dtype == np.float32
