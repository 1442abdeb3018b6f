"""Signals, forks and small stacks, during slow providers and slow work."""

import copy
import os
import pickle
import re
import subprocess
from pathlib import Path

import pytest

import ep
from ep.include.process import ProcessBound, Rank, exclusively, new_lock
from tests.include.test_entry_point import FOO, install
from tests.stacks import LEAST
from tests.subprocesses import command, environment_of, run

SLOW_PROVIDER = FOO.replace("class FooGather(", "import time; time.sleep(0.4)\nclass FooGather(")

PRELUDE = """
import os, signal, threading, time
import ep
from ep.include.process import exclusively
calls, done = [], []
def note(number, frame):
    calls.append((number, list(done), frame))
def work(number):
    signal.raise_signal(number)  # it has arrived when this returns
    time.sleep(0.01)
    done.append(True)
    return 7
"""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")


def test_no_lock_is_made_elsewhere():
    root = Path(ep.__file__).parent
    made = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if re.search(r"\b(Lock|RLock|Condition|Semaphore|cached_property)\(|import cached_property", path.read_text())
    }
    assert made == {"include/process/locks.py"}


def test_an_interrupt_waits_for_the_end():
    run(
        PRELUDE
        + """
try:
    exclusively(lambda: work(signal.SIGINT))
except KeyboardInterrupt:
    assert done == [True]
else:
    raise AssertionError
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
assert exclusively(lambda: 5) == 5
"""
    )


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGALRM", "SIGUSR1"])
def test_a_handler_of_any_signal_is_called_once_at_the_end(name):
    run(
        PRELUDE
        + f"""
signal.signal(signal.{name}, note)
assert exclusively(lambda: work(signal.{name})) == 7
(call,) = calls
assert call[:2] == (signal.{name}, [True]) and call[2] is not None
assert signal.getsignal(signal.{name}) is note
"""
    )


def test_what_the_system_handles_is_left_alone():
    run(
        PRELUDE
        + """
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
seen = []
exclusively(lambda: seen.extend(map(signal.getsignal, (signal.SIGUSR1, signal.SIGTERM))))
assert seen == [signal.SIG_IGN, signal.SIG_DFL], seen
"""
    )


def test_each_of_several_signals_is_called():
    run(
        PRELUDE
        + """
signal.signal(signal.SIGUSR1, note)
def several():
    for number in (signal.SIGUSR1, signal.SIGINT, signal.SIGUSR1):
        signal.raise_signal(number)
    done.append(True)
try:
    exclusively(several)
except KeyboardInterrupt:
    pass
else:
    raise AssertionError
assert [call[:2] for call in calls] == [(signal.SIGUSR1, [True])] * 2, calls
"""
    )


def test_a_handler_that_is_set_meanwhile_stays():
    run(
        PRELUDE
        + """
exclusively(lambda: signal.signal(signal.SIGUSR1, note))
exclusively(lambda: signal.signal(signal.SIGINT, note))
assert signal.getsignal(signal.SIGUSR1) is signal.getsignal(signal.SIGINT) is note
"""
    )


def test_the_error_of_the_work_and_that_of_the_handler():
    run(
        PRELUDE
        + """
def fail():
    signal.raise_signal(signal.SIGINT)
    raise ValueError("of the work")
try:
    exclusively(fail)
except KeyboardInterrupt as error:
    assert str(error.__context__) == "of the work"
else:
    raise AssertionError
"""
    )


def test_a_storm_of_interrupts():
    """Interrupt `exclusively` at any step: each interrupt raises, none is lost, and no lock stays held."""
    run(
        PRELUDE
        + """
import itertools
stop = False
raised = arrived = 0
def attempt():
    exclusively(once)
def raising(number, frame):
    # only inside of attempt: the loop around it cannot catch what arrives between one try and the next
    global arrived
    arrived += 1
    while frame is not None:
        if frame.f_code is attempt.__code__:
            raise KeyboardInterrupt
        frame = frame.f_back
signal.signal(signal.SIGINT, raising)
def storm():
    for turn in itertools.count():
        if stop:
            return
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.0002 * (turn % 3))
begun = finished = 0
def once():
    global begun, finished
    begun += 1
    for _ in range(50):
        pass
    finished += 1
thread = threading.Thread(target=storm)
thread.start()
while finished < 3000 or raised < 300:
    try:
        attempt()
    except KeyboardInterrupt:
        raised += 1
stop = True
thread.join()
exclusively(lambda: None)
assert begun == finished, (begun, finished)  # nothing is cut off in the middle
assert raised <= arrived, (raised, arrived)
assert signal.getsignal(signal.SIGINT) is raising
"""
    )


def test_other_threads_are_as_before():
    run(
        PRELUDE
        + """
inside, over = threading.Event(), threading.Event()
def wait():
    inside.set()
    over.wait()
thread = threading.Thread(target=exclusively, args=(wait,))
thread.start()
inside.wait()
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    pass
else:
    raise AssertionError
over.set()
thread.join()
"""
    )


def test_an_interrupted_import_of_a_provider(tmp_path):
    interrupted = "import signal; signal.raise_signal(signal.SIGINT)\nclass FooGather("
    install(tmp_path, "foo_device", FOO.replace("class FooGather(", interrupted), "foo")
    run(
        PRELUDE
        + """
try:
    ep.DeviceType.kFoo
except KeyboardInterrupt:
    pass
else:
    raise AssertionError
from ep.include.primitive import GatherFactory
assert ep.NewPrimitive(GatherFactory, ep.DeviceType.kFoo, "float32", "int32")
""",
        str(tmp_path),
    )


