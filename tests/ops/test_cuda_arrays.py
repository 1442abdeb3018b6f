"""Operators on CUDA: the arrays that they accept and return, and the order of their work and other libraries'."""

import gc
import sys
from types import SimpleNamespace
from typing import ClassVar

import ml_dtypes
import numpy as np
import pytest

import ep.ops
from ep import AllocationOptions, DeviceManagerRegistry, DeviceType
from ep.common.arrays import dlpack
from ep.cuda.arrays.array import DLPACK_CUDA as CUDA
from ep.cuda.driver.current import driver
from ep.include import DataType

BF16 = np.dtype(ml_dtypes.bfloat16)
X = np.arange(-12, 12, dtype=np.float32).reshape(4, 6)


@pytest.fixture
def cuda():
    """A function that copies an array to CUDA device 0."""
    return lambda array: ep.ops.copy_to_device(array, "cuda")


@pytest.fixture
def stream(cuda):
    """The stream on which operators launch."""
    from ep.cuda.arrays.streams import default_stream

    stream = default_stream(0)
    yield stream
    assert stream.GetAsyncError() is None


def host(array):
    return ep.ops.copy_to_host(array)


class View:
    """Part of a CudaArray, as an array of another library. strides: in elements."""

    def __init__(self, base, shape=None, strides=None, offset=0):
        self.base, self.dtype = base, base.dtype
        self.shape = base.shape if shape is None else shape
        self.strides = strides
        self.address = base.address + offset * base.dtype.itemsize


class Interface(View):
    """Exports only the CUDA array interface."""

    more: ClassVar[dict] = {}

    @property
    def __cuda_array_interface__(self):
        strides = self.strides and tuple(stride * self.dtype.itemsize for stride in self.strides)
        interface = {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "version": 3}
        return interface | {"strides": strides} | self.more


class Exporter(View):
    """Exports only DLPack."""

    device = (CUDA, 0)
    stream = None

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None):
        self.stream = stream
        capsule = dlpack.capsule(self.address, self.shape, self.dtype, self.device, self)
        if self.strides:
            tensor = dlpack._Managed.from_address(dlpack._pointer(capsule, b"dltensor")).tensor
            for axis, stride in enumerate(self.strides):
                tensor.strides[axis] = stride
        return capsule


LIBRARIES = [Interface, Exporter]
both = pytest.mark.parametrize("library", LIBRARIES)


