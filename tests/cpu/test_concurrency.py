"""Launches from many threads at once, in forked children, and with few and many worker threads."""

import os
import signal
import sys
import threading

import numpy as np
import pytest

from ep.cpu.engine.repeat.known_calls import CpuCallFinder
from tests.kernel_folders import OF_MAPS, OF_RELU, remove
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


def test_first_launches_from_many_threads_at_once():
    """No kernel has been compiled or loaded when the threads start."""
    run(PRELUDE + THREADS)


@pytest.mark.ep_long
def test_variants_that_many_threads_need_at_once(kernels):
    """The first launch that needs a kind of row compiles it, while other threads launch."""
    code = """
from ep.include.primitive import ExpandFactory
expand = RequirePrimitive(ExpandFactory, DeviceType.kCPU, "float32", 2)
def work(seed):
    rng = np.random.default_rng(seed)
    for width in rng.permutation([1, 2, 3, 7, 16, 31, 40]):
        x, out = rng.standard_normal((50, width), np.float32), np.empty((90, width), np.float32)
        rows = rng.integers(0, 50, 90)
        gather.Launch(stream, 1, 50, width, x, 90, rows, out)
        assert (out == x[rows]).all()
        out = np.empty((50, width), np.float32)
        expand.Launch(stream, (50, 1), x[:, 0].copy(), (50, int(width)), out)
        assert (out == x[:, :1]).all()
"""
    run(PRELUDE + code + THREADS, EP_CACHE_DIR=str(kernels))


@pytest.mark.parametrize("num_threads", [1, 2, 7])
def test_any_number_of_threads_and_forked_children(run_forked, num_threads):
    """Launch, fork, and launch in the child while the parent goes on; grandchildren too."""
    fork = """
import os
work(0)
children = []
for seed in range(3 if hasattr(os, "fork") else 0):
    child = os.fork()
    if child == 0:
        try:
            grandchild = os.fork()
            work(seed)
            if grandchild == 0:
                os._exit(0)
            assert os.waitpid(grandchild, 0)[1] == 0
            assert threading.active_count() == device.GetNumThreads()
        except BaseException:
            os._exit(1)
        os._exit(0)
    children.append(child)
work(9)
assert not any([os.waitpid(child, 0)[1] for child in children])
"""
    run_forked(PRELUDE + fork + THREADS, EP_CPU_NUM_THREADS=str(num_threads))


def test_a_fork_while_other_threads_launch(run_forked):
    fork = """
import os
work(0)
threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
[thread.start() for thread in threads]
for seed in range(5):
    child = os.fork()
    if child == 0:
        try:
            work(seed)
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
[thread.join() for thread in threads]
work(1)
"""
    if hasattr(os, "fork"):
        run_forked(PRELUDE + fork)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
def test_a_fork_while_another_thread_prepares_kernels(run_forked):
    """The child can prepare and launch, whichever locks are held at the fork."""
    fork = """
import os, signal
names = "kAbs kNegative kSquare kReciprocal kSqrt kSign kCeil kFloor kRint kHardSwish kSoftSign kRelu".split()
def prepare(data_type):
    for name in names:
        RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp[name], data_type, data_type).Prepare()
work(0)
preparing = threading.Thread(target=lambda: (prepare("float32"), prepare("float64")))
preparing.start()
forks = 0
while preparing.is_alive():
    child = os.fork()
    if child == 0:
        signal.alarm(900)  # ends a child that waits for ever
        try:
            prepare("float32" if forks % 2 else "float64")
            work(forks)
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, forks
    forks += 1
preparing.join()
assert forks > 0
"""
    run_forked(PRELUDE + fork)


@pytest.mark.parametrize("num_threads", [2, 3, 16])
def test_more_threads_launch_than_the_pool_has_slots(run_forked, num_threads):
    """Every launch writes each element once, by whichever thread, while the number of threads changes."""
    code = """
square = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp.kSquare, "float32", "float32")
errors = []
def launch(seed):
    try:
        rng = np.random.default_rng(seed)
        for size in rng.integers(1, 1 << 20, 60):
            x = np.full(size, 3, np.float32)
            square.Launch(stream, x, x, size)
            assert (x == 9).all(), (seed, size)
            if seed == 0:
                device.SetNumThreads(int(rng.integers(1, 9)))
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=launch, args=(seed,)) for seed in range(13)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not errors, errors
"""
    run_forked(PRELUDE + code, EP_CPU_NUM_THREADS=str(num_threads))


def test_launches_between_which_the_workers_fall_asleep(run_forked):
    """Pause 0 to 0.3 ms, so that some launches come when a worker looks for work the last time before it sleeps."""
    code = """
import time
square = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCPU, UnaryOp.kSquare, "float32", "float32")
x = np.empty(1 << 18, np.float32)
rng = np.random.default_rng(0)
for pause in rng.uniform(0, 3e-4, 3000):
    x[:: 1 << 10] = 3
    end = time.perf_counter() + pause
    while time.perf_counter() < end:
        pass
    square.Launch(stream, x, x, x.size)
    assert (x[:: 1 << 10] == 9).all()
"""
    run_forked(PRELUDE + code, EP_CPU_NUM_THREADS="4")


