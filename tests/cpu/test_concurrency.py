"""Launches from many threads at once, in forked children, with few and many threads, on every threading layer."""

import numpy as np
import pytest

from ep.cpu.kernels.threading_layer import find_tbb
from tests.subprocesses import run

PRELUDE = """
import sys, threading
import numpy as np
from ep import BinaryOp, DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.include.primitive import BroadcastBinaryFactory, ElementwiseUnaryFactory, GatherFactory

device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU)
stream = device.CreateStream()
relu = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp.kRelu, "float32", "float32")
add = RequirePrimitive(BroadcastBinaryFactory, DeviceType.kCPU, BinaryOp.kAdd, "float32", "float32", 2)
gather = RequirePrimitive(GatherFactory, DeviceType.kCPU, "float32", "int64")

def work(seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((257, 1021), np.float32)
    y, z, g = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    rows = rng.integers(0, 257, 257)
    for _ in range(8):
        relu.Launch(stream, x, y, x.size)
        add.Launch(stream, x.shape, y, x.shape[1:], x[3], z)
        gather.Launch(stream, 1, 257, 1021, z, 257, rows, g)
        expected = np.maximum(x, 0) + x[3]
        assert (g == expected[rows]).all()
"""

THREADS = """
errors = []
def guarded(seed):
    try:
        work(seed)
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=guarded, args=(seed,)) for seed in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not errors, errors
"""

LAYER = """
import numba
print(numba.threading_layer())
"""


def test_first_launches_from_many_threads_at_once():
    """Nothing has been compiled or loaded when the threads begin."""
    run(PRELUDE + THREADS)


@pytest.mark.skipif(find_tbb() is None, reason="there is no tbb wheel for this platform")
def test_tbb_serves_threads_and_forked_children():
    """Launch, fork, and launch in the child while the parent goes on: with tbb neither hangs nor dies."""
    fork = """
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads, which is what is tested
work(0)
children = []
for seed in range(3):
    child = os.fork()
    if child == 0:
        try:
            work(seed)
        except BaseException:
            os._exit(1)
        os._exit(0)
    children.append(child)
work(9)
assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
"""
    assert run(PRELUDE + fork + THREADS + LAYER).strip() == "tbb"


@pytest.mark.parametrize("layer", ["tbb", "omp", "workqueue"] if find_tbb() else ["omp", "workqueue"])
def test_a_layer_that_the_user_asks_for_is_used_from_many_threads(layer):
    """workqueue aborts when it is entered twice: launches take turns there."""
    assert run(PRELUDE + THREADS + LAYER, NUMBA_THREADING_LAYER=layer).strip() == layer


@pytest.mark.parametrize("num_threads", [1, 2, 7])
def test_any_number_of_threads(num_threads):
    run(PRELUDE + "work(0)", EP_CPU_NUM_THREADS=str(num_threads))


def test_other_threads_run_during_a_large_launch():
    """A launch of more than one grain releases the GIL."""
    code = """
import time
x = np.ones(1 << 27, np.float32)
y = np.zeros_like(x)
relu.Launch(stream, x[:1], y, 1)
seen = []
def watch():
    while not done:
        seen.append(time.perf_counter())
        time.sleep(0.0005)
done = False
thread = threading.Thread(target=watch)
thread.start()
begin = time.perf_counter()
for _ in range(5):
    relu.Launch(stream, x, y, x.size)
end = time.perf_counter()
done = True
thread.join()
during = [moment for moment in seen if begin < moment < end]
assert len(during) > 5, (len(during), end - begin)
"""
    run(PRELUDE + code, EP_CPU_NUM_THREADS="1")


def test_disabled_compilation_is_an_error():
    message = run(PRELUDE + "work(0)", NUMBA_DISABLE_JIT="1", fails=True)
    assert "NUMBA_DISABLE_JIT is set" in message


def test_results_do_not_depend_on_the_number_of_threads(rng):
    """The same bits for an element wherever it lies, with any split into chunks."""
    from ep import DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
    from ep.include.primitive import ElementwiseUnaryFactory

    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU)
    stream = device.CreateStream()
    tanh = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp.kTanh, "float32", "float32")
    x = rng.standard_normal(131_101).astype(np.float32)
    before, results = device.GetNumThreads(), []
    try:
        for num_threads in (1, 2, 3):
            device.SetNumThreads(num_threads)
            results.append(np.empty_like(x))
            tanh.Launch(stream, x, results[-1], x.size)
        one_by_one = np.empty(257, np.float32)
        for i in range(257):
            tanh.Launch(stream, x[i:], one_by_one[i:], 1)
    finally:
        device.SetNumThreads(before)
    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()
    assert results[0][:257].tobytes() == one_by_one.tobytes()
