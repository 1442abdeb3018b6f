"""Launches like earlier ones: they queue what a first launch queues, and run nothing of Python."""

import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import ep
from ep import AllocationOptions, BinaryOp, DataType, DeviceType, ReduceOp, RequirePrimitive, UnaryOp
from ep.cuda.device.slots import StreamState
from ep.cuda.driver.current import driver
from ep.include import primitive as p
from tests.cuda.graph import Graph
from tests.profiles import calls_of
from tests.threads import run_together

N = 96
PACKAGE = str(Path(ep.__file__).parent)


def new(factory, *key):
    return RequirePrimitive(factory, DeviceType.kCUDA, *key)


@pytest.fixture
def queued(monkeypatch, cuda):
    """The kernels that were queued, which are not run."""
    if not hasattr(driver(), "programs"):
        pytest.skip("the kernels that a GPU runs are not seen")
    kernels = []
    monkeypatch.setattr(driver(), "_run", lambda *kernel: kernels.append((id(kernel[0]), *kernel[1:])))
    return kernels


def in_python(launch):
    """Return whether a launch runs functions of the package."""
    return calls_of(launch, PACKAGE) > 0


@pytest.fixture
def memory(cuda):
    """A function that returns a buffer of a dtype, which begins at an element of new memory."""

    def allocated(offset=0, dtype="float32", count=2**15):
        itemsize = np.dtype(dtype).itemsize
        return cuda.Alloc(AllocationOptions(), (offset + count) * itemsize).view(dtype)[offset:]

    return allocated