class TestResults:
    def test_what_they_are(self, cuda):
        x = ep.ops.relu(cuda(X))
        assert (x.shape, x.ndim, x.dtype, x.size, x.nbytes, x.device_index) == ((4, 6), 2, np.float32, 24, 96, 0)
        assert len(x) == 4
        assert np.array_equal(x.copy_to_host(), np.maximum(X, 0))

    def test_without_axes_and_elements(self, cuda):
        scalar = ep.ops.sub(cuda(np.float32(3)), 1)
        assert (scalar.shape, host(scalar).shape, host(scalar).item()) == ((), (), 2)
        with pytest.raises(TypeError, match="has no length"):
            len(scalar)
        empty = ep.ops.relu(cuda(np.zeros((0, 3), BF16)))
        assert (empty.shape, host(empty).shape, host(empty).dtype) == ((0, 3), (0, 3), BF16)

    def test_they_are_operands(self, cuda):
        x = cuda(X)
        result = ep.ops.expand(ep.ops.sub(ep.ops.relu(x), ep.ops.gather(x, 0)), 2, -1, -1)
        assert np.array_equal(host(result), np.broadcast_to(np.maximum(X, 0) - X[0], (2, 4, 6)))

    def test_reshape(self, cuda):
        x = cuda(X)
        for shape in ((24,), (2, 2, 6), (-1,), ([3, -1],), (1, 24, 1)):
            assert np.array_equal(host(x.reshape(*shape)), X.reshape(*shape))
        assert x.reshape(6, 4).address == x.address
        for shape in ((5,), (-1, -1), (-1, 5), (-2, -12), ()):
            with pytest.raises(ValueError, match=r"an array of shape \(4, 6\) cannot be reshaped to"):
                x.reshape(*shape)

    def test_no_copies_in_passing(self, cuda):
        with pytest.raises(TypeError, match="copy_to_host"):
            np.asarray(cuda(X))
        with pytest.raises(TypeError, match=r"numpy\.spacing takes arrays of the host"):
            np.spacing(cuda(X))
        with pytest.raises(TypeError, match=r"numpy\.linalg\.norm: .*copy_to_host"):
            np.linalg.norm(cuda(X))

    def test_interface(self, cuda, stream):
        x = cuda(X)
        assert x.__cuda_array_interface__ == {
            **{"version": 3, "shape": (4, 6), "typestr": "<f4", "data": (x.address, False), "strides": None},
            **{"stream": stream.handle},
        }

    @pytest.mark.parametrize("dtype", sorted({kind.dtype for kind in DataType}, key=str), ids=str)
    def test_dlpack(self, cuda, dtype):
        x = cuda(np.ones((2, 3), dtype))
        tensor = dlpack.read(x)
        assert x.__dlpack_device__() == (tensor.device_type, tensor.device_id) == (2, 0)
        assert (tensor.address, tensor.shape, tensor.strides) == (x.address, (2, 3), (3, 1))
        assert (tensor.dtype, tensor.read_only) == (dtype, False)

    def test_dlpack_keeps_the_memory(self, cuda):
        device = DeviceManagerRegistry.GetDevice(DeviceType.kCUDA)
        gc.collect()
        before = device.memory_figures()["allocated"]
        capsule = cuda(X).__dlpack__()
        gc.collect()
        assert device.memory_figures()["allocated"] > before
        del capsule
        gc.collect()
        assert device.memory_figures()["allocated"] == before

    def test_dlpack_as_it_cannot_be_had(self, cuda):
        x = cuda(X)
        for options in ({"dl_device": (1, 0)}, {"copy": True}):
            with pytest.raises(BufferError):
                x.__dlpack__(**options)
        for stream in (0, -2):
            with pytest.raises(ValueError, match=f"stream is {stream}; it must be -1, 1, 2 or a handle"):
                x.__dlpack__(stream=stream)
        assert x.__dlpack__(dl_device=(2, 0), copy=False, max_version=(1, 0), stream=-1)

    def test_a_launch_takes_them(self, device, cuda):
        from ep import UnaryOp
        from ep.include.primitive import ElementwiseUnaryFactory

        out = device.empty(24, DataType.kFloat)
        relu = device.require(ElementwiseUnaryFactory, UnaryOp.kRelu, np.float32, np.float32)
        relu.Launch(device.stream, cuda(X), out, 24)
        assert np.array_equal(device.array(out, (4, 6)), np.maximum(X, 0))


