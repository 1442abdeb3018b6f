"""Arrays and streams of PyTorch and CuPy, as they are on a GPU."""

import threading

import numpy as np
import pytest

import ep.ops
from ep import BinaryOp, DeviceType, RequirePrimitive
from ep.cuda.device.stream import CudaStream
from ep.include.primitive import BroadcastElementwiseBinaryFactory

COUNT = 1 << 20


@pytest.fixture
def torch(cuda):
    """PyTorch with a GPU."""
    torch = pytest.importorskip("torch")
    if cuda.driver.loads_ptx or not torch.cuda.is_available():
        pytest.skip("PyTorch has no GPU here")
    return torch


@pytest.fixture
def cupy(cuda):
    """CuPy with a GPU."""
    if cuda.driver.loads_ptx:
        pytest.skip("CuPy has no GPU here")
    return pytest.importorskip("cupy")


def add_twice(x, stream):
    """Launch x += x on a stream."""
    add = RequirePrimitive(BroadcastElementwiseBinaryFactory, DeviceType.kCUDA, BinaryOp.kAdd, "float32", "float32", 1)
    add.Launch(stream, (COUNT,), x, (COUNT,), x, x)


class TestTorch:
    def test_a_launch_on_its_stream(self, torch):
        x = torch.arange(COUNT, dtype=torch.float32, device="cuda")
        add_twice(x, CudaStream.from_handle(torch.cuda.current_stream().cuda_stream, 0))
        assert torch.equal(x, 2 * torch.arange(COUNT, dtype=torch.float32, device="cuda"))

    @pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
    def test_operators(self, torch, dtype):
        x = torch.arange(-100, 100, device="cuda").to(getattr(torch, dtype))
        assert torch.equal(torch.from_dlpack(ep.ops.relu(x)), torch.relu(x))

    def test_side_streams(self, torch):
        """Each result is of the work that was queued before, on streams that are busy."""
        large = torch.rand(4096, 4096, device="cuda")
        sides, results = [torch.cuda.Stream() for _ in range(2)], []
        torch.cuda.synchronize()
        for number in range(20):
            with torch.cuda.stream(sides[number % 2]):
                x = large @ large - 1000.0 - number
                results.append((x, torch.from_dlpack(ep.ops.relu(x)) * 2))
        torch.cuda.synchronize()
        for x, result in results:
            assert torch.equal(result, torch.relu(x) * 2)

    def test_a_graph(self, torch):
        """ep's launches are captured with PyTorch's, and computed anew at each replay."""
        x = torch.ones(COUNT, device="cuda")
        torch.from_dlpack(ep.ops.relu(x))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = torch.from_dlpack(ep.ops.relu(x + 1)) * 3
        for value in (1.0, 5.0, -7.0):
            x.fill_(value)
            graph.replay()
            torch.cuda.synchronize()
            assert (result == 3 * max(value + 1, 0.0)).all()


class TestCuPy:
    def test_a_launch_on_its_stream(self, cupy):
        with cupy.cuda.Stream() as stream:
            x = cupy.arange(COUNT, dtype=np.float32)
            add_twice(x, CudaStream.from_handle(stream.ptr, 0))
            assert (x == 2 * cupy.arange(COUNT, dtype=np.float32)).all()

    def test_operators(self, cupy):
        x = cupy.arange(-100, 100, dtype=np.float32)
        assert (cupy.from_dlpack(ep.ops.relu(x)) == cupy.maximum(x, 0)).all()

    def test_the_default_stream_of_each_thread(self, cupy):
        """Two threads with arrays on stream 2, which is another stream in each."""
        right = []

        def work(number):
            with cupy.cuda.Stream.ptds:
                for turn in range(50):
                    x = cupy.full(COUNT, number + turn, np.float32) - 10
                    y = cupy.from_dlpack(ep.ops.relu(x))
                    right.append(bool((y == max(number + turn - 10, 0)).all()))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert right == [True] * 100
