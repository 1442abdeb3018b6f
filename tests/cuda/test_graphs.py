"""Launches that are captured into graphs, which own the memory and the workspaces of these launches."""

import gc

import numpy as np
import pytest

import ep.ops
from ep import AllocationOptions, DeviceType, RequirePrimitive
from ep.cuda.arrays.streams import default_stream
from ep.cuda.driver.interface import CaptureError, CudaError
from ep.include.primitive import BlasTransposeType, MatmulFactory
from tests.cuda.graph import Graph as capture

OPTIONS = AllocationOptions()
N, T = BlasTransposeType


@pytest.fixture
def to_device(cuda):
    """A function that copies an array to the device."""
    return lambda array: ep.ops.copy_to_device(np.ascontiguousarray(array), DeviceType.kCUDA)


class TestOperators:
    """A captured call of an operator has temporaries and a result, whose addresses the graph keeps."""

    X = np.arange(4000, dtype=np.float32).reshape(1000, 4)
    INDICES = np.arange(-1000, 0, dtype=np.int32)

    def test_memory_is_not_given_to_others(self, cuda, to_device):
        x, indices, results = to_device(self.X), to_device(self.INDICES), []
        ep.ops.gather(x, indices, mode="wrap_negative")  # so that nothing has to be compiled
        work = lambda: results.append(ep.ops.gather(x, indices, mode="wrap_negative"))  # noqa: E731
        graph = capture(default_stream(0), work)
        others = [to_device(np.full(size, 7, np.float32)) for size in (1000, 2000, 4000) for _ in range(4)]
        for _ in range(2):
            graph.launch()
            assert all((other.copy_to_host() == 7).all() for other in others)
            assert (results[0].copy_to_host() == self.X).all()
        results.clear()  # the graph still writes there
        others += [to_device(np.full((1000, 4), 7, np.float32)) for _ in range(4)]
        graph.launch()
        default_stream(0).Sync()
        assert all((other.copy_to_host() == 7).all() for other in others)
        graph.destroy()

    def test_printing_does_not_end_a_capture(self, cuda, to_device):
        x, texts, results = to_device(np.arange(3.0)), [], []
        ep.ops.negative(x)

        def work():
            results.append(ep.ops.negative(x))
            texts.append(repr(results[0]))

        graph = capture(default_stream(0), work)
        assert texts == ["CudaArray(..., shape=(3,), dtype=float64, device=cuda:0)"]
        graph.launch()
        assert repr(results[0]) == "CudaArray([-0., -1., -2.], dtype=float64, device=cuda:0)"
        graph.destroy()

    def test_memory_goes_back_with_the_graph_and_the_arrays(self, cuda, to_device):
        x = to_device(self.X)
        ep.ops.relu(x)
        gc.collect()
        before = cuda.memory_figures()["allocated"]
        results = []
        graph = capture(default_stream(0), lambda: results.append(ep.ops.relu(ep.ops.negative(x))))
        held = cuda.memory_figures()["allocated"]
        assert held >= before + 2 * x.nbytes
        graph.launch()
        graph.destroy()
        default_stream(0).Sync()
        assert before + x.nbytes <= cuda.memory_figures()["allocated"] < held
        assert (results[0].copy_to_host() == 0).all()
        results.clear()
        assert cuda.memory_figures()["allocated"] == before

    def test_fused_functions_and_blocks(self, cuda, to_device):
        x, out, filled = to_device(self.X), to_device(np.zeros(4, np.float32)), to_device(np.zeros(5, np.float32))
        total = ep.fuse(lambda x, rate: ep.ops.sum(ep.ops.square(x * rate), 0))

        def work():
            total(x, 0.5, out=out)
            with ep.lazy() as lazy:
                lazy.view(filled)[...] = 2.5

        expected = total(x, 0.5).copy_to_host()
        graph = capture(default_stream(0), work)
        assert not out.copy_to_host().any()
        for _ in range(2):
            graph.launch()
            assert (out.copy_to_host() == expected).all()
            assert (filled.copy_to_host() == 2.5).all()
        graph.destroy()

    def test_memory_is_new(self, cuda, to_device):
        """Cached memory may still be in use by work for which the stream that launches the graph does not wait."""
        x = to_device(self.X)
        cached = ep.ops.relu(x)
        address = cached.address
        del cached
        results = []
        graph = capture(default_stream(0), lambda: results.append(ep.ops.relu(x)))
        assert results[0].address != address
        graph.destroy()


