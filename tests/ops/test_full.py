"""full and one_hot."""

import ml_dtypes
import numpy as np
import pytest

import ep.ops
from ep import DeviceType
from ep.include.primitive import FillFactory, OneHotFactory, TensorFillFactory
from ep.testing.keys import needs_one_of

needs_fill = needs_one_of(FillFactory)
needs_one_hot = needs_one_of(OneHotFactory)


@needs_fill
@pytest.mark.parametrize("shape", [5, 0, (), (3,), [2, 0, 3], (2, 3, 5), np.array([2, 3])], ids=str)
@pytest.mark.parametrize("value", [True, 7, -2.5, 1 - 2j, np.float32(3), np.int16(-4)], ids=str)
def test_full(device, shape, value):
    result = ep.ops.copy_to_host(ep.ops.full(shape, value, device=device.type))
    expected = np.full(shape, value)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    assert np.array_equal(result, expected)


@needs_fill
def test_full_of_a_dtype(device):
    for dtype, value in (("int8", 15.0), ("float16", 0.1), ("bfloat16", 3), (np.complex64, 2), ("bool", 0.5)):
        result = ep.ops.copy_to_host(ep.ops.full((2, 3), value, dtype, device=device.type.tag))
        expected = np.full((2, 3), value, ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
        assert result.dtype == expected.dtype
        assert np.array_equal(result, expected)


@needs_one_of(TensorFillFactory)
def test_full_of_an_array(on_device):
    value = on_device(np.array(2.5, np.float32))
    result = ep.ops.copy_to_host(ep.ops.full((2, 3), value))
    assert (result.dtype, result.tolist()) == (np.float32, [[2.5] * 3] * 2)
    with pytest.raises(TypeError, match="dtype is int8, fill_value has float32; convert it first"):
        ep.ops.full(2, value, "int8")
    with pytest.raises(ValueError, match="an array is filled on the device that fill_value is on"):
        ep.ops.full(2, value, device="cpu")
    with pytest.raises(ValueError, match=r"fill_value has shape \(2,\); it must be a number or an array without axes"):
        ep.ops.full(2, on_device(np.zeros(2)))


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((-1, 0), ValueError, r"shape\[0\] is -1; it must not be negative"),
        ((2.5, 0), TypeError, r"shape\[0\] must be an integer"),
        ((2, 300, "int8"), ValueError, "fill_value is 300, which int8 cannot hold"),
        ((2, 0.5, "int8"), ValueError, "fill_value is 0.5, which int8 cannot hold"),
        ((2, 1j, "float32"), TypeError, "fill_value is the complex number 1j; float32 is real"),
        ((2, 1, "int"), TypeError, "dtype is 'int', a name without a size"),
    ],
)
def test_full_refuses(arguments, kind, message):
    with pytest.raises(kind, match=message):
        ep.ops.full(*arguments)


def test_full_on_the_cpu_where_nothing_is_said():
    assert type(ep.ops.full(2, 1)) is np.ndarray
    assert ep.ops.full(2, 1, device=DeviceType.kCPU).tolist() == [1, 1]


@needs_one_hot
@pytest.mark.parametrize("shape", [(), (0,), (7,), (2, 3)])
@pytest.mark.parametrize("classes", [0, 1, 5])
def test_one_hot(operate, rng, shape, classes):
    indices = rng.integers(-1, 6, shape)
    result = operate("one_hot", indices, classes)
    assert (result.shape, result.dtype) == ((*shape, classes), np.int64)
    assert np.array_equal(result, (indices[..., None] == np.arange(classes)).astype(np.int64))


@needs_one_hot
def test_one_hots_values(operate):
    indices = np.array([2, 0], np.uint8)
    assert operate("one_hot", indices, 3, 5, -1).tolist() == [[-1, -1, 5], [5, -1, -1]]
    for options, dtype in (
        ((1.5,), np.float64),
        ((True, False), np.bool_),
        ((1, 0, "float16"), np.float16),
        ((1j,), np.complex128),
    ):
        result = operate("one_hot", indices, 3, *options)
        on, off = (*options, 1, 0)[:1] + ((*options, 0)[1:2])
        assert result.dtype == dtype
        assert result[1].tolist() == [on, off, off]


def test_one_hot_refuses():
    for arguments, kind, message in (
        (([0.5], 3), TypeError, "indices has dtype float64; it must be an integer type"),
        (([0], -1), ValueError, "num_classes is -1; it must not be negative"),
        (([0], 2.0), TypeError, "num_classes must be an integer"),
        (([0], 2, "1"), TypeError, "on_value must be a number, not '1'"),
        (([0], 2, 1, [0]), TypeError, r"off_value must be a number, not \[0\]"),
        (([0], 2, 300, 0, "int8"), ValueError, "on_value is 300, which int8 cannot hold"),
    ):
        with pytest.raises(kind, match=message):
            ep.ops.one_hot(*arguments)
    out = np.zeros((2, 3), np.int64)
    assert ep.ops.one_hot([1, 9], 3, out=out) is out
    assert out.tolist() == [[0, 1, 0], [0, 0, 0]]