class TestOperands:
    def test_a_buffer(self, device, cuda):
        buffer = DeviceManagerRegistry.GetDevice(DeviceType.kCUDA).Alloc(AllocationOptions(), 96).view(np.float32)
        buffer.copy_from_host(X.reshape(-1), device.stream)
        result = ep.ops.relu(buffer)
        assert result.shape == (24,)
        assert np.array_equal(host(result), np.maximum(X, 0).reshape(-1))
        assert ep.ops.relu(result, out=buffer) is buffer
        assert np.array_equal(host(buffer[:6]), np.maximum(X, 0)[0])

    def test_numba(self, cuda):
        if driver().loads_ptx:
            pytest.skip("Numba allocates by a driver of its own")
        from numba import cuda as numba_cuda

        x = numba_cuda.to_device(X)
        assert np.array_equal(host(ep.ops.relu(x)), np.maximum(X, 0))
        assert np.array_equal(host(ep.ops.relu(x.T)), np.maximum(X, 0).T)
        out = numba_cuda.device_array((4, 6), np.float32)
        assert ep.ops.sub(x, x, out=out) is out
        assert not out.copy_to_host().any()

    @both
    @pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.float16, BF16, np.complex64], ids=str)
    def test_types(self, cuda, library, dtype):
        values = np.array([0, 1, 1, 0], dtype)
        result = host(ep.ops.identity(library(cuda(values))))
        assert result.dtype == dtype
        assert np.array_equal(result, values)

    @both
    @pytest.mark.parametrize(
        ("shape", "strides", "offset"),
        [
            ((6, 4), (1, 6), 0),
            ((4, 3), (6, 2), 1),
            ((2, 3), (12, 2), 6),
            ((3, 4, 6), (0, 6, 1), 0),
            ((4, 5), (0, 0), 7),
            ((2, 6, 2), (6, 1, 12), 0),
            ((4, 1, 6), (6, 77, 1), 0),
            ((0, 3), (5, -7), 0),
            ((), (), 5),
            ((1, 2, 1, 2, 1, 2, 1, 3, 1), (1, 12, 1, 6, 1, 3, 1, 1, 1), 0),
        ],
        ids=str,
    )
    def test_layouts(self, cuda, library, shape, strides, offset):
        expected = np.lib.stride_tricks.as_strided(X.reshape(-1)[offset:], shape, [4 * stride for stride in strides])
        x = library(cuda(X), shape, strides, offset)
        assert np.array_equal(host(x), expected)
        assert np.array_equal(host(ep.ops.negative(x)), -expected)
        assert np.array_equal(host(ep.ops.sub(x, x)), expected - expected)
        if len(shape) == 2:
            assert np.array_equal(host(ep.ops.repeat(x, 2, 3)), np.tile(expected, (2, 3)))

    @both
    def test_layouts_of_params_and_indices(self, cuda, library):
        indices = np.array([[3, 9, 0], [1, 9, 2]])
        placed = library(cuda(indices), (2, 2), (3, 2))
        result = ep.ops.gather(library(cuda(X), (6, 4), (1, 6)), placed, mode="wrap_negative")
        assert np.array_equal(host(result), X.T[indices[:, ::2]])

    @both
    def test_layouts_that_cannot_be_copied(self, cuda, library):
        with pytest.raises(ValueError, match=r"x has negative strides \(-6, 1\); make it contiguous first"):
            ep.ops.relu(library(cuda(X), (4, 6), (-6, 1), 18))
        base = cuda(np.zeros(3**9, np.int8))
        strides = tuple(3**axis for axis in range(8, -1, -1))
        with pytest.raises(ValueError, match=r"y of shape .* has 9 axes .* at most 8 can be copied"):
            ep.ops.add(0, library(base, (2,) * 9, strides))

    def test_elements_between_places(self, cuda):
        x = Interface(cuda(X))
        x.more = {"strides": (6, 4), "shape": (2, 2)}
        with pytest.raises(
            ValueError, match=r"x has strides of \(6, 4\) bytes, which are not whole numbers of float32"
        ):
            ep.ops.relu(x)

    def test_interfaces_that_are_refused(self, cuda):
        for more, message in (
            ({"mask": object()}, "x has a mask"),
            ({"typestr": ">f4"}, "x has dtype >f4, which is in the byte order of another machine"),
            ({"typestr": "<M8[s]"}, r"x has dtype datetime64\[s\]; it must be one of bfloat16, bool"),
        ):
            x = Interface(cuda(X))
            x.more = more
            with pytest.raises(TypeError, match=message):
                ep.ops.relu(x)

    def test_tensors_that_are_conjugated_or_negated_lazily(self, cuda):
        x = Exporter(cuda(X))
        x.is_conj, x.is_neg = lambda: False, lambda: True
        with pytest.raises(ValueError, match="x is a tensor that is negated lazily"):
            ep.ops.relu(x)

    def test_errors_name_what_the_caller_wrote(self, cuda):
        x = cuda(X)
        with pytest.raises(ValueError, match=r"^out overlaps dy$"):
            ep.ops.gelu_backward_with_dy_x(Interface(x, (1, 6)), x, out=x)

    def test_exporters_that_fail(self, cuda):
        class Gradient(Exporter):
            def __dlpack__(self, **options):
                raise BufferError("requires a gradient")

        with pytest.raises(TypeError, match=r"x \(.*Gradient\) cannot be read through DLPack: requires a gradient"):
            ep.ops.relu(Gradient(cuda(X)))

    def test_python_numbers_go_along(self, cuda):
        x = cuda(X)
        assert np.array_equal(host(ep.ops.sub(x, 2)), X - 2)
        assert np.array_equal(host(ep.ops.less_than(0.5, x)), X > 0.5)
        assert np.array_equal(host(ep.ops.gather(x, 3)), X[3])
        assert np.array_equal(host(ep.ops.gather(x, -1, mode="wrap_negative")), X[-1])
        for number, dtype in ((True, "bool"), (1.5, "float64"), (2**70, "object")):
            with pytest.raises(TypeError, match=f"indices has dtype {dtype}"):
                ep.ops.gather(x, number)
        with pytest.raises(ValueError, match=r"params of shape \(\)"):
            ep.ops.gather(3, cuda([0]))

    def test_no_mixing_with_the_host(self, cuda):
        x = cuda(X)
        for y in (X, X.tolist()):
            message = rf"y \({type(y).__name__}\) is on the host, x is on cuda:0; bring one of them"
            with pytest.raises(TypeError, match=message):
                ep.ops.add(x, y)
            with pytest.raises(TypeError, match=r"y \(CudaArray\) is on cuda:0, x is on the host"):
                ep.ops.add(y, x)
        with pytest.raises(TypeError, match=r"indices \(list\) is on the host, params is on cuda:0"):
            ep.ops.gather(x, [0])
        with pytest.raises(TypeError, match=r"indices \(CudaArray\) is on cuda:0, params is on the host"):
            ep.ops.gather(X, cuda([0]))

    @both
    def test_other_devices(self, cuda, library, monkeypatch):
        x, far = cuda(X), library(cuda(X))
        monkeypatch.setattr("ep.cuda.arrays.arrays.device_of", lambda value: 1 if value is far else 0)
        device = SimpleNamespace(memory_at_home=None)
        monkeypatch.setattr(
            "ep.cuda.arrays.arrays.default_stream",
            lambda index: SimpleNamespace(device_index=index, device=lambda: device),
        )
        with pytest.raises(TypeError, match=rf"y \({library.__name__}\) is on cuda:1, x is on cuda:0"):
            ep.ops.add(x, far)


