"""Buffers on the CPU other than plain arrays: subclasses, equal dtypes, unaligned and read-only memory."""

import ctypes

import ml_dtypes
import numpy as np
import pytest

from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.include.primitive import ElementwiseUnaryFactory


@pytest.fixture(scope="module")
def stream():
    return DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0).CreateStream()


def relu(data_type):
    return RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp.kRelu, data_type, data_type)


def check_relu(stream, src, dst, data_type="float32"):
    src[...] = np.array([-1, 2, -3, 4, 5], src.dtype)
    relu(data_type).Launch(stream, src, dst, 5)
    assert np.asarray(dst).reshape(-1).tolist() == [0, 2, 0, 4, 5]


class Subclass(np.ndarray):
    pass


def test_subclasses_with_plain_memory(stream, tmp_path):
    check_relu(stream, np.zeros(5, np.float32).view(Subclass), np.zeros(5, np.float32).view(Subclass))
    files = [np.memmap(tmp_path / name, np.float32, "w+", shape=(5,)) for name in ("src", "dst")]
    check_relu(stream, *files)


def test_any_shape_with_enough_elements(stream):
    src = np.array([[-1, 2, -3], [4, 5, 6]], np.float32)
    dst = np.full((1, 7), 9, np.float32)
    relu("float32").Launch(stream, src, dst, 5)
    assert dst.tolist() == [[0, 2, 0, 4, 5, 9, 9]]


def test_a_dtype_that_is_equal_but_another_object(stream):
    other = np.dtype("float32", metadata={"unit": "m"})
    assert other is not np.dtype("float32")
    check_relu(stream, np.zeros(5, other), np.zeros(5, other))
    check_relu(stream, np.zeros(5, np.longlong), np.zeros(5, np.longlong), "int64")


def test_unaligned_memory(stream):
    def unaligned():
        return np.zeros(21, np.uint8)[1:].view(np.float32)

    src, dst = unaligned(), unaligned()
    assert not src.flags.aligned
    check_relu(stream, src, dst)


def test_bfloat16_that_a_file_could_not_name(stream):
    values = np.array([-1, 2, -3, 4, 5], ml_dtypes.bfloat16)
    dst = np.zeros(5, ml_dtypes.bfloat16)
    relu("bfloat16").Launch(stream, values.view("V2"), dst.view("V2"), 5)
    assert dst.astype(float).tolist() == [0, 2, 0, 4, 5]
    with pytest.raises(TypeError, match="src has dtype"):
        relu("float16").Launch(stream, values.view("V2"), dst.view(np.float16), 5)


def test_memory_of_c(stream):
    memory = (ctypes.c_float * 5)()
    check_relu(stream, np.zeros(5, np.float32), np.ctypeslib.as_array(memory))


def test_what_is_refused(stream):
    good = np.ones(8, np.float32)
    primitive = relu("float32")
    frozen = np.ones(8, np.float32)
    frozen.flags.writeable = False
    primitive.Launch(stream, frozen, good, 8)
    for src, dst, error, message in [
        (good, frozen, ValueError, "dst is read-only"),
        (np.ones(16, np.float32)[::2], good, ValueError, "src is not C-contiguous"),
        (good, np.ones(16, np.float32)[::2], ValueError, "dst is not C-contiguous"),
        (np.ones((4, 2), np.float32).T, good, ValueError, "src is not C-contiguous"),
        ([1.0] * 8, good, TypeError, "src must be a numpy.ndarray on the CPU, not list"),
        (np.float32(1), good, TypeError, "src must be a numpy.ndarray on the CPU, not float32"),
        (memoryview(good), good, TypeError, "src must be a numpy.ndarray on the CPU, not memoryview"),
        (good.astype(">f4"), good, TypeError, "src has dtype >f4"),
        (np.ma.array(good), good, TypeError, "src has a mask, which would be lost; fill the masked elements first"),
        (good, np.ma.array(good, mask=True), TypeError, "dst has a mask"),
        (good, good.view(np.int32), TypeError, "dst has dtype int32"),
        (FakeCudaArray(), good, TypeError, "which lies on a CUDA device"),
    ]:
        with pytest.raises(error, match=message):
            primitive.Launch(stream, src, dst, 8)
    assert (frozen == 1).all()


class FakeCudaArray:
    @property
    def __cuda_array_interface__(self):
        return {"shape": (8,), "typestr": "<f4", "data": (4096, False), "version": 3}