class TestProducts:
    def launch(self, cuda, stream, primitive, m=2):
        """Return a function that launches a product of a, b and c of ones, and the buffer c."""
        a, b, c = (cuda.Alloc(OPTIONS, 4 * size).view(np.dtype(np.float32)) for size in (m * 3, 12, m * 4))
        for x in (a, b, c):
            x.copy_from_host(np.ones(x.size, np.float32), stream)
        return lambda stream: primitive.Launch(stream, m, 4, 3, 1, a, b, 1, c), c

    def test_a_fresh_stream_is_captured(self, cuda, stream):
        """The plans come from other streams, the workspace from the graph."""
        launch, c = self.launch(cuda, stream, RequirePrimitive(MatmulFactory, DeviceType.kCUDA, "float32", N, N))
        launch(stream)
        stream.Sync()
        fresh = cuda.CreateStream()
        graph = capture(fresh, lambda: launch(fresh))
        for expected in (7, 10):
            graph.launch()
            assert (c.copy_to_host(fresh) == expected).all()
        graph.destroy()

    def test_the_workspace_of_a_graph_is_its_own(self, cuda, stream):
        address, captured = stream.workspace(), []
        graph = capture(stream, lambda: captured.extend([stream.workspace(), stream.workspace()]))
        other = capture(stream, lambda: captured.append(stream.workspace()))
        assert captured[0] == captured[1]
        assert len({address, *captured}) == 3
        assert stream.workspace() == address
        graph.destroy()
        other.destroy()

    def test_a_new_shape_is_refused(self, cuda, stream):
        primitive = RequirePrimitive(MatmulFactory, DeviceType.kCUDA, "float32", N, N)
        launch, _ = self.launch(cuda, stream, primitive)
        launch(stream)
        new, c = self.launch(cuda, stream, primitive, m=5)

        def work():
            with pytest.raises(CaptureError, match=r"a product of 1 matrices \[5, 3\] by \[3, 4\] .* is new"):
                new(stream)
            launch(stream)

        graph = capture(stream, work)  # whose capture was not ended
        graph.launch()
        assert (c.copy_to_host(stream) == 1).all()
        graph.destroy()


class TestOrder:
    def test_no_other_stream_takes_part_unasked(self, cuda, stream):
        other = cuda.CreateStream()

        def work():
            stream.let_wait(other.handle)
            assert not other.is_capturing()

        capture(stream, work).destroy()

    def test_a_captured_stream_does_not_wait_for_what_is_outside(self, cuda, stream):
        other = cuda.CreateStream()
        capture(stream, lambda: other.let_wait(stream.handle)).destroy()

    def test_streams_of_one_graph_wait_for_each_other(self, cuda, stream):
        other = cuda.CreateStream()

        def work():
            other.wait_for(stream.handle)
            assert other.is_capturing()
            other.let_wait(stream.handle)

        capture(stream, work).destroy()
        assert not other.is_capturing()

    def test_what_the_garbage_collector_finds_does_not_end_a_capture(self, cuda, stream):
        left, pinned = [cuda.CreateStream()], [cuda.AllocPinned(OPTIONS, 100)]
        ones, x = np.ones(100, np.uint8), cuda.Alloc(OPTIONS, 100)

        def work():
            left.clear()
            pinned.clear()
            gc.collect()
            cuda.Alloc(OPTIONS, 1 << 20)
            cuda.CreateStream()
            stream.device().driver.fill(0, x.address, 1, 100, stream.handle)

        graph = capture(stream, work)
        graph.launch()
        assert (x.copy_to_host(stream) == ones).all()
        graph.destroy()

    def test_to_wait_for_a_captured_stream_is_an_error(self, cuda, stream):
        """So the tests above would fail if a stream waited for a captured one."""

        def work():
            with pytest.raises(CudaError):
                stream.Sync()
            raise ZeroDivisionError

        with pytest.raises((ZeroDivisionError, RuntimeError)):
            capture(stream, work)
