"""cast."""

import ml_dtypes
import numpy as np
import pytest

import ep.ops
from ep import DataType
from ep.include.primitive import CastFactory
from ep.testing.keys import needs_one_of

pytestmark = needs_one_of(CastFactory)

TYPES = ("bool", "int8", "uint16", "int64", "float16", "bfloat16", "float32", "complex64")


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("target", TYPES)
def test_small_numbers(operate, source, target):
    """Casts of numbers that every type can hold have NumPy's results; the shape is unchanged."""
    dtype = np.dtype(ml_dtypes.bfloat16) if target == "bfloat16" else np.dtype(target)
    x = np.array([[0, 1, 1], [1, 0, 3]]).astype(ml_dtypes.bfloat16 if source == "bfloat16" else source)
    if (source, dtype.kind == "c") == ("complex64", False):
        with pytest.raises(TypeError, match=rf"dtype is {target}, and x has dtype complex64; take real\(x\) or imag"):
            operate("cast", x, target)
        return
    result = operate("cast", x, target)
    assert (result.dtype, result.shape) == (dtype, (2, 3))
    assert np.array_equal(result, x.astype(dtype))


def test_edges(operate):
    """Casts for which NumPy's results depend on the processor, or raise a warning."""
    x = np.array([np.nan, np.inf, -np.inf, 300.7, -300.7, -0.5], np.float32)
    assert operate("cast", x, "int8").tolist() == [0, 127, -128, 127, -128, 0]
    assert operate("cast", x, "uint8").tolist() == [0, 255, 0, 255, 0, 0]
    assert operate("cast", x, np.bool_).tolist() == [True, True, True, True, True, True]
    assert operate("cast", np.array([300, -1], np.int32), DataType.kUInt8).tolist() == [44, 255]
    assert operate("cast", np.array([1e300]), "float16").tolist() == [np.inf]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3, 5)])
def test_shapes(operate, shape):
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    result = operate("cast", x, "float64")
    assert result.shape == shape
    assert np.array_equal(result, x)


def test_operands_and_out():
    x = np.arange(6, dtype=np.float32)
    same = ep.ops.cast(x, np.float32)
    assert same is not x
    assert not np.shares_memory(same, x)
    assert ep.ops.cast(x[::2], "int16").tolist() == [0, 2, 4]
    assert ep.ops.cast(3, "float32").tolist() == 3.0
    out = np.zeros(6, np.int64)
    assert ep.ops.cast(x, "int64", out=out) is out
    assert out.tolist() == [0, 1, 2, 3, 4, 5]
    assert ep.ops.cast(x, "int32", out=x.view(np.int32)).tolist() == [0, 1, 2, 3, 4, 5]  # in place


def test_refusals():
    with pytest.raises(TypeError, match="dtype is 'float', a name without a size"):
        ep.ops.cast([1], "float")
    with pytest.raises(ValueError, match="dtype is 'int9', which is not a data type"):
        ep.ops.cast([1], "int9")
    with pytest.raises(TypeError, match="out has dtype int16; the result has int32"):
        ep.ops.cast([1], "int32", out=np.zeros(1, np.int16))
    x = np.zeros(8, np.float32)
    with pytest.raises(ValueError, match="out overlaps x"):
        ep.ops.cast(x[:4], "float64", out=x.view(np.float64))
