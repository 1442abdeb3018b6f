"""The properties of the CUDA device that `ep.testing` does not test: on a GPU or from PTX."""

import gc
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from ep import AllocationOptions, DeviceManagerRegistry, DeviceType, DeviceUnavailableError
from ep.cuda.device.error_report import CLAIMED, INDEX_OUT_OF_RANGE
from ep.cuda.device.stream import CudaStream
from ep.cuda.driver.interface import CudaError

OPTIONS = AllocationOptions()


def on_device(cuda, stream, array):
    buffer = cuda.Alloc(OPTIONS, array.nbytes).view(array.dtype)
    buffer.copy_from_host(array, stream)
    return buffer


class TestDevice:
    def test_properties(self, cuda):
        properties = cuda.properties
        assert properties.name in repr(cuda)
        assert properties.compute_capability >= (7, 5)
        assert properties.multiprocessors >= 1
        assert properties.max_threads_per_block >= 1024
        assert properties.total_memory > 2**28

    def test_manager_supports_waiting_for_events(self, cuda):
        assert cuda.device_manager().IsStreamWaitEventSupported()


class TestMemory:
    def test_what_cannot_be_had(self, cuda):
        with pytest.raises(
            MemoryError, match=r"^1,152,921,504,606,846,976 bytes cannot be allocated on cuda:0: .* free"
        ):
            cuda.Alloc(OPTIONS, 2**60)
        with pytest.raises(ValueError, match="numa_node_affinity is 0"):
            cuda.Alloc(AllocationOptions(numa_node_affinity=0), 8)
        with pytest.raises(ValueError, match=r"pinned_device_type is DeviceType\.kCUDA"):
            cuda.Alloc(AllocationOptions(pinned_device_type=DeviceType.kCUDA), 8)
        with pytest.raises(TypeError, match="buffer must be a buffer from Alloc"):
            cuda.Free(OPTIONS, np.zeros(8, np.uint8))

    def test_it_is_freed_once(self, cuda):
        buffer = cuda.Alloc(OPTIONS, 8)
        cuda.Free(OPTIONS, buffer)
        with pytest.raises(ValueError, match="was freed already"):
            cuda.Free(OPTIONS, buffer)

    def test_it_is_freed_with_its_last_buffer(self, cuda):
        gc.collect()  # buffers of earlier tests
        cuda.Reset()
        before = cuda.memory_figures()["allocated"]
        buffer = cuda.Alloc(OPTIONS, 4096)
        part = buffer[10:20].view(np.int16)
        del buffer
        gc.collect()
        assert cuda.memory_figures()["allocated"] == before + 4096
        del part
        gc.collect()
        assert cuda.memory_figures()["allocated"] == before

    def test_cached_memory_is_given_out_again(self, cuda):
        gc.collect()  # buffers of earlier tests
        cuda.Reset()
        buffer = cuda.Alloc(OPTIONS, 5000)
        address = buffer.address
        cuda.Free(OPTIONS, buffer)
        assert cuda.memory_figures()["cached"] == 5120
        again = cuda.Alloc(OPTIONS, 4700)
        assert again.address == address
        cuda.Free(OPTIONS, again)
        cuda.Reset()
        assert cuda.memory_figures()["cached"] == 0

    @pytest.mark.parametrize("size", [1, 4097])
    def test_pinned(self, cuda, stream, size):
        pinned = cuda.AllocPinned(OPTIONS, size)
        pinned[...] = 7
        buffer = cuda.Alloc(OPTIONS, size)
        buffer.copy_from_host(pinned, stream, wait=False)
        back = cuda.AllocPinned(OPTIONS, size)
        buffer.copy_to_host(stream, back)
        assert (back == 7).all()
        cuda.FreePinned(OPTIONS, back)
        cuda.FreePinned(OPTIONS, pinned.view(np.int8)[:1])
        with pytest.raises(ValueError, match="was freed already"):
            cuda.FreePinned(OPTIONS, pinned)

    def test_pinned_through_the_cpu(self, cuda):
        cpu = DeviceManagerRegistry.GetDevice(DeviceType.kCPU)
        options = AllocationOptions(pinned_device_type=DeviceType.kCUDA)
        pinned = cpu.Alloc(options, 100)
        pinned[...] = 1
        cpu.Free(options, pinned)

    def test_pinned_refusals(self, cuda):
        assert cuda.AllocPinned(OPTIONS, 0).size == 0
        cuda.FreePinned(OPTIONS, cuda.AllocPinned(OPTIONS, 0))
        with pytest.raises(TypeError, match="buffer must be a buffer from AllocPinned"):
            cuda.FreePinned(OPTIONS, np.zeros(8, np.uint8))
        with pytest.raises(ValueError, match="a GPU pins memory for GPUs"):
            cuda.AllocPinned(AllocationOptions(pinned_device_type=DeviceType.kCPU), 8)