@needs_fork
def test_forks_while_a_provider_loads(tmp_path):
    install(tmp_path, "foo_device", SLOW_PROVIDER, "foo")
    run(
        PRELUDE
        + """
from ep.include.primitive import GatherFactory
def ask():
    assert ep.NewPrimitive(GatherFactory, ep.DeviceType.kFoo, "float32", "int32")
loading = threading.Thread(target=ask)
loading.start()
children = []
for _ in range(12):
    time.sleep(0.03)
    child = os.fork()
    if child == 0:
        signal.alarm(900)  # ends a child that waits for ever
        try:
            ask()
        except BaseException:
            os._exit(1)
        os._exit(0)
    children.append(child)
loading.join()
assert [os.waitpid(child, 0)[1] for child in children] == [0] * 12
""",
        str(tmp_path),
    )


@needs_fork
def test_forks_while_locks_of_every_rank_are_held():
    run(
        PRELUDE
        + """
from ep.include.process import Rank, new_lock
locks = [new_lock(rank) for rank in Rank if rank is not Rank.SECTION for _ in range(2)]
stop = False
def take(lock):
    while not stop:
        with lock:
            time.sleep(0.002)
        time.sleep(0.01)
def nest():
    while not stop:
        def inside():
            for outer, inner in zip(locks[::2], locks[3::2]):
                with outer, inner:
                    time.sleep(0.0005)
        exclusively(inside)
        time.sleep(0.01)
threads = [threading.Thread(target=take, args=(lock,)) for lock in locks] + [threading.Thread(target=nest)]
[thread.start() for thread in threads]
for _ in range(6):
    child = os.fork()
    if child == 0:
        signal.alarm(900)  # ends a child that waits for ever
        for lock in locks:
            with lock:
                pass
        os._exit(exclusively(lambda: 0))
    assert os.waitpid(child, 0)[1] == 0
stop = True
[thread.join() for thread in threads]
"""
    )


@needs_fork
def test_a_fork_while_work_logs():
    """A fork also takes the lock of logging, after the locks that a thread may hold while it logs."""
    run(
        PRELUDE
        + """
import logging
inside = threading.Event()
def log():
    inside.set()
    time.sleep(0.3)
    logging.getLogger("ep").setLevel(logging.INFO)  # takes the lock
thread = threading.Thread(target=exclusively, args=(log,))
thread.start()
inside.wait()
signal.alarm(900)
child = os.fork()
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
thread.join()
"""
    )


@needs_fork
def test_a_fork_inside():
    """The thread that is inside `exclusively` forks, as a provider may do in its import."""
    run(
        PRELUDE
        + """
def fork():
    child = os.fork()
    if child == 0:
        signal.alarm(900)
        exclusively(lambda: None)
        os._exit(0)
    return os.waitpid(child, 0)[1]
assert exclusively(fork) == 0
child = os.fork()
if child == 0:
    os._exit(exclusively(lambda: 0))
assert os.waitpid(child, 0)[1] == 0
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""
    )


@needs_fork
@pytest.mark.parametrize(
    "lock",
    [
        "numba.core.compiler_lock import global_compiler_lock as lock",
        "llvmlite.binding.ffi import lib; lock = lib._lock",
    ],
)
def test_forks_while_another_library_compiles(lock):
    run(
        PRELUDE
        + f"""
from {lock}
inside = threading.Event()
def hold():
    with lock:
        inside.set()
        time.sleep(0.3)
thread = threading.Thread(target=hold)
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    signal.alarm(900)  # ends a child that waits for ever
    with lock:
        os._exit(0)
assert os.waitpid(child, 0)[1] == 0
thread.join()
"""
    )


def test_locks_go_with_their_objects():
    from ep.include.process import locks

    several = {id(lock): lock for lock in (new_lock(Rank.TABLE) for _ in range(100))}
    made = {id(one): one for one in locks._locks.keyrefs() if id(one()) in several}
    assert len(made) == 100
    del several
    assert made.keys().isdisjoint(map(id, locks._locks.keyrefs()))


def test_a_lock_that_outlives_its_module():
    """At its end, Python clears the globals of a module before objects that others keep, as profilers do."""
    code = """
import site, sys, weakref
from ep.include.process import Rank, locks, new_lock
lock = new_lock(Rank.TABLE)
sys.kept, site.kept = [site, locks], [weakref.getweakrefs(lock), lock]
"""
    done = subprocess.run(command(code), env=environment_of((), {}), capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_work_from_a_thread_with_little_stack():
    """Work that needs more stack runs in another thread: it can return, raise, and call `exclusively` again."""
    run(
        PRELUDE
        + f"LEAST = {LEAST}"
        + """
import contextvars
variable = contextvars.ContextVar("variable")
def deep():
    assert threading.current_thread() is not thread
    return exclusively(lambda: variable.get())
def fail():
    raise KeyError("of the work")
results = []
def little():
    variable.set(3)
    results.append(exclusively(deep))
    try:
        exclusively(fail)
    except KeyError as error:
        results.append(str(error))
threading.stack_size(LEAST)
thread = threading.Thread(target=little)
thread.start()
thread.join()
assert threading.stack_size() == LEAST
assert results == [3, "'of the work'"], results
"""
    )


class Bound(ProcessBound):
    def __repr__(self):
        return "<the only one>"


@pytest.mark.parametrize("attempt", [copy.copy, copy.deepcopy, pickle.dumps, lambda bound: copy.deepcopy([bound])])
def test_what_is_bound_to_its_process(attempt):
    with pytest.raises(TypeError, match="<the only one> can be neither copied nor pickled"):
        attempt(Bound())


def test_exclusively_returns_and_nests():
    assert exclusively(lambda: exclusively(lambda: 3)) == 3
