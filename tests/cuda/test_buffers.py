"""The objects that CUDA accepts as buffers, arrays of all libraries with the interface, and the errors for others.

PyTorch and CuPy need a GPU for arrays on one, so mock classes with the same behaviour replace theirs.
"""

import copy
import pickle
import sys
from types import ModuleType, SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from ep import AllocationOptions
from ep.cuda.arrays import launch_buffers as buffers
from ep.cuda.arrays.launch_buffers import as_address
from ep.cuda.arrays.reader import read
from ep.include import DataType

F32, BF16 = DataType.kFloat, DataType.kBFloat16


@pytest.fixture(autouse=True)
def no_adapters_are_left(monkeypatch):
    monkeypatch.setattr(buffers, "ADAPTERS", dict(buffers.ADAPTERS))


@pytest.fixture
def buffer(cuda):
    """Eight float32 on the device."""
    return cuda.Alloc(AllocationOptions(), 32).view(np.float32)


class Interface:
    """An array with `__cuda_array_interface__`."""

    def __init__(self, address, shape=(8,), typestr="<f4", read_only=False, **more):
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": typestr,
            "data": (address, read_only),
        } | more


def named(module, name, **attributes):
    """Return an object whose class claims to come from another library."""
    kind = type(name, (SimpleNamespace,), {"__module__": module, "__hash__": object.__hash__})
    return kind(**attributes)


class TestOwn:
    def test_addresses(self, stream, buffer):
        assert as_address(buffer, "src", F32, 8, stream, writable=True) == buffer.address
        assert as_address(buffer[3:], "src", F32, 5, stream) == buffer.address + 12

    def test_refusals(self, stream, buffer):
        with pytest.raises(TypeError, match=r"src has dtype float32; this primitive takes float64 \(kDouble\)"):
            as_address(buffer, "src", DataType.kDouble, 1, stream)
        with pytest.raises(ValueError, match="src has 5 elements; at least 6 are needed"):
            as_address(buffer[3:], "src", F32, 6, stream)

    def test_another_device(self, stream, buffer):
        elsewhere = type(buffer)(buffer._driver, (*buffer.memory[:5], 1, None), buffer.allocation)
        with pytest.raises(ValueError, match="src is on cuda:1; the stream is one of cuda:0"):
            as_address(elsewhere, "src", F32, 8, stream)


