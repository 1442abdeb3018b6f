"""Kernels that processes help to compile: what is computed, whatever happens to these processes."""

import os
import signal
import sys

import pytest

from ep.cpu.compile.helpers import Helpers
from ep.cpu.compile.libraries import _machine
from ep.cpu.compile.llvm import INTERLEAVED, Job, machine_code
from tests.subprocesses import run

PROGRAM = """
import contextlib, os, signal, subprocess, sys, threading, time
import numpy as np
import ep
from ep import ops
from ep.cpu.compile.compiler import statistics

started, OPS = [], [ops.exp, ops.log1p, ops.tanh, ops.sqrt, ops.sigmoid, ops.silu, ops.sin, ops.cos, ops.atan]
sys.addaudithook(lambda event, args: started.append(args[1]) if event == "subprocess.Popen" else None)

def compute(first, count=4):
    # as many kernels that no other call has
    one = OPS[first]

    @ep.fuse
    def several(*arrays):
        return tuple(other(one(x)) for other, x in zip(OPS, arrays))

    arrays = [np.linspace(0.1, 0.9, 3 + 2 * n, dtype=np.float32) for n in range(count)]
    with np.errstate(all="raise"):
        results = several(*arrays)
    return [result.tobytes() for result in results]

def expected(first, count=4):
    arrays = [np.linspace(0.1, 0.9, 3 + 2 * n, dtype=np.float32) for n in range(count)]
    return [np.asarray(other(OPS[first](x))).tobytes() for other, x in zip(OPS, arrays)]

def check(first, starts):
    del started[:]
    before = statistics.compiled
    assert compute(first) == expected(first), first
    assert statistics.compiled - before >= 4, "the kernels were there"
    assert (len(started) > 0) == starts, started

def children():
    found = []
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/children") as file:  # it may end meanwhile
            found += file.read().split()
    return found
"""

TEXT = """
define i64 @sum(ptr %p, i64 %n) {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi i64 [ 0, %entry ], [ %t, %loop ]
  %q = getelementptr i64, ptr %p, i64 %k
  %x = load i64, ptr %q
  %t = add i64 %s, %x
  %next = add i64 %k, 1
  %c = icmp slt i64 %next, %n
  br i1 %c, label %loop, label %done
done:
  ret i64 %t
}
"""
JOB = Job(_machine(), [TEXT], [], [], INTERLEAVED, False, False)
WRONG = JOB._replace(modules=["define nothing"])

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc of Linux")


@pytest.fixture
def helpers():
    made = Helpers(2)
    yield made
    made.end()


def test_machine_code_is_the_same(helpers):
    codes = [helpers.submit(JOB) for _ in range(3)]
    assert {code.result(100) for code in codes} == {machine_code(JOB)}


def test_a_job_that_fails_is_left_to_the_process(helpers):
    assert helpers.submit(WRONG).result(100) is None
    assert helpers.submit(JOB).result(100) == machine_code(JOB)
    with pytest.raises(RuntimeError):
        machine_code(WRONG)


def test_a_killed_process_is_started_again(helpers):
    assert helpers.submit(JOB).result(100)
    for process in helpers._processes:
        process.kill()
        process.wait()
    codes = [helpers.submit(JOB) for _ in range(4)]
    assert [code.result(100) for code in codes].count(None) <= 2
    assert helpers.submit(JOB).result(100) == machine_code(JOB)


def test_no_process_is_left_at_the_end():
    made = Helpers(2)
    codes = [made.submit(JOB) for _ in range(40)]
    codes[0].result(100)
    made.end()
    assert all(process.poll() is not None for process in made._processes)
    assert {code.result(0) for code in codes} <= {None, machine_code(JOB)}


def test_results_and_kernels_are_those_without_processes(kernels, tmp_path):
    """Two processes with caches of their own, one of which has help."""
    for number in (0, 2):
        print_all = f"{PROGRAM}\ncheck(0, {number > 0})\nprint(compute(0))"
        (tmp_path / str(number)).write_text(run(print_all, EP_CACHE_DIR=str(kernels), EP_COMPILE_PROCESSES=str(number)))
        for file in kernels.rglob("expression.*"):
            file.unlink()
    assert (tmp_path / "0").read_text() == (tmp_path / "2").read_text()