class TestBuffer:
    def test_slices_and_views(self, cuda, stream):
        buffer = on_device(cuda, stream, np.arange(24, dtype=np.int32))
        assert (buffer[3:9].shape, len(buffer[3:9]), cuda.Alloc(OPTIONS, 0).shape) == ((6,), 6, (0,))
        with pytest.raises(ValueError, match="12 bytes are not a whole number of int64"):
            buffer[:3].view(np.int64)
        with pytest.raises(ValueError, match="neighbouring elements"):
            buffer[::2]
        with pytest.raises(TypeError, match="slices only"):
            buffer[3]

    def test_copies_are_checked(self, cuda, stream):
        buffer = cuda.Alloc(OPTIONS, 16).view(np.float32)
        with pytest.raises(ValueError, match="array holds 3 float32; the buffer holds 4 float32"):
            buffer.copy_from_host(np.zeros(3, np.float32), stream)
        with pytest.raises(ValueError, match="array holds 4 int32"):
            buffer.copy_from_host(np.zeros(4, np.int32), stream)
        with pytest.raises(ValueError, match="must be waited for"):
            buffer.copy_from_host(np.zeros(8, np.float32)[::2], stream, wait=False)
        with pytest.raises(ValueError, match="out must be C-contiguous and hold 4 elements of float32"):
            buffer.copy_to_host(stream, np.zeros(8, np.float32)[::2])
        buffer.copy_from_host(np.arange(8, dtype=np.float32)[::2], stream)
        assert buffer.copy_to_host(stream).tolist() == [0, 2, 4, 6]

    def test_interface(self, cuda, stream):
        buffer = cuda.Alloc(OPTIONS, 12).view(ml_dtypes.bfloat16)
        interface = buffer.__cuda_array_interface__
        assert interface["version"] == 3
        assert interface["shape"] == (6,)
        assert interface["data"] == (buffer.address, False)
        assert interface["strides"] is None
        assert np.dtype(interface["typestr"]).itemsize == 2
        assert interface["stream"] == 1  # the default stream, which waits for all streams
        assert stream.AllocAsync(8).__cuda_array_interface__["stream"] == stream.handle
        other = cuda.CreateStream()
        left = other.AllocAsync(8)
        cuda.DestroyStream(other)
        assert left.__cuda_array_interface__["stream"] == 1
        assert "6 bfloat16 on cuda:0" in repr(buffer)


class TestStreams:
    def test_one_that_could_not_be_made_has_nothing_to_destroy(self):
        """Otherwise its finaliser would print an error, which would fail this test."""
        with pytest.raises(AttributeError, match="device_index"):
            CudaStream(None, 8, owned=True)

    def test_destroyed_events_are_refused(self, cuda, stream):
        event = cuda.CreateEvent()
        cuda.DestroyEvent(event)
        with pytest.raises(ValueError, match="event was destroyed"):
            stream.RecordEvent(event)

    def test_destroyed_streams_are_refused(self, cuda):
        stream = cuda.CreateStream()
        cuda.DestroyStream(stream)
        cuda.DestroyStream(stream)
        with pytest.raises((CudaError, OverflowError)):
            stream.Sync()

    def test_stream_ordered_memory(self, cuda, stream):
        assert cuda.IsStreamOrderedMemoryAllocationSupported()
        buffer = stream.AllocAsync(200).view(np.int16)
        stream.FreeAsync(buffer)
        with pytest.raises(ValueError, match="was freed already"):
            stream.FreeAsync(buffer)
        with pytest.raises(TypeError, match="buffer must be a buffer from AllocAsync"):
            stream.FreeAsync(np.arange(100, dtype=np.int16))

    def test_stream_ordered_memory_that_nobody_frees(self, cuda, stream):
        stream.Sync()
        before = cuda.memory_figures()["free"]
        buffer = stream.AllocAsync(64 << 20)
        del buffer
        gc.collect()
        stream.Sync()
        assert cuda.memory_figures()["free"] >= before - (1 << 20)

    def test_stream_ordered_memory_that_outlives_its_stream(self, cuda):
        stream = cuda.CreateStream()
        stream.Sync()
        before = cuda.memory_figures()["free"]
        buffer = stream.AllocAsync(64 << 20)
        cuda.DestroyStream(stream)
        del buffer
        gc.collect()
        assert cuda.memory_figures()["free"] >= before - (1 << 20)

    def test_memory_of_either_kind_is_freed_by_the_stream(self, cuda, stream):
        buffer = cuda.Alloc(OPTIONS, 8)
        stream.FreeAsync(buffer)
        with pytest.raises(ValueError, match="was freed already"):
            cuda.Free(OPTIONS, buffer)

    def test_streams_of_other_frameworks(self, cuda, stream):
        handle = cuda.driver.create_stream(0)
        wrapped = CudaStream.from_handle(handle)
        assert (wrapped.handle, wrapped.device()) == (handle, cuda)
        assert CudaStream.from_handle(handle) is wrapped
        assert CudaStream.from_handle(SimpleNamespace(__cuda_stream__=lambda: (0, handle))) is wrapped
        assert CudaStream.from_handle(stream) is stream
        buffer = on_device(cuda, wrapped, np.arange(5))
        assert buffer.copy_to_host(wrapped).tolist() == [0, 1, 2, 3, 4]
        cuda.DestroyStream(wrapped)  # not the framework's own stream
        cuda.driver.synchronize_stream(0, handle)
        cuda.driver.destroy_stream(0, handle)

    @pytest.mark.parametrize("handle", [0, 1])
    def test_default_streams(self, cuda, handle):
        stream = CudaStream.from_handle(handle, 0)
        assert stream.handle == 1
        buffer = on_device(cuda, stream, np.arange(5))
        assert buffer.copy_to_host(stream).tolist() == [0, 1, 2, 3, 4]
        assert stream.GetAsyncError() is None

    @pytest.mark.parametrize("stream", [2, SimpleNamespace(__cuda_stream__=lambda: (0, 2))], ids=["number", "object"])
    def test_the_per_thread_default_stream_is_refused(self, cuda, stream):
        """Two threads would have two streams, but share one workspace and one error report without a fence."""
        with pytest.raises(
            ValueError, match=r"stream is 2, the per-thread default stream, .* another one in each thread"
        ):
            CudaStream.from_handle(stream, 0)

    def test_handles_are_checked(self, cuda):
        with pytest.raises(TypeError, match="stream must be an integer"):
            CudaStream.from_handle("1")
        with pytest.raises(ValueError, match="stream is -1"):
            CudaStream.from_handle(-1)
        with pytest.raises(DeviceUnavailableError, match="device_index is 99"):
            CudaStream.from_handle(0, 99)

    def test_waiting_for_another_stream(self, cuda, stream):
        other = cuda.CreateStream()
        stream.wait_for(other.handle)
        stream.wait_for(stream.handle)
        stream.wait_for(0)
        stream.Sync()


