"""The memory of operators: reused on their stream at once, and by others only after a fence."""

import gc

import numpy as np
import pytest

import ep.ops
from ep import AllocationOptions, DeviceType, RequirePrimitive, UnaryOp
from ep.cuda.arrays.array import CudaArray
from ep.cuda.arrays.streams import default_stream
from ep.cuda.device.allocator import CachingAllocator
from ep.include.primitive import ElementwiseUnaryFactory
from tests.cuda.graph import Graph
from tests.subprocesses import run

X = np.arange(-6, 7, dtype=np.float32)


@pytest.fixture
def fences(monkeypatch, cuda):
    """The fences since the beginning of the test, as if no work had been captured before."""
    gc.collect()  # results of earlier tests
    monkeypatch.setattr(cuda._allocator, "_home_is_shared", False)
    found, fence = [], CachingAllocator._fence

    def counted(self):
        found.append(self)
        fence(self)

    monkeypatch.setattr(CachingAllocator, "_fence", counted)
    return found


@pytest.fixture
def x(cuda):
    return ep.ops.copy_to_device(X, "cuda")


def address(array):
    return array.memory[0]


def test_results_are_reused_without_a_fence(cuda, x, stream, fences):
    first = address(ep.ops.relu(x))
    fences.clear()
    for _ in range(5):
        assert address(ep.ops.relu(x)) == first
    assert not fences


@pytest.mark.parametrize(
    "share",
    [
        lambda y, stream: y.address,
        lambda y, stream: y.__cuda_array_interface__,
        lambda y, stream: y.__dlpack__(),
        lambda y, stream: RequirePrimitive(
            ElementwiseUnaryFactory, DeviceType.kCUDA, UnaryOp.kRelu, "float32", "float32"
        ).Launch(stream, y, stream.device().Alloc(AllocationOptions(), 4 * X.size).view("float32"), X.size),
        lambda y, stream: y.reshape(1, -1).address,
    ],
    ids=["address", "interface", "DLPack", "another stream", "another shape"],
)
def test_memory_that_others_may_use_is_not_reused_without_a_fence(cuda, x, stream, fences, share):
    for _ in range(3):
        ep.ops.relu(x)
    y = ep.ops.relu(x)
    place = address(y)
    share(y, stream)
    del y
    gc.collect()
    fences.clear()
    later = [ep.ops.relu(x) for _ in range(4)]
    assert place not in [address(each) for each in later] or fences
    for each in later:
        np.testing.assert_array_equal(each.copy_to_host(), X.clip(0))


def test_memory_goes_back_to_the_device(cuda, x):
    ep.ops.relu(x)
    cuda.Reset()
    assert cuda.memory_figures()["cached"] == 0
    np.testing.assert_array_equal(ep.ops.relu(x).copy_to_host(), X.clip(0))


def test_known_calls(cuda, x):
    """Later calls are done by compiled code: by shape, dtype and attributes, and with errors as before."""
    for values in (X, X[:5], X.astype(np.float64), X.reshape(1, -1)):
        for _ in range(4):
            y = ep.ops.relu(ep.ops.copy_to_device(values, "cuda"))
            assert type(y) is CudaArray
            assert (y.shape, y.dtype) == (values.shape, values.dtype)
            np.testing.assert_array_equal(y.copy_to_host(), values.clip(0))
    for slope in (0.5, 0.5, 0.5, 0.25):
        np.testing.assert_array_equal(
            ep.ops.leaky_relu(x, slope).copy_to_host(), np.where(X > 0, X, X * np.float32(slope))
        )
    for _ in range(4):
        np.testing.assert_array_equal(ep.ops.add(x, y=x).copy_to_host(), X + X)
        with pytest.raises(TypeError, match="x is on cuda:0"):
            ep.ops.add(x, X)
    for _ in range(3):
        assert ep.ops.relu(ep.ops.copy_to_device(X[:0], "cuda")).shape == (0,)


def test_memory_is_shared_after_a_capture(cuda, x, stream, fences):
    """A graph may use it on any stream."""
    out = ep.ops.relu(x)
    Graph(default_stream(0), lambda: ep.ops.relu(x, out=out)).destroy()
    fences.clear()
    place = address(ep.ops.relu(x))
    later = [ep.ops.relu(x) for _ in range(9)]
    assert place not in [address(each) for each in later] or fences
    np.testing.assert_array_equal(later[-1].copy_to_host(), X.clip(0))


def test_the_first_operators_of_threads_have_one_stream(cuda):
    """Their memory is reused without a fence: see `CachingAllocator`."""
    code = """
from tests.devices import prepare
prepare("cuda")
import numpy as np
import ep.ops
from ep.cuda.driver.current import driver
from tests.threads import Crossing, run_together

crossing, create, found = Crossing(3), driver().create_stream, []
driver().create_stream = lambda device: crossing.wait() or create(device)
run_together(lambda: found.append(ep.ops.copy_to_device(np.arange(3), "cuda").memory[-1]), [()] * 3)
print(len(found), len(set(found)), crossing.arrived)
"""
    assert run(code) == "3 1 1\n"
