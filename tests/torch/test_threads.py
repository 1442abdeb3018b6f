"""Launches between calculations of PyTorch's, whose threads may do them: any number of threads, in any process."""

import os
import sys
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")

import ep.ops  # noqa: E402
from ep import DeviceManagerRegistry, DeviceType  # noqa: E402
from tests.subprocesses import run  # noqa: E402

ROWS, COLUMNS, ROUNDS = 509, 521, 12


@pytest.fixture
def threads():
    """Set the threads of ep's launches and of PyTorch's calculations; afterwards there are as many as before."""
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU)
    before = device.GetNumThreads(), torch.get_num_threads()

    def set_threads(ours, theirs):
        device.SetNumThreads(ours)
        torch.set_num_threads(theirs)

    yield set_threads
    set_threads(*before)


def alternate(seed):
    """Compute by turns with ep and PyTorch, and compare with NumPy."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-9, 9, (ROWS, COLUMNS)).astype(np.float32)
    rows, scale = rng.integers(0, ROWS, ROWS), ep.fuse(lambda x, y: ep.ops.relu(x) * 2 + y)
    for number in range(ROUNDS):
        t = torch.from_numpy(x + number)
        doubled = torch.add(t, t).numpy()
        gathered = ep.ops.gather(doubled, rows)
        turned = torch.clamp_min(torch.from_numpy(gathered), 0).t().contiguous().numpy()
        total = ep.ops.sum(turned, axis=0)
        product = torch.matmul(t, t.t()).numpy()
        found = scale(gathered, np.broadcast_to(total[:, None], gathered.shape))
        expected = (2 * (x + number))[rows]
        np.testing.assert_array_equal(total, np.maximum(expected, 0).sum(1), f"seed {seed}, round {number}")
        np.testing.assert_array_equal(found, np.maximum(expected, 0) * 2 + total[:, None], f"seed {seed}")
        np.testing.assert_array_equal(product, (x + number) @ (x + number).T, f"seed {seed}, round {number}")


@pytest.mark.parametrize("theirs", [1, 2, 3])
@pytest.mark.parametrize("ours", [1, 2, 3])
def test_launches_between_calculations(threads, ours, theirs):
    threads(ours, theirs)
    alternate(3)


def test_numbers_of_threads_that_change(threads):
    for ours, theirs in ((2, 3), (3, 3), (2, 2), (3, 1), (1, 2), (2, 4)):
        threads(ours, theirs)
        alternate(5)


def test_several_threads_alternate(threads):
    threads(2, 2)
    errors = []

    def guarded(seed):
        try:
            alternate(seed)
        except BaseException as error:
            errors.append(error)

    others = [threading.Thread(target=guarded, args=(seed,)) for seed in range(3)]
    for thread in others:
        thread.start()
    guarded(3)
    for thread in others:
        thread.join()
    assert not errors, errors


PRELUDE = """
import os, sys, warnings
import numpy as np
import ep, ep.ops

x = np.arange(-300_000, 300_000).astype(np.float32)
expected = np.maximum(x, 0)

def launch():
    for _ in range(20):
        assert (ep.ops.relu(x) == expected).all()
"""
ALTERNATE = """
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch
t = torch.from_numpy(x)
def alternate():
    for _ in range(100):
        assert (ep.ops.relu(torch.add(t, 0).numpy()) == expected).all()
"""
FORK = """
import signal
def in_child(work):
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(200)  # ends a child that waits for ever
        work()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")


def test_pytorch_is_imported_after_the_first_launch():
    run(f"{PRELUDE}launch(){ALTERNATE}alternate(); launch(); alternate()", EP_CPU_NUM_THREADS="2")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the threads of a process")
def test_a_thread_without_pytorch_gets_none_of_its_threads():
    run(f"""{PRELUDE}{ALTERNATE}
import threading
launch()
alternate()
before = len(os.listdir("/proc/self/task"))
many = [threading.Thread(target=launch) for _ in range(9)]
[thread.start() for thread in many]
[thread.join() for thread in many]
alternate()
assert len(os.listdir("/proc/self/task")) <= before
ready = threading.Barrier(10)
def launch_and_wait():
    launch()
    ready.wait()
    ready.wait()
many = [threading.Thread(target=launch_and_wait) for _ in range(9)]
[thread.start() for thread in many]
ready.wait()
assert len(os.listdir("/proc/self/task")) <= before + 9
ready.wait()
""", EP_CPU_NUM_THREADS="2")  # fmt: skip


@needs_fork
def test_forked_children_launch():
    """Also between calculations of PyTorch's on several threads, which would wait for ever without the package."""
    run(f"""{PRELUDE}{ALTERNATE}{FORK}
import threading
torch.add(t, 0)
in_child(launch)  # the pool starts there
in_child(alternate)
alternate()
in_child(launch)
in_child(alternate)
in_child(lambda: (alternate(), in_child(alternate), alternate()))
in_child(lambda: (launch(), torch.set_num_threads(1), alternate()))
thread = threading.Thread(target=lambda: (alternate(), in_child(alternate), alternate()))
thread.start()
alternate()
thread.join()
""", EP_CPU_NUM_THREADS="2")  # fmt: skip


@needs_fork
def test_a_child_that_was_forked_before_the_package_was_imported():
    """It has none of the threads of PyTorch's, which uses several there in other threads than the main one."""
    alternate = ALTERNATE.replace("torch.from_numpy(x)", "torch.arange(-300_000.0, 300_000.0)")
    run(f"""
import os, warnings{alternate}{FORK}
import threading
torch.add(t, 0)
def work():
    exec({PRELUDE!r}, globals())
    launch()
    thread = threading.Thread(target=alternate)
    thread.start()
    thread.join()
    torch.set_num_threads(1)
    alternate()
    in_child(launch)
    in_child(alternate)
in_child(work)
""", EP_CPU_NUM_THREADS="2")  # fmt: skip


@needs_fork
def test_interrupts_of_launches_and_forks():
    run(f"""{PRELUDE}{ALTERNATE}{FORK}
import threading
class Interrupt(Exception):
    pass
def interrupt(number, frame):
    raise Interrupt
launch()
alternate()
signal.signal(signal.SIGALRM, interrupt)
end, errors = threading.Event(), []
def beside():
    try:
        while not end.is_set():
            alternate()
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=beside) for _ in range(2)]
[thread.start() for thread in threads]
interrupts, children = 0, []
for number in range(40):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.003 + 0.0007 * number)
        alternate()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Interrupt:
        interrupts += 1
    if number % 8 == 0:
        in_child(alternate)
end.set()
[thread.join() for thread in threads]
assert not errors, errors
assert interrupts > 0
alternate()
""", EP_CPU_NUM_THREADS="2")  # fmt: skip


@needs_fork
def test_workers_that_load_data_launch():
    run(f"""{PRELUDE}{ALTERNATE}
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, item):
        launch()
        return ep.ops.relu(x)[300_000 + item :][:1]
alternate()
loader = torch.utils.data.DataLoader(Data(), num_workers=2, multiprocessing_context="fork")
assert sorted(int(one) for batch in loader for one in batch.flatten()) == [0, 1, 2, 3]
alternate()
""", EP_CPU_NUM_THREADS="2")  # fmt: skip