LAUNCHES = {
    "unary": (p.ElementwiseUnaryFactory, (UnaryOp.kRelu, "float32", "float32"), lambda x, i, o: (x(), o(), N)),
    "cast": (p.CastFactory, ("float32", "float64"), lambda x, i, o: (x(), o("float64"), N)),
    "binary": (
        p.BroadcastElementwiseBinaryFactory,
        (BinaryOp.kAdd, "float32", "float32", 2),
        lambda x, i, o: ((4, N // 4), x(), (N // 4,), x(), o()),
    ),
    "a number": (
        p.BroadcastElementwiseBinaryFactory,
        (BinaryOp.kMul, "float32", "float32", 2),
        lambda x, i, o: ((4, N // 4), x(), (), 2.5, o()),
    ),
    "where": (
        p.WhereFactory,
        ("bool", "float32", 2),
        lambda x, i, o: ((N,), x("bool"), (N,), x(), (1,), x(), o()),
    ),
    "gather": (p.GatherFactory, ("float32", "int64"), lambda x, i, o: (1, 8, 12, x(), 5, i(), o())),
    "segments": (p.UnsortedSegmentSumFactory, ("float32", "int64"), lambda x, i, o: (1, 8, 12, x(), 5, i(), o())),
    "scatter": (
        p.BatchScatterFactory,
        (p.ScatterOp.kAdd, "float32", "int64"),
        lambda x, i, o: (1, 1, 8, 12, x(), 5, i(), o()),
    ),
    "softmax": (p.SoftmaxFactory, ("float32",), lambda x, i, o: (4, N // 4, x(), o())),
    "gradient": (p.SoftmaxBackwardFactory, ("float32",), lambda x, i, o: (4, N // 4, x(), x(), o())),
    "sum": (p.ReduceFactory, (ReduceOp.kSum, "float32", 2), lambda x, i, o: ((4, N // 4), x(), (1,), o())),
    "long sum": (p.ReduceFactory, (ReduceOp.kSum, "float32", 2), lambda x, i, o: ((1, 2**15), x(), (1,), o())),
    "first place": (
        p.ArgSortFactory,
        (p.SortOrder.kAscending, "float32"),
        lambda x, i, o: (4, 24, 1, 1, x(), o("int64")),
    ),
    "sort": (p.ArgSortFactory, (p.SortOrder.kAscending, "float32"), lambda x, i, o: (4, 24, 1, 24, x(), o("int64"))),
    "trees": (
        p.TreeEnsembleFactory,
        (p.TreeAggregate.kSum, "float32"),
        lambda x, i, o: (4, 6, 1, 5, 1, x(), o("int32"), x("int32"), o()),
    ),
    "scan": (p.ScanFactory, (p.ScanOp.kSum, "float32"), lambda x, i, o: (4, N // 4, 1, x(), o())),
    "long scan": (p.ScanFactory, (p.ScanOp.kSum, "float32"), lambda x, i, o: (1, 2**15, 1, x(), o())),
    "tensor fill": (p.TensorFillFactory, ("float32",), lambda x, i, o: (x(), o(), N)),
    "fill": (p.FillFactory, ("float32",), lambda x, i, o: (o(), 1.5, N)),
    "one-hot": (p.OneHotFactory, ("int64", "float32"), lambda x, i, o: (i(), o(), 1.5, 0.5, 8, 0, 12)),
    "expand": (p.ExpandFactory, ("float32", 2), lambda x, i, o: ((1, 24), x(), (4, 24), o())),
    "permute": (p.PermuteFactory, (2,), lambda x, i, o: (DataType.kFloat, (8, 12), x(), (1, 0), o())),
    "pad": (p.ConstantPadFactory, ("float32",), lambda x, i, o: ((4, 6), x(), (1, 1), (1, 1), 0.5, o())),
}


IN_STAGES = ("segments", "scatter", "long sum", "sort", "long scan")


def differences(queued, others):
    """Return by how much the arguments of the same kernels differ: where their memory for partial results is."""
    assert [kernel[:2] for kernel in queued] == [kernel[:2] for kernel in others]
    pairs = ((one[2], other[2]) for one, other in zip(queued, others, strict=True))
    return {number - other for pair in pairs for number, other in zip(*pair, strict=True)} - {0}


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_known_launch_queues_what_a_first_one_queues(name, memory, stream, queued):
    """Whatever the alignment of the arrays, and though other memory is used than in earlier launches."""
    factory, key, arguments = LAUNCHES[name]
    primitive = new(factory, *key)
    for x, ids, out in ((0, 0, 0), (4, 8, 4), (1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 1, 3)):
        given = partial(arguments, partial(memory, x), partial(memory, ids, "int64"), partial(memory, out))
        for _ in range(3):
            primitive.Launch(stream, *given())
        args, first = given(), new(factory, *key)
        queued.clear()
        assert in_python(lambda: first.Launch(stream, *args))  # noqa: B023
        wanted = [*queued]
        queued.clear()
        assert not in_python(lambda: primitive.Launch(stream, *args))  # noqa: B023
        assert len(differences(queued, wanted)) <= (name in IN_STAGES)
        assert wanted


@pytest.fixture
def relu(memory, stream):
    """A launch of relu that compiled code does: (stream, src, dst)."""
    primitive = new(p.ElementwiseUnaryFactory, UnaryOp.kRelu, "float32", "float32")

    def launch(src, dst, on=stream):
        primitive.Launch(on, src, dst, N)

    for _ in range(3):
        launch(memory(), memory())
    return launch


def test_arguments_that_are_refused(relu, memory, cuda, stream):
    src, dst = memory(count=N), memory(count=N)
    relu(src, dst)
    for bad, error, words in (
        (memory(count=N - 1), ValueError, "has 95 elements"),
        (memory(dtype="float64"), TypeError, "has dtype float64"),
        (np.zeros(N, np.float32), TypeError, "host memory"),
        (None, TypeError, "NoneType"),
    ):
        with pytest.raises(error, match=words):
            relu(bad, dst)
        with pytest.raises(error, match=words):
            relu(src, bad)
    whole = memory(count=N + 1)
    with pytest.raises(ValueError, match="overlap"):
        relu(whole[1:], whole[:N])
    relu(whole[1:], whole[1:])
    cuda.Free(AllocationOptions(), dst)
    with pytest.raises(ValueError, match="was freed"):
        relu(src, dst)
    with pytest.raises(TypeError, match="stream"):
        relu(src, src, on=None)


def test_in_place_launches_do_not_allow_overlaps(memory, stream):
    primitive = new(p.ElementwiseUnaryFactory, UnaryOp.kRelu, "float32", "float32")
    whole = memory()
    for _ in range(3):
        primitive.Launch(stream, whole[4:], whole[4:], N)
    primitive.Launch(stream, whole[8:], whole[8:], N)
    primitive.Launch(stream, whole[8:], memory(), N)
    with pytest.raises(ValueError, match="overlap"):
        primitive.Launch(stream, whole[8:], whole[4:], N)


def test_arguments_of_other_types_are_other_calls(memory, stream):
    primitive = new(p.ElementwiseUnaryFactory, UnaryOp.kRelu, "float32", "float32")
    src, dst = memory(), memory()
    for _ in range(3):
        primitive.Launch(stream, src, dst, 1)
    for count in (1.0, "1", (1,)):
        with pytest.raises((TypeError, ValueError), match="count"):
            primitive.Launch(stream, src, dst, count)
    for count in (True, np.int64(1)):
        primitive.Launch(stream, src, dst, count)
    pad = new(p.ConstantPadFactory, "float32")
    for number in (0.0, 0.0, 0.0, -0.0):
        pad.Launch(stream, (2,), src, (1,), (1,), number, dst)
    assert np.signbit(dst.copy_to_host(stream)[0])


def test_calls_by_name(memory, stream):
    primitive = new(p.ElementwiseUnaryFactory, UnaryOp.kRelu, "float32", "float32")
    values = np.arange(-5, N - 5, dtype=np.float32)
    src, dst = memory(count=N), memory(count=N)
    src.copy_from_host(values, stream)
    for _ in range(3):
        primitive.Launch(stream, count=N, dst=dst, src=src)
    other = memory(count=N)
    primitive.Launch(stream, count=N, dst=other, src=src)
    np.testing.assert_array_equal(other.copy_to_host(stream), values.clip(0))


def test_a_stream_that_was_destroyed(relu, memory, cuda):
    src, dst = memory(), memory()
    gone = cuda.CreateStream()
    for _ in range(3):
        relu(src, dst, on=gone)
    cuda.DestroyStream(gone)
    with pytest.raises(RuntimeError, match="INVALID_HANDLE"):
        relu(src, dst, on=gone)


def test_scratch_memory(memory, cuda, stream):
    """Several launches share it, it grows, it goes back to the device, and graphs have their own."""
    primitive = new(p.ReduceFactory, ReduceOp.kSum, "float32", 2)
    count = 2**15
    values = np.arange(count, dtype=np.float32) % 7
    src, dst = memory(count=count), memory(count=1)
    src.copy_from_host(values, stream)

    def total(on=stream):
        dst.copy_from_host(np.zeros(1, np.float32), on)
        primitive.Launch(on, (1, count), src, (1,), dst)
        return dst.copy_to_host(on)[0]

    assert [total() for _ in range(3)] == [values.sum()] * 3
    cuda.Reset()
    assert total() == values.sum()
    with stream.kept_scratch(1) as address:
        assert address
        assert total() == values.sum()


def test_scratch_memory_is_of_one_launch_at_a_time(stream):
    """Of threads that ask at once, one has the memory; a compiled launch that uses it keeps it from all."""
    with stream.kept_scratch(1):
        pass
    together, release, had = threading.Barrier(9), threading.Barrier(9), []

    def use():
        together.wait()
        with stream.kept_scratch(1) as address:
            had.append(address)
            release.wait()

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    together.wait()
    release.wait()
    for thread in threads:
        thread.join()
    assert sum(address is not None for address in had) == 1
    stream._state[StreamState.scratch_in_use] = 1
    with stream.kept_scratch(1) as address:
        assert address is None
    stream.drop_scratch()
    stream._state[StreamState.scratch_in_use] = 0
    with stream.kept_scratch(1) as address:
        assert address == next(one for one in had if one)


@pytest.mark.parametrize("more", [1, 40])
def test_arguments_that_launch_does_not_have(more, memory, stream):
    primitive = new(p.ElementwiseUnaryFactory, UnaryOp.kRelu, "float32", "float32")
    src, dst = memory(), memory()
    for _ in range(3):
        primitive.Launch(stream, src, dst, N)
    with pytest.raises(TypeError, match=f"takes 5 positional arguments but {5 + more} were given"):
        primitive.Launch(stream, src, dst, N, *range(more))


def test_threads_launch_at_once(memory, stream):
    primitive = new(p.UnsortedSegmentSumFactory, "float32", "int64")
    failed = []

    def launch(seed):
        rng = np.random.default_rng(seed)
        ids, data = rng.integers(0, 8, 5), rng.integers(-9, 9, (5, 12)).astype(np.float32)
        mine = memory(dtype="int64", count=5), memory(count=60), memory(count=96)
        want = np.zeros((8, 12), np.float32)
        np.add.at(want, ids, data)
        mine[0].copy_from_host(ids, stream)
        mine[1].copy_from_host(data.reshape(-1), stream)
        for _ in range(10):
            primitive.Launch(stream, 1, 8, 12, mine[1], 5, mine[0], mine[2])
            if not np.array_equal(mine[2].copy_to_host(stream), want.reshape(-1)):
                failed.append(seed)

    run_together(launch, [(seed,) for seed in range(4)])
    assert not failed


def test_a_captured_launch_has_memory_of_its_graph(memory, stream):
    if not driver().loads_ptx:
        pytest.skip("the graph of a GPU is not seen")
    primitive = new(p.ReduceFactory, ReduceOp.kSum, "float32", 2)
    count = 2**15
    src, dst = memory(count=count), memory(count=1)
    src.copy_from_host(np.ones(count, np.float32), stream)
    for _ in range(3):
        primitive.Launch(stream, (1, count), src, (1,), dst)
    graph = Graph(stream, lambda: primitive.Launch(stream, (1, count), src, (1,), dst))
    assert driver().graphs.made[graph.number].memory
    dst.copy_from_host(np.zeros(1, np.float32), stream)
    graph.launch()
    assert dst.copy_to_host(stream)[0] == count
    graph.destroy()


def test_kernels_that_fail(relu, memory, monkeypatch):
    """Launch in Python does the launch again, and raises the error."""
    if not hasattr(driver(), "programs"):
        pytest.skip("a kernel of a GPU fails later")

    def fail(*kernel):
        raise RuntimeError("the kernel failed")

    src, dst = memory(), memory()
    relu(src, dst)
    monkeypatch.setattr(driver(), "_run", fail)
    with pytest.raises(RuntimeError, match="the kernel failed"):
        relu(src, dst)
    monkeypatch.undo()
    relu(src, dst)
