"""Python's operators on arrays of a device: each is a function of `ep.ops`, in both orders and in place."""

import operator

import numpy as np
import pytest

import ep.ops
from ep.ops import copy_to_device, copy_to_host
from tests.ops.test_names import check_dir

ARITHMETIC = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "true_divide",
    "floordiv": "floor_div",
    "mod": "floor_mod",
    "pow": "pow",
}
BITS = {"and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor"}
COMPARED = {
    **{"lt": "less_than", "le": "less_equal", "gt": "greater_than", "ge": "greater_equal"},
    **{"eq": "equal", "ne": "not_equal"},
}
UNARY = {"abs": "abs", "neg": "negative", "pos": "identity"}
A, B = np.array([[1, -2, 3], [4, 5, 6]]), np.array([3, 2, -2])


@pytest.fixture
def cuda():
    return lambda array: copy_to_device(array, "cuda")


def check(got, expected):
    expected = np.asarray(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(copy_to_host(got), expected)


def test_what_an_array_lists(cuda):
    check_dir(cuda(A), {"address", "copy_to_host", "device_index", "nbytes"})


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name in [*ARITHMETIC, *COMPARED]
        for dtype in (np.float32, np.int32)
        if (name, dtype) != ("truediv", np.int32)
    ],
)
def test_two_operands(cuda, name, dtype):
    """Both orders, with a broadcast array and with a Python number, give the results of the function on the host."""
    symbol, function = getattr(operator, name), getattr(ep.ops, {**ARITHMETIC, **COMPARED}[name])
    a, b = (np.abs(one).astype(dtype) for one in (A, B))
    x, y = cuda(a), cuda(b)
    for got, expected in (
        (symbol(x, y), function(a, b)),
        (symbol(y, x), function(b, a)),
        (symbol(x, 2), function(a, 2)),
        (symbol(2, x), function(2, a)),
    ):
        if name == "pow":
            np.testing.assert_allclose(copy_to_host(got), expected, 1e-6)
        else:
            check(got, expected)


@pytest.mark.parametrize("dtype", [np.int32, np.bool_])
@pytest.mark.parametrize("name", BITS)
def test_bits(cuda, name, dtype):
    symbol, number = getattr(operator, name), dtype(1).item()
    a, b = A.astype(dtype), B.astype(dtype)
    x, y = cuda(a), cuda(b)
    check(symbol(x, y), symbol(a, b))
    check(symbol(x, number), symbol(a, number))
    check(symbol(number, x), symbol(number, a))
    check(~x, ~a)


@pytest.mark.parametrize("name", UNARY)
def test_one_operand(cuda, name):
    a = A.astype(np.float32)
    got = getattr(operator, name)(cuda(a))
    check(got, getattr(operator, name)(a))


def test_results_are_operands(cuda):
    a, b = A.astype(np.float32), B.astype(np.float32)
    x, y = cuda(a), cuda(b)
    np.testing.assert_allclose(copy_to_host(ep.ops.gelu(x + y)), ep.ops.gelu(a + b), 1e-5)


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"])
def test_in_place(cuda, name):
    """The same array has the result, so all arrays that share its memory have it, too; its shape and dtype are
    unchanged.
    """
    symbol = getattr(operator, name)
    a = np.abs(A).astype(np.float32)
    x = cuda(a)
    shared = x.reshape(6)
    assert symbol(x, 2) is x
    expected = symbol(a, np.float32(2))
    np.testing.assert_allclose(copy_to_host(shared).reshape(2, 3), expected, 1e-6)
    row = cuda(B.astype(np.float32))
    with pytest.raises(ValueError, match=r"out has shape \(3,\); the result has \(2, 3\)"):
        symbol(row, x)


def test_bits_in_place(cuda):
    a = A.astype(np.int32)
    x = first = cuda(a)
    x &= 6
    x |= 8
    x ^= cuda(B.astype(np.int32))
    assert x is first
    check(x, ((a & 6) | 8) ^ B.astype(np.int32))


def test_matmul(cuda):
    a, b = A.astype(np.float32), A.T.astype(np.float32)
    square = (A @ A.T).astype(np.float32)
    x = first = cuda(square)
    check(cuda(a) @ cuda(b), a @ b)
    x @= cuda(square)
    assert x is first
    check(x, square @ square)


def test_what_is_no_operand(cuda):
    x = cuda(A.astype(np.float32))
    for other in (object(), None, "1"):
        with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'CudaArray'"):
            x + other
        with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+|can only concatenate str"):
            other + x
        with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+="):
            x += other
        with pytest.raises(TypeError, match="not supported between"):
            x < other  # noqa: B015
    assert (x == None) is False  # noqa: E711
    assert (x != "1") is True


def test_another_class_has_its_say(cuda):
    class Other:
        def __radd__(self, other):
            return "other"

    assert cuda(A.astype(np.float32)) + Other() == "other"


def test_what_operators_refuse(cuda):
    x = cuda(A.astype(np.float32))
    with pytest.raises(TypeError, match="convert one of them"):
        x + cuda(A.astype(np.int32))
    for symbol in (operator.add, operator.lt, operator.matmul):
        with pytest.raises(TypeError, match=r"is on the host, .* is on cuda:0|is on cuda:0, .* is on the host"):
            symbol(A.astype(np.float32), x)
        with pytest.raises(TypeError, match=r"is on the host, .* is on cuda:0|is on cuda:0, .* is on the host"):
            symbol(x, A.astype(np.float32))
    with pytest.raises(TypeError, match="a CudaArray is no truth value"):
        bool(x == x)
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