def calls(x):
    """Return a call of each kind of operator."""
    return {
        "relu": lambda out: ep.ops.relu(x, out=out),
        "sub": lambda out: ep.ops.sub(x, ep.ops.gather(x, 0), out=out),
        "gather": lambda out: ep.ops.gather(x, ep.ops.copy_to_device([2, 0, 3, 3], "cuda"), out=out),
        "expand": lambda out: ep.ops.expand(x, -1, -1, out=out),
        "repeat": lambda out: ep.ops.repeat(x, 1, 1, out=out),
    }


EXPECTED = {"relu": np.maximum(X, 0), "sub": X - X[0], "gather": X[[2, 0, 3, 3]], "expand": X, "repeat": X}


@pytest.mark.parametrize("operator", EXPECTED)
class TestOut:
    @both
    def test_contiguous(self, cuda, operator, library):
        target = library(cuda(np.zeros((4, 6), np.float32)))
        assert calls(cuda(X))[operator](target) is target
        assert np.array_equal(host(target), EXPECTED[operator])

    @both
    def test_strided(self, cuda, operator, library):
        base = cuda(np.full((4, 13), 7, np.float32))
        target = library(base, (4, 6), (13, 2), 1)
        assert calls(cuda(X))[operator](target) is target
        assert np.array_equal(host(target), EXPECTED[operator])
        assert (host(base)[:, 0::2] == 7).all()

    def test_refused(self, cuda, operator):
        call = calls(cuda(X))[operator]
        for out in (np.zeros((4, 6), np.float32), X.tolist(), 3.0, np.float32(3)):
            with pytest.raises(TypeError, match=f"out must be an array on cuda:0, not {type(out).__name__}"):
                call(out)
        with pytest.raises(TypeError, match="out has dtype int16; the result has float32"):
            call(cuda(np.zeros((4, 6), np.int16)))
        with pytest.raises(ValueError, match=r"out has shape \(24,\); the result has \(4, 6\)"):
            call(cuda(np.zeros(24, np.float32)))
        read_only = Interface(cuda(X))
        read_only.more = {"data": (read_only.address, True)}
        with pytest.raises(ValueError, match="out is read-only"):
            call(read_only)


def test_in_place(cuda):
    x = cuda(X)
    assert ep.ops.relu(x, out=x) is x
    assert np.array_equal(host(x), np.maximum(X, 0))
    with pytest.raises(ValueError, match="out is the memory of params"):
        ep.ops.gather(x, cuda([0, 1, 2, 3]), out=x)


