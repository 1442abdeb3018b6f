"""The objects that operators accept as arrays on the CPU, and `out`."""

import ctypes

import ml_dtypes
import numpy as np
import pytest

import ep.ops
from ep import DeviceType
from ep.common.arrays import dlpack
from ep.common.arrays.on_device import arrays_on

as_buffer = arrays_on(DeviceType.kCPU).as_buffer


class Exporter:
    """An array of another library that supports only DLPack."""

    def __init__(self, array, error=None, dtype=None):
        self._array, self._error = array, error
        self.dtype = dtype or array.dtype

    def __dlpack__(self, **options):
        if self._error:
            raise self._error
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_no_copy_of_what_is_a_buffer():
    for array in (np.zeros((2, 3)), np.zeros(()), np.zeros((0, 4), ml_dtypes.bfloat16)):
        assert as_buffer(array, "x") is array


def test_layouts(rng):
    x = rng.standard_normal((6, 5)).astype(np.float32)
    views = [x.T, x[::2], x[::-1, 1:], np.asfortranarray(x), x[:, :1], x.astype(">f4"), np.broadcast_to(x[0], (3, 5))]
    for view in views:
        buffer = as_buffer(view, "x")
        assert buffer.flags.c_contiguous
        assert buffer.dtype == np.float32
        assert np.array_equal(buffer, view)
        assert np.array_equal(ep.ops.sub(view, view[:1]), view - view[:1])
    assert np.array_equal(ep.ops.gather(x.T, np.array([0, 9, 2, 9, 1])[::2], axis=1), x.T[:, [0, 2, 1]])
    assert np.array_equal(ep.ops.expand(x[::2, None], 3, 2, 5), np.broadcast_to(x[::2, None], (3, 2, 5)))
    assert np.array_equal(ep.ops.repeat(x[::2], 2, 1), np.tile(x[::2], (2, 1)))


def test_memmap(tmp_path):
    stored = np.memmap(tmp_path / "x", np.float32, "w+", shape=(2, 3))
    stored[...] = [[1, -2, 3], [-4, 5, -6]]
    assert ep.ops.relu(stored).tolist() == [[1, 0, 3], [0, 5, 0]]
    out = np.memmap(tmp_path / "y", np.float32, "w+", shape=(2, 3))
    assert ep.ops.relu(stored, out=out) is out
    assert out.tolist() == [[1, 0, 3], [0, 5, 0]]


def test_read_only_input():
    x = np.array([-1.0, 2.0])
    x.flags.writeable = False
    assert ep.ops.relu(x).tolist() == [0, 2]


@pytest.mark.parametrize("value", ["text", None, {1: 2}, np.array(["2020-01-01"], "M8[D]"), np.zeros(2, np.longdouble)])
def test_no_numbers(value):
    with pytest.raises(TypeError, match=r"params has dtype .*; it must be one of bfloat16, bool, "):
        ep.ops.gather(value, [0])


def test_dlpack():
    x = np.array([[-1, 2], [3, -4]], np.float32)
    assert ep.ops.relu(Exporter(x)).tolist() == [[0, 2], [3, 0]]
    assert ep.ops.gather(Exporter(x), Exporter(np.array([1]))).tolist() == [[3, -4]]
    assert np.shares_memory(as_buffer(Exporter(x), "x"), x)


def test_dlpack_that_numpy_cannot_read():
    with pytest.raises(TypeError, match=r"x \(Exporter\) cannot be read through DLPack: on another device$"):
        ep.ops.relu(Exporter(np.zeros(2), BufferError("on another device")))


