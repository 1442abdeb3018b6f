"""Capsules of DLPack: how they are read, and that memory lives as long as capsules and their consumers."""

import ctypes
import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

from ep.common.arrays import dlpack
from ep.cuda.arrays.array import DLPACK_CUDA as CUDA
from ep.include import DataType

DTYPES = sorted({data_type.dtype for data_type in DataType}, key=str)
CPU = (dlpack.CPU, 0)


class Owner:
    """Memory that reports when it is freed."""

    def __init__(self, array):
        self.array = np.array(array, order="C")

    def capsule(self, device=CPU):
        return dlpack.capsule(self.array.ctypes.data, self.array.shape, self.array.dtype, device, self)


class Exporter:
    """Exports a capsule, with or without a version, as other libraries do."""

    def __init__(self, capsule, options=("max_version", "stream")):
        self._capsule, self._options = capsule, options
        self.given = None

    def __dlpack__(self, **given):
        if set(given) - set(self._options):
            raise TypeError("unexpected keyword argument")
        self.given = given
        capsule, self._capsule = self._capsule, None
        return capsule

    def __dlpack_device__(self):
        return CPU


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_round_trip(dtype):
    owner = Owner(np.arange(24).astype(dtype).reshape(2, 3, 4))
    tensor = dlpack.read(Exporter(owner.capsule((CUDA, 3))))
    assert (tensor.address, tensor.shape) == (owner.array.ctypes.data, (2, 3, 4))
    assert tensor.strides in (None, (12, 4, 1))  # None also means C-contiguous; NumPy 2.1 writes it
    assert (tensor.dtype, tensor.device_type, tensor.device_id, tensor.read_only) == (dtype, 2, 3, False)


@pytest.mark.parametrize("dtype", [np.float16, np.uint8, np.bool_, np.complex128], ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (1, 5), (3, 0, 2)])
def test_numpy_reads_our_capsules(dtype, shape):
    owner = Owner(np.ones(shape, dtype))
    array = np.from_dlpack(Exporter(owner.capsule(), ("max_version", "copy", "dl_device")))
    assert (array.shape, array.dtype) == (shape, dtype)
    assert np.array_equal(array, owner.array)
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is not None
    del array
    gc.collect()
    assert gone() is None


def test_a_capsule_that_nobody_consumes():
    owner = Owner(np.ones(3))
    capsule, gone = owner.capsule(), weakref.ref(owner)
    del owner
    assert gone() is not None
    del capsule
    assert gone() is None


def test_a_capsule_that_goes_while_an_exception_is_on_its_way():
    """NumPy drops a capsule of a GPU and raises an error; the error must reach the caller, and the memory must be
    freed.
    """
    owner = Owner(np.ones(3))
    gone = weakref.ref(owner)

    class OnGpu:
        def __init__(self, owner):
            self.owner = owner

        def __dlpack_device__(self):
            return dlpack.CPU, 0

        def __dlpack__(self, **_):
            array = self.owner.array
            return dlpack.capsule(array.ctypes.data, (3,), array.dtype, (CUDA, 0), self.owner)

    with pytest.raises((BufferError, RuntimeError), match="Unsupported device"):  # RuntimeError before NumPy 2.5
        np.from_dlpack(OnGpu(owner))
    del owner
    gc.collect()
    assert gone() is None


def test_what_was_read_keeps_the_memory():
    owner = Owner(np.ones(3))
    gone = weakref.ref(owner)
    tensor = dlpack.read(Exporter(owner.capsule()))
    del owner
    assert gone() is not None
    del tensor
    assert gone() is None


def test_a_capsule_consumed_on_another_thread():
    import threading

    owner = Owner(np.ones(3))
    capsule, gone = owner.capsule(), weakref.ref(owner)
    del owner
    managed = dlpack._Managed.from_address(dlpack._pointer(capsule, b"dltensor"))
    used = b"used_dltensor"
    dlpack._function("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(capsule, used)
    del capsule
    assert gone() is not None
    thread = threading.Thread(target=managed.deleter, args=(ctypes.addressof(managed),))
    thread.start()
    thread.join()
    assert gone() is None


def test_exporters_from_before_versions():
    exporter = Exporter(Owner(np.ones(3)).capsule(), options=("stream",))
    assert dlpack.read(exporter, stream=7).shape == (3,)
    assert exporter.given == {"stream": 7}


def versioned(major, flags):
    """Return a capsule of DLPack `major`, and the objects that have to stay alive."""
    values, sizes = np.arange(6, dtype=np.float32), (ctypes.c_int64 * 2)(2, 3)
    tensor = dlpack._Tensor(values.ctypes.data - 8, CUDA, 1, 2, 2, 32, 1, sizes, None, 8)
    managed = dlpack._ManagedVersioned(major, 3, None, dlpack._Deleter(), flags, tensor)
    new = dlpack._function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(ctypes.addressof(managed), b"dltensor_versioned", None), (values, managed)


def test_versions():
    capsule, (values, _) = versioned(1, 1)
    exporter = Exporter(capsule)
    tensor = dlpack.read(exporter)
    assert exporter.given == {"max_version": (1, 0)}
    assert (tensor.address, tensor.shape, tensor.strides) == (values.ctypes.data, (2, 3), None)
    assert (tensor.dtype, tensor.device_id, tensor.read_only) == (np.float32, 1, True)
    capsule, kept = versioned(1, 0)
    assert not dlpack.read(Exporter(capsule)).read_only
    capsule, kept = versioned(2, 0)
    with pytest.raises(BufferError, match=r"DLPack 2\.3, which is not known"):
        dlpack.read(Exporter(capsule))
    assert kept


def test_elements_of_other_types():
    owner = Owner(np.ones(4, ml_dtypes.bfloat16))
    for code, bits, lanes in ((2, 8, 1), (4, 16, 2), (3, 64, 1)):
        capsule = owner.capsule()
        tensor = dlpack._Managed.from_address(dlpack._pointer(capsule, b"dltensor")).tensor
        tensor.type_code, tensor.type_bits, tensor.type_lanes = code, bits, lanes
        assert dlpack.read(Exporter(capsule)).dtype is None


def test_torch_reads_our_capsules():
    torch = pytest.importorskip("torch")
    owner = Owner(np.arange(6).astype(ml_dtypes.bfloat16).reshape(2, 3))
    tensor, gone = torch.from_dlpack(owner.capsule()), weakref.ref(owner)
    del owner
    assert (tensor.dtype, tuple(tensor.shape)) == (torch.bfloat16, (2, 3))
    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert gone() is not None
    read = dlpack.read(tensor)
    assert (read.address, read.shape, read.dtype) == (tensor.data_ptr(), (2, 3), ml_dtypes.bfloat16)
    del tensor, read
    gc.collect()
    assert gone() is None