class TestOrder:
    """The order of the operators' work and the work of the libraries from which operands come."""

    @pytest.fixture
    def order(self, stream, monkeypatch):
        """The list of waits between ep's streams and other streams, as pairs of stream handles."""
        from ep.cuda.device.stream import CudaStream

        pairs = []

        def note(consumer, producer):  # the allocator orders ep's own streams
            if min(consumer, producer) < 100:
                pairs.append((consumer, producer))

        monkeypatch.setattr(CudaStream, "wait_for", lambda self, producer: note(self.handle, producer))
        monkeypatch.setattr(CudaStream, "let_wait", lambda self, consumer: note(consumer, self.handle))
        return pairs

    @pytest.mark.parametrize(
        ("given", "before", "after"), [(None, [], []), (1, [1], []), (2, [2], [2]), (77, [77], [77])]
    )
    def test_interface(self, cuda, stream, order, given, before, after):
        x = Interface(cuda(X))
        x.more = {"stream": given}
        ep.ops.relu(x)
        assert order == [(stream.handle, producer) for producer in before] + [(waits, stream.handle) for waits in after]

    def test_dlpack(self, cuda, stream, order):
        x = Exporter(cuda(X))
        ep.ops.relu(x)
        assert (x.stream, order) == (stream.handle, [])

    @pytest.mark.parametrize("name", ["torch", "cupy"])
    def test_libraries_with_a_current_stream(self, cuda, stream, order, monkeypatch, name):
        current = SimpleNamespace(cuda_stream=99, ptr=99)
        library = SimpleNamespace(
            cuda=SimpleNamespace(
                current_stream=lambda device: current, get_current_stream=lambda device: current, Stream=None
            )
        )
        monkeypatch.setitem(sys.modules, name, library)
        tensor = type("Tensor", (Exporter,), {"__module__": name})
        ep.ops.sub(tensor(cuda(X)), tensor(cuda(X)))
        assert order == [(99, stream.handle)]

    def test_buffers_are_for_any_stream(self, stream, order):
        buffer = stream.device().Alloc(AllocationOptions(), 96).view(np.float32)
        ep.ops.negative(buffer, out=buffer)
        assert set(order) == {(stream.handle, 1), (1, stream.handle)}
        assert order[-1] == (1, stream.handle)

    def test_own_arrays_need_none(self, cuda, order):
        x = cuda(X)
        ep.ops.sub(x, ep.ops.relu(x), out=x)
        assert order == []

    @pytest.mark.parametrize(("given", "waits"), [(None, 1), (1, 1), (2, 2), (55, 55)])
    def test_consumers(self, cuda, stream, order, given, waits):
        cuda(X).__dlpack__(stream=given)
        assert order == [(waits, stream.handle)]
        cuda(X).__dlpack__(stream=-1)
        assert len(order) == 1

    def test_events_do_it(self, cuda, stream):
        other = stream.device().CreateStream()
        stream.let_wait(other.handle)
        stream.let_wait(stream.handle)
        stream.device().DestroyStream(other)


class TestErrorsOfIndices:
    def test_they_come_without_waiting_for_them(self, cuda, stream):
        result = ep.ops.gather(cuda(X), cuda([1, 4]))
        stream.device().driver.synchronize_stream(0, stream.handle)
        error = stream.GetAsyncError()
        assert isinstance(error, IndexError)
        assert str(error) == "indices.flat[1] is 4; the axis holds 0 ... 3"
        assert stream.GetAsyncError() is None
        assert np.array_equal(host(result), [X[1], np.zeros(6)])

    def test_sync_raises_the_first_once(self, cuda, stream):
        ep.ops.gather(cuda(X), cuda([-1]))
        ep.ops.gather(cuda(X), cuda([9]))
        copy = cuda(X)  # a copy to the device does not raise the error
        with pytest.raises(IndexError, match=r"flat\[0\] is -1"):
            stream.Sync()
        stream.Sync()
        assert np.array_equal(host(copy), X)

    def test_right_indices_report_nothing(self, cuda, stream):
        for mode in ("raise", "wrap_negative", "zero", "clip"):
            ep.ops.gather(cuda(X), cuda(np.arange(4)), mode=mode)
        stream.Sync()

    @pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
    def test_every_type_at_its_limits(self, cuda, dtype):
        info = np.iinfo(dtype)
        wrong = [value for value in (info.min, -5, -1, 4, info.max) if info.min <= value <= info.max]
        for value in wrong[info.min == 0 :]:
            with pytest.raises(IndexError, match=rf"^indices\.flat\[2\] is {value}; the axis holds 0 \.\.\. 3$"):
                host(ep.ops.gather(cuda(X), cuda(np.array([0, 3, value], dtype))))
            wrapped = ep.ops.gather(cuda(X), cuda(np.array([0, 3, value], dtype)), mode="wrap_negative")
            if -4 <= value < 4:
                assert np.array_equal(host(wrapped), X[[0, 3, value]])
                continue
            lowest = 0 if info.min == 0 else -4
            with pytest.raises(IndexError, match=rf"^indices\.flat\[2\] is {value}; the axis holds {lowest} \.\.\. 3$"):
                host(wrapped)
        clipped = ep.ops.gather(cuda(X), cuda(np.array([info.min, 2, info.max], dtype)), mode="clip")
        assert np.array_equal(host(clipped), X[[0, 2, 3]])

    def test_an_axis_longer_than_the_type_counts(self, cuda):
        params = np.arange(70000, dtype=np.int32)
        indices = np.array([-32768, -1, 32767], np.int16)
        result = ep.ops.gather(cuda(params), cuda(indices), mode="wrap_negative")
        assert np.array_equal(host(result), params[indices])