class BFloat16Exporter:
    """Exports bfloat16 as frameworks do, through a handmade capsule: shape (2, 3), or its transpose."""

    def __init__(self, values, device_type=1, transposed=False):
        self.bits = np.array(values, ml_dtypes.bfloat16).view(np.uint16)
        self.sizes = (ctypes.c_int64 * 4)(*((3, 2, 1, 3) if transposed else (2, 3, 3, 1)))
        strides = ctypes.cast(ctypes.byref(self.sizes, 16), ctypes.POINTER(ctypes.c_int64))
        address, code, bits = self.bits.ctypes.data, 4, 16
        self.tensor = dlpack._Tensor(address, device_type, 0, 2, code, bits, 1, self.sizes, strides, 0)

    def __dlpack_device__(self):
        return self.tensor.device_type, 0

    def __dlpack__(self, **options):
        if options:
            raise BufferError("unsupported dtype")
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def test_dlpack_of_bfloat16():
    x = np.array([[-1, 2, 3], [4, -5, 6]])
    result = ep.ops.relu(BFloat16Exporter(x))
    assert (result.dtype, result.tolist()) == (np.dtype(ml_dtypes.bfloat16), [[0, 2, 3], [4, 0, 6]])
    assert ep.ops.identity(BFloat16Exporter(x, transposed=True)).tolist() == x.T.tolist()
    with pytest.raises(TypeError, match="cannot be read through DLPack"):
        ep.ops.relu(BFloat16Exporter(x, device_type=7))


def test_torch():
    torch = pytest.importorskip("torch")
    x = torch.tensor([[-1.0, 2.0], [3.0, -4.0]])
    assert ep.ops.relu(x).tolist() == [[0, 2], [3, 0]]
    assert ep.ops.sub(x.T, x).tolist() == (x.T - x).tolist()
    assert ep.ops.gather(x, torch.tensor([1, 0]), axis=1).tolist() == [[2, -1], [-4, 3]]
    assert ep.ops.relu(x.bfloat16()).tolist() == [[0, 2], [3, 0]]


