"""The functions of the ops on arrays: dtypes, broadcasting, Python numbers."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ep.ops
from ep import BinaryOp, DataType, UnaryOp, UnsupportedPrimitiveError
from ep.common.primitive.keys import BROADCAST_ELEMENTWISE_BINARY, ELEMENTWISE_UNARY
from ep.include.primitive.op_table import OPS
from ep.ops.operands import as_weak

HALVES = (DataType.kFloat16, DataType.kBFloat16)  # NumPy has no complex numbers with parts of these types


@pytest.mark.parametrize("keys", [ELEMENTWISE_UNARY, BROADCAST_ELEMENTWISE_BINARY], ids=["unary", "binary"])
def test_result_types_are_those_of_the_primitives(keys):
    for op, (source, _) in keys:
        if op not in (UnaryOp.kRealGrad, UnaryOp.kImagGrad) or source not in HALVES:
            assert (op, (source, OPS[op].result_type(source))) in keys


@pytest.mark.parametrize(
    ("op", "source", "result"),
    [
        (BinaryOp.kAdd, DataType.kInt8, DataType.kInt8),
        (BinaryOp.kLessThan, DataType.kInt8, DataType.kBool),
        (BinaryOp.kLogicalXor, DataType.kFloat, DataType.kBool),
        (BinaryOp.kIsCloseEqualNan, DataType.kBFloat16, DataType.kBool),
        (UnaryOp.kLogicalNot, DataType.kFloat, DataType.kBool),
        (UnaryOp.kIsInf, DataType.kInt64, DataType.kBool),
        (UnaryOp.kNotEqualZero, DataType.kFloat, DataType.kFloat),
        (UnaryOp.kReal, DataType.kComplex64, DataType.kFloat),
        (UnaryOp.kImag, DataType.kComplex128, DataType.kDouble),
        (UnaryOp.kConj, DataType.kComplex64, DataType.kComplex64),
        (UnaryOp.kRealGrad, DataType.kFloat, DataType.kComplex64),
        (UnaryOp.kImagGrad, DataType.kDouble, DataType.kComplex128),
    ],
)
def test_result_type(op, source, result):
    assert OPS[op].result_type(source) is result


def test_unary(elementwise):
    x = np.array([[-1.5, 0.0], [2.5, np.nan]], np.float32)
    assert np.array_equal(elementwise("relu", x), [[0, 0], [2.5, np.nan]], equal_nan=True)
    assert elementwise("is_nan", x).tolist() == [[False, False], [False, True]]
    z = np.array([1 + 2j, -3j], np.complex64)
    assert (elementwise("imag", z).dtype, elementwise("imag", z).tolist()) == (np.float32, [2, -3])
    assert elementwise("imag_grad", np.array([2.0])).tolist() == [2j]


def test_unary_of_numbers_and_lists():
    assert (ep.ops.relu(-3).dtype, ep.ops.relu(-3).item()) == (np.int64, 0)
    assert ep.ops.negative([1.0, 2.0]).tolist() == [-1, -2]
    assert ep.ops.relu(np.float32(2)).dtype == np.float32
    assert ep.ops.relu(np.zeros((0, 3), np.float32)).shape == (0, 3)


def test_unsupported_types():
    with pytest.raises(UnsupportedPrimitiveError, match="x has dtype int64; exp takes"):
        ep.ops.exp(3)
    with pytest.raises(UnsupportedPrimitiveError, match="x has dtype float32; real takes complex64, complex128"):
        ep.ops.real(np.zeros(2, np.float32))


sizes = st.integers(0, 3)


@given(st.lists(st.tuples(sizes, st.sampled_from(["both", "x", "y"])), max_size=5), st.integers(0, 5), st.booleans())
@settings(max_examples=80, deadline=None)
def test_broadcasting(elementwise, axes, missing, first):
    x_shape = [1 if who == "y" else size for size, who in axes]
    y_shape = [1 if who == "x" else size for size, who in axes]
    x_shape, y_shape = (x_shape[missing:], y_shape) if first else (x_shape, y_shape[missing:])
    x = np.arange(np.prod(x_shape), dtype=np.float32).reshape(x_shape)
    y = np.arange(np.prod(y_shape), dtype=np.float32).reshape(y_shape) ** 2
    result = elementwise("sub", x, y)
    assert isinstance(result, np.ndarray)
    assert result.shape == np.broadcast_shapes(x.shape, y.shape)
    assert np.array_equal(result, x - y)


def test_many_axes(elementwise, rng):
    shape_x, shape_y = (2, 1, 3, 2, 1, 1, 2, 1, 1, 2, 1, 1), (2, 1, 1, 2, 1, 2, 2, 3, 2)
    x, y = rng.standard_normal(shape_x).astype(np.float32), rng.standard_normal(shape_y).astype(np.float32)
    assert np.array_equal(elementwise("sub", x, y), x - y)
    assert np.array_equal(elementwise("sub", y, x), y - x)
    assert elementwise("sub", x, np.zeros((0,) + (1,) * 10, np.float32)).shape == (2, 0, *shape_x[2:])
    assert np.array_equal(elementwise("sub", x, np.float32(1)), x - 1)
    assert np.array_equal(elementwise("sub", 1, x), 1 - x)
    assert elementwise("sub", 1, np.zeros((0,) + (1,) * 10, np.float32)).shape == (0,) + (1,) * 10


def test_too_many_axes(elementwise):
    x, y = np.zeros((2, 1) * 4 + (2,), np.float32), np.zeros((1, 2) * 4 + (1,), np.float32)
    with pytest.raises(ValueError, match=r"sub of shapes .* needs 9 axes .* at most 8"):
        elementwise("sub", x, y)
    assert elementwise("sub", x[:1], y[:, :1]).shape == (1, 1) + (2,) * 7


def test_shapes_that_do_not_broadcast(elementwise):
    with pytest.raises(ValueError, match=r"^dy \(2,\), x \(3,\) do not broadcast at axis -1$"):
        elementwise("relu_backward_with_dy_x", np.zeros(2), np.zeros(3))


def test_different_dtypes(elementwise):
    with pytest.raises(TypeError, match="x has dtype float32, y has float64; convert one of them"):
        elementwise("add", np.zeros(2, np.float32), np.zeros(2))
    with pytest.raises(TypeError, match="x has dtype float32, y has float64"):
        elementwise("add", np.zeros(2, np.float32), np.float64(1))
    with pytest.raises(TypeError, match="dy has dtype float16, y has bfloat16"):
        elementwise("tanh_backward_with_dy_y", np.zeros(2, np.float16), np.zeros(2, ml_dtypes.bfloat16))


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.uint8])
@pytest.mark.parametrize("number", [3, 3.0, True])
def test_python_numbers_are_weak(elementwise, dtype, number):
    x = np.array([5, 7], dtype)
    assert (elementwise("sub", x, number).dtype, elementwise("sub", x, number).tolist()) == (
        dtype,
        [5 - number, 7 - number],
    )
    assert elementwise("sub", number, x).tolist() == (dtype(number) - x).tolist()


def test_two_python_numbers():
    for x, y in [(5, 2), (5, 2.5), (True, 2), (2.0, True)]:
        result = ep.ops.sub(x, y)
        assert (result.dtype, result.shape) == (np.array([x, y]).dtype, ())
        assert result == x - y
    with pytest.raises(ValueError, match="which no dtype holds"):
        ep.ops.sub(10**30, 1)


def test_a_list_is_not_weak():
    with pytest.raises(TypeError, match="float64"):
        ep.ops.add(np.zeros(2, np.float32), [1.0, 2.0])


OUT_OF_RANGE = {
    "bool": [2],
    "uint8": [256, -1],
    "int8": [np.nan],
    "int32": [2.5, np.inf],
    "int64": [2**63, float(2**63)],
    "float16": [65520, 10**30],
    "bfloat16": [1e39],
    "float32": [1e39],
    "float64": [10**400],
    "complex64": [1e39j],
}


@pytest.mark.parametrize(("dtype", "number"), [(dtype, n) for dtype, numbers in OUT_OF_RANGE.items() for n in numbers])
def test_numbers_out_of_range(dtype, number):
    with pytest.raises(ValueError, match=rf"y is .*, which {dtype} does not hold"):
        as_weak(number, np.dtype(dtype), "y")


IN_RANGE = {
    "bool": [(1, True), (0.0, False)],
    "uint8": [(255, 255)],
    "int8": [(-128.0, -128)],
    "uint64": [(2**64 - 1, 2**64 - 1)],
    "float16": [(65519, 65504), (np.inf, np.inf)],
    "bfloat16": [(1 + 257 / 65536, 1.0078125)],
    "float32": [(1e-50, 0)],
    "complex64": [(2, 2), (complex(np.inf, 1), complex(np.inf, 1))],
}


@pytest.mark.parametrize(("dtype", "pair"), [(dtype, pair) for dtype, pairs in IN_RANGE.items() for pair in pairs])
def test_numbers_in_range(dtype, pair):
    number, value = pair
    result = as_weak(number, np.dtype(dtype), "y")
    assert (result.shape, result.dtype, result.item()) == ((), np.dtype(dtype), value)


def test_numbers_in_calls(elementwise):
    with pytest.raises(ValueError, match="x is 300, which uint8 does not hold"):
        elementwise("sub", 300, np.zeros(2, np.uint8))
    with pytest.raises(TypeError, match="complex"):
        elementwise("sub", np.zeros(2, np.float32), 1j)
    assert elementwise("sub", np.zeros((), np.float32), 1).shape == ()
    assert elementwise("sub", np.zeros((0, 2), np.float32), 1).shape == (0, 2)