class TestErrorsOfKernels:
    """Errors that kernels report in words of the stream; here the host writes these words."""

    def report(self, stream, *words):
        import ctypes

        (ctypes.c_int64 * 4).from_address(stream.report_address)[:] = words

    def test_each_is_told_once(self, stream):
        assert stream.GetAsyncError() is None
        self.report(stream, INDEX_OUT_OF_RANGE, 9, 2, 5)
        error = stream.GetAsyncError()
        assert isinstance(error, IndexError)
        assert str(error) == "indices.flat[2] is 9; the axis holds 0 ... 4"
        assert stream.GetAsyncError() is None
        stream.Sync()

    def test_sync_raises_it(self, stream):
        self.report(stream, INDEX_OUT_OF_RANGE, -1, 0, 0)
        with pytest.raises(IndexError, match="the axis holds nothing"):
            stream.Sync()
        stream.Sync()
        assert stream.GetAsyncError() is None

    def test_results_are_not_read_past_it(self, cuda, stream):
        buffer = on_device(cuda, stream, np.arange(5))
        self.report(stream, INDEX_OUT_OF_RANGE, 9, 2, 5)
        with pytest.raises(IndexError):
            buffer.copy_to_host(stream)

    def test_half_written_ones_are_left(self, stream):
        self.report(stream, CLAIMED, 9, 0, 0)
        assert stream.GetAsyncError() is None
        self.report(stream, INDEX_OUT_OF_RANGE, 9, 2, 5)
        assert isinstance(stream.GetAsyncError(), IndexError)

    def test_streams_have_their_own(self, cuda, stream):
        other = cuda.CreateStream()
        assert other.report_address != stream.report_address
        self.report(other, INDEX_OUT_OF_RANGE, 9, 2, 5)
        stream.Sync()
        cuda.DestroyStream(other)


class TestDriverErrors:
    """Errors of the device itself, which a healthy device does not have: the driver is made to return them."""

    def failing(self, code):
        def fail(*arguments):
            raise CudaError("cuStreamSynchronize", code, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access")

        return fail

    def test_each_is_told_once(self, cuda, monkeypatch):
        stream = cuda.CreateStream()
        monkeypatch.setattr(cuda.driver, "query_stream", self.failing(700))
        monkeypatch.setattr(cuda.driver, "synchronize_stream", self.failing(700))
        error = stream.GetAsyncError()
        assert isinstance(error, CudaError)
        assert "an illegal memory access (CUDA_ERROR_ILLEGAL_ADDRESS, error 700)" in str(error)
        assert stream.GetAsyncError() is None
        with pytest.raises(CudaError):
            stream.Sync()
        monkeypatch.undo()

    def test_sync_tells_it_too(self, cuda, monkeypatch):
        stream = cuda.CreateStream()
        monkeypatch.setattr(cuda.driver, "query_stream", self.failing(700))
        monkeypatch.setattr(cuda.driver, "synchronize_stream", self.failing(700))
        with pytest.raises(CudaError):
            stream.Sync()
        assert stream.GetAsyncError() is None
        monkeypatch.undo()