def test_few_kernels_start_no_process(kernels):
    code = (
        PROGRAM + "check(0, True)\ndel started[:]\nassert compute(1, 2) == expected(1, 2)\nassert not started, started"
    )
    run(code, EP_CACHE_DIR=str(kernels), EP_COMPILE_PROCESSES="2")


WHERE_NONE_HELPS = """
import ep.cpu.compile.ahead as ahead

python = sys.executable
ahead._PATIENCE = 0.3
for number, executable in enumerate(["/nowhere/python3", "/bin/false", "", None, *sys.argv[1:]]):
    sys.executable = executable
    check(number, os.path.basename(executable or "").startswith("python"))
    assert not children()
sys.executable, sys.frozen = python, True
check(7, False)
"""


@needs_linux
def test_programs_that_are_no_python_do_not_help(kernels, tmp_path):
    """Among them two that call themselves so: one ends at once, and one answers nothing."""
    for name, text in (("python-ends", "exit 3"), ("python-waits", "exec sleep 1000"), ("python-talks", "echo answer")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    paths = [str(tmp_path / name) for name in ("python-ends", "python-waits", "python-talks")]
    code = f"{PROGRAM}\nsys.argv[1:] = {paths}\n{WHERE_NONE_HELPS}"
    run(code, EP_CACHE_DIR=str(kernels), EP_COMPILE_PROCESSES="1")


DISTURBED = """
def disturb(work):
    # `work` disturbs the compilation when it has begun
    def disturbing():
        while not children():
            time.sleep(0.001)
        work()
    thread = threading.Thread(target=disturbing)
    thread.start()
    return thread

def kill():
    for child in children():
        os.kill(int(child), signal.SIGKILL)

thread = disturb(kill)
check(0, True)
thread.join()

thread = disturb(lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    compute(1)
except KeyboardInterrupt:
    assert not children()
else:
    raise SystemExit("nothing was interrupted")
thread.join()
check(1, True)

def fork():
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if compute(2) == expected(2) else 3)
        finally:
            os._exit(4)
    codes.append(os.waitpid(child, 0)[1])

codes, thread = [], disturb(fork)
assert compute(2) == expected(2)
thread.join()
assert codes == [0], codes

def fork_in_handler(*args):
    global child
    child = os.fork()

signal.signal(signal.SIGUSR1, fork_in_handler)
child, thread = -1, disturb(lambda: os.kill(os.getpid(), signal.SIGUSR1))
results = compute(3)
if child == 0:
    os._exit(0 if results == expected(3) else 3)
thread.join()
assert results == expected(3) and os.waitpid(child, 0)[1] == 0
"""


@needs_linux
def test_what_disturbs_a_compilation(kernels):
    """A killed process, Ctrl-C, and forks in another thread and in the handler of a signal."""
    run(PROGRAM + DISTURBED, EP_CACHE_DIR=str(kernels), EP_COMPILE_PROCESSES="2")


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("no folder")
    run(PROGRAM + "\ncheck(0, True)", EP_CACHE_DIR=str(tmp_path / "file" / "cache"), EP_COMPILE_PROCESSES="2")


PARENT = """
import os, signal, sys, time
from ep.cpu.compile.helpers import Helpers
from tests.cpu.test_compile_ahead import JOB

helpers = Helpers(1)
assert helpers.submit(JOB).result(100)
(process,) = helpers._processes
if os.fork() == 0:
    time.sleep(60)  # it has the pipe open for longer
    os._exit(0)
print(process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@needs_linux
def test_processes_end_with_their_parent(tmp_path):
    import subprocess
    import time

    from tests.subprocesses import command, environment_of

    with subprocess.Popen(
        command(PARENT), env=environment_of((), {}), stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as parent:
        helper = int(parent.stdout.readline())
        assert parent.wait() == -signal.SIGKILL
        try:
            for _ in range(300):
                if not os.path.exists(f"/proc/{helper}") or _is_zombie(helper):
                    break
                time.sleep(0.1)
            else:
                pytest.fail("it has not ended")
        finally:
            os.killpg(parent.pid, signal.SIGKILL)


def _is_zombie(process):
    with open(f"/proc/{process}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "Z"