class TestHost:
    @pytest.mark.parametrize(
        ("array", "words"),
        [
            (np.zeros(8, np.float32), "not ndarray, which lies in host memory; copy_from_host of a buffer from Alloc"),
            (np.float32(1), "src must be an array on a CUDA device, not float32$"),
            ([1.0] * 8, "src must be an array on a CUDA device, not list$"),
            (2.0, "src must be an array on a CUDA device, not float$"),
            (memoryview(b"12345678"), "not memoryview$"),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_it_is_refused(self, stream, array, words):
        with pytest.raises(TypeError, match=words):
            as_address(array, "src", F32, 1, stream)

    def test_pinned_memory_is_the_hosts(self, cuda, stream):
        with pytest.raises(TypeError, match="which lies in host memory"):
            as_address(cuda.AllocPinned(AllocationOptions(), 32).view(np.float32), "src", F32, 8, stream)

    def test_memory_that_cuda_does_not_know(self, cuda, stream, buffer, monkeypatch):
        monkeypatch.setattr(cuda.driver, "device_of", lambda address: None)
        with pytest.raises(TypeError, match="src must be an array on a CUDA device, not Interface"):
            as_address(Interface(buffer.address), "src", F32, 8, stream)


class TestInterface:
    def test_addresses(self, stream, buffer):
        for array in (Interface(buffer.address), Interface(buffer.address, (2, 1, 4), strides=(16, 99, 4))):
            assert as_address(array, "src", F32, 8, stream, writable=True) == buffer.address

    def test_what_it_says(self, stream, buffer):
        view = read(Interface(buffer.address, (2, 3), "<i2", stream=2), "src", stream)
        assert view[:8] == (buffer.address, (2, 3), None, np.dtype(np.int16), True, 0, 2, 2)
        assert view.memory() == (buffer.address, 6, np.dtype(np.int16), True, True, 0, 2)
        empty = read(Interface(0, (0, 3), strides=(7, 7)), "src", stream)
        assert empty.memory() == (0, 0, np.dtype(np.float32), True, True, 0, None)
        assert read(Interface(None, (0,)), "src", stream).memory()[:2] == (0, 0)

    def test_masks(self, stream, buffer):
        with pytest.raises(TypeError, match="src has a mask, which would be lost"):
            as_address(Interface(buffer.address, mask=object()), "src", F32, 8, stream)

    @pytest.mark.parametrize(
        ("shape", "strides", "contiguous"),
        [
            ((2, 4), None, True),
            ((2, 4), (16, 4), True),
            ((1, 4), (7, 4), True),
            ((), (), True),
            ((4, 2), (4, 16), False),
            ((4,), (8,), False),
            ((4,), (-4,), False),
            ((2, 0), (1, 1), True),
        ],
    )
    def test_strides(self, stream, buffer, shape, strides, contiguous):
        array = Interface(buffer.address, shape, strides=strides)
        if contiguous:
            as_address(array, "src", F32, 0, stream)
        else:
            with pytest.raises(ValueError, match="src is not C-contiguous"):
                as_address(array, "src", F32, 0, stream)

    def test_read_only(self, stream, buffer):
        array = Interface(buffer.address, read_only=True)
        as_address(array, "src", F32, 8, stream)
        with pytest.raises(ValueError, match="dst is read-only"):
            as_address(array, "dst", F32, 8, stream, writable=True)

    def test_bfloat16_that_it_cannot_name(self, stream, buffer):
        array = Interface(buffer.address, typestr="<V2")
        assert as_address(array, "src", BF16, 8, stream) == buffer.address
        with pytest.raises(TypeError, match="src has dtype"):
            as_address(array, "src", DataType.kFloat16, 8, stream)

    @pytest.mark.parametrize(("producer", "waited_for"), [(None, []), (1, []), (2, [2]), ("own", [])])
    def test_its_stream_is_waited_for(self, cuda, stream, buffer, monkeypatch, producer, waited_for):
        """CUDA orders the default stream, 1, with the streams of CreateStream."""
        producers = []
        wait = cuda.driver.wait_stream
        monkeypatch.setattr(
            cuda.driver,
            "wait_stream",
            lambda device, consumer, other, event: producers.append(other) or wait(device, consumer, other, event),
        )
        handle = stream.handle if producer == "own" else producer
        as_address(Interface(buffer.address, stream=handle), "src", F32, 8, stream)
        assert producers == waited_for

    def test_a_buffer_of_ours_through_it(self, stream, buffer):
        array = SimpleNamespace(__cuda_array_interface__=buffer.__cuda_array_interface__)
        assert as_address(array, "src", F32, 8, stream) == buffer.address
        halves = buffer.view(ml_dtypes.bfloat16)
        array = SimpleNamespace(__cuda_array_interface__=halves.__cuda_array_interface__)
        assert as_address(array, "src", BF16, 16, stream) == buffer.address


class TestPyTorch:
    def tensor(self, address, dtype="torch.float32", device=0, contiguous=True, name="Tensor"):
        return named(
            "torch" if name == "Tensor" else "torch.nn.parameter",
            name,
            dtype=dtype,
            device="cpu" if device < 0 else f"cuda:{device}",
            data_ptr=lambda: address,
            numel=lambda: 8,
            get_device=lambda: device,
            is_contiguous=lambda: contiguous,
            is_conj=lambda: False,
            is_neg=lambda: False,
        )

    @pytest.mark.parametrize("name", ["Tensor", "Parameter"])
    def test_addresses(self, stream, buffer, name):
        assert as_address(self.tensor(buffer.address, name=name), "src", F32, 8, stream) == buffer.address

    @pytest.mark.parametrize(("mark", "what"), [("is_conj", "conjugated"), ("is_neg", "negated")])
    def test_lazy_tensors(self, stream, buffer, mark, what):
        tensor = self.tensor(buffer.address)
        setattr(tensor, mark, lambda: True)
        with pytest.raises(ValueError, match=f"src is a tensor that is {what} lazily; call resolve_conj"):
            as_address(tensor, "src", F32, 8, stream)

    def test_data_types(self, stream, buffer):
        for data_type in (BF16, DataType.kBool, DataType.kFloat16, DataType.kInt64, DataType.kComplex64):
            tensor = self.tensor(buffer.address, f"torch.{data_type.dtype.name}")
            assert as_address(tensor, "src", data_type, 8, stream) == buffer.address
        with pytest.raises(TypeError, match="src has dtype"):
            as_address(self.tensor(buffer.address, "torch.float8_e4m3fn"), "src", F32, 8, stream)

    def test_refusals(self, stream, buffer):
        with pytest.raises(TypeError, match="src must be an array on a CUDA device, not Tensor on cpu; copy it"):
            as_address(self.tensor(buffer.address, device=-1), "src", F32, 8, stream)
        with pytest.raises(ValueError, match="src is on cuda:1; the stream is one of cuda:0"):
            as_address(self.tensor(buffer.address, device=1), "src", F32, 8, stream)
        with pytest.raises(ValueError, match="src is not C-contiguous"):
            as_address(self.tensor(buffer.address, contiguous=False), "src", F32, 8, stream)


def test_cupy(cuda, stream, buffer, monkeypatch):
    """CuPy's arrays are ordered with CuPy's current stream."""
    current = SimpleNamespace(ptr=0)
    module = ModuleType("cupy.cuda")
    module.get_current_stream = lambda device: current
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    monkeypatch.setitem(sys.modules, "cupy.cuda", module)
    array = named(
        "cupy",
        "ndarray",
        data=SimpleNamespace(ptr=buffer.address, device_id=0),
        size=8,
        dtype=np.dtype(np.float32),
        flags=SimpleNamespace(c_contiguous=True),
    )
    waited = []
    monkeypatch.setattr(type(stream), "wait_for", lambda self, producer: waited.append(producer))
    assert as_address(array, "src", F32, 8, stream) == buffer.address
    assert waited == [0]


class TestNumba:
    def test_arrays_of_the_device(self, stream, buffer):
        array = named(
            "numba.cuda.cudadrv.devicearray",
            "DeviceNDArray",
            device_ctypes_pointer=SimpleNamespace(value=buffer.address),
            gpu_data=SimpleNamespace(context=SimpleNamespace(device=SimpleNamespace(id=0))),
            size=8,
            dtype=np.dtype(np.float32),
            stream=0,
            is_c_contiguous=lambda: True,
        )
        assert as_address(array, "src", F32, 8, stream) == buffer.address


class TestFreed:
    """After memory was freed through any buffer in it, all buffers in it are refused."""

    @pytest.fixture(params=["Free", "FreeAsync", "a slice", "AllocAsync"])
    def freed(self, request, cuda, stream):
        """A function that frees a buffer of eight float32, and the buffer."""
        if request.param == "AllocAsync":
            buffer = stream.AllocAsync(32).view(np.float32)
            return lambda: stream.FreeAsync(buffer), buffer
        buffer = cuda.Alloc(AllocationOptions(), 32).view(np.float32)
        if request.param == "FreeAsync":
            return lambda: stream.FreeAsync(buffer), buffer
        return lambda: cuda.Free(AllocationOptions(), buffer[2:] if request.param == "a slice" else buffer), buffer

    def test_it_is_refused_by_name(self, stream, freed):
        free, buffer = freed
        several = buffer, buffer[2:5], buffer.view(np.uint8), buffer.view(np.int32)[1:][1:]
        for each in several:
            as_address(each, "src", DataType[_NAMES[each.dtype.name]], 1, stream)
        free()
        for each in several:
            with pytest.raises(ValueError, match=r"src is <CudaBuffer of .*>, which was freed"):
                as_address(each, "src", F32, 1, stream)
            for use in (
                lambda each=each: each[1:],
                lambda each=each: each.view(np.uint8),
                lambda each=each: each.copy_to_host(stream),
                lambda each=each: each.copy_from_host(np.zeros(each.size, each.dtype), stream),
                lambda each=each: each.__cuda_array_interface__,
            ):
                with pytest.raises(ValueError, match="which was freed"):
                    use()

    def test_launches_and_operators(self, cuda, stream, freed):
        import ep.ops
        from ep import DeviceType, RequirePrimitive, UnaryOp
        from ep.include.primitive import ElementwiseUnaryFactory

        free, buffer = freed
        relu = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCUDA, UnaryOp.kRelu, "float32", "float32")
        other = cuda.Alloc(AllocationOptions(), 32).view(np.float32)
        part = buffer[1:]
        relu.Launch(stream, part, other, 7)
        free()
        with pytest.raises(ValueError, match=r"src is .* which was freed"):
            relu.Launch(stream, part, other, 7)
        with pytest.raises(ValueError, match=r"dst is .* which was freed"):
            relu.Launch(stream, other, part, 7)
        with pytest.raises(ValueError, match="which was freed"):
            ep.ops.relu(part)

    def test_views_that_are_gone_are_forgotten(self, buffer):
        for _ in range(100):
            buffer[1:].view(np.uint8)
        assert len(buffer.allocation._buffers) <= 2  # the buffer that the fixture took a view of may still exist

    def test_they_are_not_copied(self, buffer):
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="can be neither copied nor pickled"):
                attempt(buffer)


_NAMES = {"float32": "kFloat", "uint8": "kUInt8", "int32": "kInt32"}