def test_the_interpreter_ends_with_workers_at_work():
    """A daemon thread still launches when the interpreter shuts down."""
    code = """
def for_ever():
    x = np.ones(1 << 20, np.float32)
    y = np.empty_like(x)
    while True:
        relu.Launch(stream, x, y, x.size)
threading.Thread(target=for_ever, daemon=True).start()
work(0)
"""
    run(PRELUDE + code)


def test_other_threads_run_during_a_large_launch(run_forked):
    """A launch of more than one grain releases the GIL: another thread acquires it several times during the launch."""
    code = """
import time
x = np.ones(1 << 26, np.float32)
y = np.zeros_like(x)
relu.Launch(stream, x[:1], y, 1)
turns, done = 0, False
def watch():
    global turns
    while not done:
        turns += 1
        time.sleep(0.0005)
thread = threading.Thread(target=watch)
thread.start()
try:
    for _ in range(300):  # a busy machine may not let it run in some of them
        before = turns
        relu.Launch(stream, x, y, x.size)
        if turns - before > 5:
            break
    else:
        raise AssertionError(turns)
finally:
    done = True
    thread.join()
"""
    run_forked(PRELUDE + code, EP_CPU_NUM_THREADS="1")


def test_disabled_compilation_is_an_error():
    message = run(PRELUDE + "work(0)", NUMBA_DISABLE_JIT="1", fails=True)
    assert "NUMBA_DISABLE_JIT is '1'; it must be 0 or not set" in message
    message = run("import numba\nnumba.config.DISABLE_JIT = 1\n" + PRELUDE + "work(0)", fails=True)
    assert "numba.config.DISABLE_JIT is set; it must be 0" in message


def test_results_do_not_depend_on_the_number_of_threads(rng):
    """An element has the same bits at any position and with any split into chunks."""
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


LAUNCH = """
import os, signal, time
def launch():
    x = np.linspace(-1, 1, 1009, dtype=np.float32)
    y = np.empty_like(x)
    relu.Launch(stream, x, y, x.size)
    assert (y == np.maximum(x, 0)).all()
def is_inside(frame):
    # the code around launch cannot catch what arrives between one try and the next
    while frame is not None and frame.f_code is not launch.__code__:
        frame = frame.f_back
    return frame is not None
"""


@pytest.mark.parametrize(("pause", "compiles"), [(0.1, True), (0.001, False)])
def test_interrupts_during_the_first_launch(pause, compiles, kernels):
    """Interrupt a few times, or very often, while Numba is imported and kernels are compiled or loaded."""
    code = f"""
def interrupt(number, frame):
    if is_inside(frame):
        raise KeyboardInterrupt
signal.signal(signal.SIGINT, interrupt)
stop = False
def storm():
    time.sleep(0.05)
    while not stop:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep({pause})
thread = threading.Thread(target=storm, daemon=True)
thread.start()
raised = 0
while raised < 5:
    try:
        launch()
    except KeyboardInterrupt:
        raised += 1
stop = True
thread.join()
launch()
"""
    if compiles:
        remove(kernels, OF_RELU, OF_MAPS)
    run(PRELUDE + LAUNCH + code, EP_CACHE_DIR=str(kernels))


def test_a_time_out_during_the_first_launch(kernels):
    """A signal other than an interrupt raises, like the timeout of a test; the compiled kernels are kept."""
    code = """
class TimeOut(Exception): pass
def late(number, frame):
    assert frame is not None
    if is_inside(frame):
        raise TimeOut
signal.signal(signal.SIGALRM, late)
seconds = 0.1
while not relu._compiled:  # a busy machine may not begin to compile in time
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        launch()
    except TimeOut:
        seconds *= 2
    else:
        raise AssertionError(seconds)
launch()
"""
    if hasattr(signal, "setitimer"):
        remove(kernels, OF_RELU, OF_MAPS)
        run(PRELUDE + LAUNCH + code, EP_CACHE_DIR=str(kernels))


@pytest.mark.parametrize("line", range(7))
def test_known_calls_that_two_threads_add_stay_alive(line):
    """A tracer, as debuggers have, lets another thread add a call between two lines of the first one's."""
    finder, calls = CpuCallFinder(), [(np.array([number]), None) for number in range(2)]
    other, lines = threading.Thread(target=finder.add, args=(calls[1],)), iter(range(line))

    def trace(frame, event, _):
        if frame.f_code is not CpuCallFinder.add.__code__:
            return None
        if event == "line" and next(lines, None) is None and other.ident is None:
            other.start()
            other.join(0.05)
        return trace

    def add():
        sys.settrace(trace)
        finder.add(calls[0])

    first = threading.Thread(target=add)
    first.start()
    first.join()
    other.join()
    known = {*map(id, finder._calls)}
    assert {address for address in finder._recent[1:].tolist() if address} == known == {*map(id, calls)}