def calls():
    """Return a call of each kind of operator, with the shape and the dtype of its result."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    return [
        (lambda out: ep.ops.relu(x, out=out), x),
        (lambda out: ep.ops.sub(x, x[0], out=out), x - x[0]),
        (lambda out: ep.ops.less_than(x, 3, out=out), x < 3),
        (lambda out: ep.ops.gather(x, [2, 0], 1, out=out), x[:, [2, 0]]),
        (lambda out: ep.ops.gather(x, [[2], [0]], 1, 1, out=out), np.array([[2], [3]], np.float32)),
        (lambda out: ep.ops.expand(x, 2, 2, 3, out=out), np.broadcast_to(x, (2, 2, 3))),
        (lambda out: ep.ops.repeat(x, 2, 2, out=out), np.tile(x, (2, 2))),
    ]


NAMES = ("relu", "sub", "less_than", "gather", "batch_gather", "expand", "repeat")


@pytest.mark.parametrize(("call", "expected"), calls(), ids=NAMES)
def test_out(call, expected):
    out = np.zeros(expected.shape, expected.dtype)
    assert call(out) is out
    assert np.array_equal(out, expected)

    wide = np.zeros((*expected.shape[:-1], 2 * expected.shape[-1]), expected.dtype)
    assert call(wide[..., ::2]).base is wide
    assert np.array_equal(wide[..., ::2], expected)
    assert not wide[..., 1::2].any()

    with pytest.raises(TypeError, match=r"out must be a numpy\.ndarray, not list"):
        call(out.tolist())
    with pytest.raises(TypeError, match=f"out has dtype int16; the result has {expected.dtype}"):
        call(np.zeros(expected.shape, np.int16))
    with pytest.raises(ValueError, match=r"out has shape \(7,\); the result has"):
        call(np.zeros(7, expected.dtype))
    out.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        call(out)


def test_masks_are_refused():
    x = np.arange(4, dtype=np.float32)
    masked, nowhere = np.ma.array(x, mask=x > 2), np.ma.array(x)
    calls = {
        "x": [lambda: ep.ops.relu(masked), lambda: ep.ops.relu(nowhere), lambda: ep.ops.expand([masked, x], 1, 2, 4)],
        "y": [lambda: ep.ops.add(x, masked), lambda: ep.ops.add(1, [[1, 2], (np.ma.masked, 4)])],
        "out": [lambda: ep.ops.relu(x, out=masked)],
        "params": [lambda: ep.ops.gather(masked, [0])],
        "indices": [lambda: ep.ops.gather(x, np.ma.array([1, 2], mask=[0, 1]))],
        "array": [lambda: ep.ops.copy_to_device(masked, "cpu")],
    }
    for argument, functions in calls.items():
        for function in functions:
            with pytest.raises(
                TypeError, match=f"^{argument} has a mask, which would be lost; fill the masked elements"
            ):
                function()


def test_tensors_that_are_conjugated_or_negated_lazily():
    """The memory of such tensors does not hold their numbers, and DLPack does not report it."""
    for mark, message in (("is_conj", "x is a tensor that is conjugated lazily"), ("is_neg", "x is .* negated lazily")):
        x = Exporter(np.ones(3, np.float32))
        x.is_conj = x.is_neg = lambda: False
        assert ep.ops.relu(x).tolist() == [1, 1, 1]
        setattr(x, mark, lambda: True)
        with pytest.raises(ValueError, match=rf"{message}; call resolve_conj\(\).resolve_neg\(\) first"):
            ep.ops.relu(x)


def test_lazy_tensors_of_torch():
    torch = pytest.importorskip("torch")
    z = torch.tensor([1 - 2j, 0 - 4j])
    halves = torch.tensor([-1.0, 2.0]).bfloat16()
    for x in (z.conj().imag, torch._neg_view(halves)):
        with pytest.raises(ValueError, match="x is a tensor that is negated lazily"):
            ep.ops.relu(x)
    assert ep.ops.relu(z.conj().imag.resolve_neg()).tolist() == [2, 4]
    assert ep.ops.relu(halves).tolist() == [0, 2]
    with pytest.raises(ValueError, match="x is a tensor that is conjugated lazily"):
        ep.ops.conj(z.conj())


def test_in_place():
    x = np.array([[-1, 2], [3, -4]], np.float32)
    assert ep.ops.relu(x, out=x) is x
    assert ep.ops.sub(x, x[0].copy(), out=x).tolist() == [[0, 0], [3, -2]]


def test_errors_name_what_the_caller_wrote():
    x = np.arange(8, dtype=np.float32)
    calls = {
        "out overlaps x": [
            lambda: ep.ops.relu(x[:-1], out=x[1:]),
            lambda: ep.ops.sub(x[:1], x, out=x),
            lambda: ep.ops.gelu_backward_with_dy_x(x, x[:1], out=x),
            lambda: ep.ops.scalar_base_power_grad(x[:1], x, 2, out=x),
            lambda: ep.ops.expand(x[:1], 8, out=x),
            lambda: ep.ops.repeat(x[:4], 2, out=x),
        ],
        "out overlaps y": [
            lambda: ep.ops.sub(x, x[:1], out=x),
            lambda: ep.ops.relu_backward_with_dy_y(x, x[:1], out=x),
        ],
        "out overlaps dy": [lambda: ep.ops.gelu_backward_with_dy_x(x[:1], x, out=x)],
        "out overlaps params": [lambda: ep.ops.gather(x, [0, 1], out=x[1:3])],
    }
    for message, functions in calls.items():
        for function in functions:
            with pytest.raises(ValueError, match=f"^{message}$"):
                function()
    assert x.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]


def test_overlap_of_what_is_copied():
    x = np.arange(8, dtype=np.float32)
    ep.ops.relu(x[:-1:2], out=x[1::2])
    assert x.tolist() == [0, 0, 2, 2, 4, 4, 6, 6]


def test_results_are_new_and_0d_arrays():
    result = ep.ops.sub(np.float32(3), np.float32(1))
    assert type(result) is np.ndarray
    assert result.shape == ()
    x = np.array([1.0])
    assert not np.shares_memory(ep.ops.expand(x, 1), x)


def test_one_stream():
    assert arrays_on(DeviceType.kCPU).stream is arrays_on(DeviceType.kCPU).stream
