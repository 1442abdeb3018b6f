"""Launches of all kinds in threads with the smallest stack: right results, and the stack that they use."""

import pytest

from tests.cpu.stack_cases import FLOATS
from tests.subprocesses import run

PRELUDE = """
import ep
from ep import DeviceManagerRegistry, DeviceType
from ep.cpu.machine.calibration import everywhere
from tests.cpu.stack_cases import *
from tests.stacks import MOST, check, in_a_small_thread, same, used_by

rng = np.random.default_rng({seed})
"""


def in_process(code, seed, **environment):
    """Run code in a process: an overflow of a stack may end it."""
    print(f"seed {seed}")
    return run(PRELUDE.format(seed=seed) + code, **environment)


@pytest.mark.ep_long
@pytest.mark.parametrize("number", range(len(FLOATS)))
def test_fused_functions(number):
    code = f"""
device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU)
for rows, columns, threads in ((37, 54, 1), (3, 5003, 1), (4001, 6, 3)):
    device.SetNumThreads(threads)
    for name, case in fused_cases(rng, rows, columns, FLOATS[{number} : {number + 1}]).items():
        check(f"{{name}}, {{rows}} rows", case.fused())
"""
    in_process(code, number)


@pytest.mark.ep_long
def test_with_stores_past_the_caches():
    code = """
DeviceManagerRegistry.GetDevice(DeviceType.kCPU).force_calibration(everywhere(1 << 12))
for name, case in fused_cases(rng, 301, 260, FLOATS[2:3]).items():
    check(name, case.fused())
"""
    in_process(code, 4)


def test_primitives():
    code = """
idle = used_by(lambda: None)
for _ in range(3):
    for name, launch in launches_of_all(rng):
        in_a_small_thread(launch)
        used = used_by(launch)
        assert used - idle <= MOST, f"{name} used {used} bytes of stack; a thread that computes nothing, {idle}"
"""
    in_process(code, 5, EP_CPU_NUM_THREADS="2")


def test_what_python_does_between_launches():
    """Indices are checked in Python, and handlers of signals called, between the launches of a list."""
    code = """
import signal, threading
table, w, ids = rng.normal(size=(50, 8)), rng.normal(size=(8, 8)), np.arange(30) * 7 % 50
chosen = ep.fuse(lambda table, w, ids: ops.softmax(ops.gather(table, ids, 0, 0, "raise") @ w + 1.0))
check("checked indices", lambda: chosen(table, w, ids))

def refused():
    try:
        chosen(table, w, ids + 50)
    except IndexError:
        return
    raise AssertionError("an index behind the end was accepted")

in_a_small_thread(refused)
calls = []
signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
def for_a_while():
    for _ in range(3000):
        chosen(table, w, ids)
thread = threading.Thread(target=lambda: in_a_small_thread(for_a_while))
thread.start()
while thread.is_alive():
    chosen(table, w, ids)
signal.setitimer(signal.ITIMER_REAL, 0)
assert calls
"""
    in_process(code, 6)


def test_threads_that_share_launches():
    code = """
import threading
cases = [case.fused() for case in fused_cases(rng, 700, 130, FLOATS[2:3]).values()]
expected = [case() for case in cases]
def work():
    for _ in range(3):
        for case, one in zip(cases, expected):
            same(case(), one)
errors = []
def guarded():
    try:
        in_a_small_thread(work)
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=guarded) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not errors, errors
"""
    in_process(code, 7, EP_CPU_NUM_THREADS="2")


MODEL = """
from onnx import TensorProto, helper, numpy_helper
import ep.onnx
from tests.onnx.test_models import model_of
w, b = rng.normal(size=(40, 24)).astype(np.float32), rng.normal(size=24).astype(np.float32)
nodes = [("MatMul", ["x", "w"], ["m"]), ("Add", ["m", "b"], ["a"]), ("Softmax", ["a"], ["y"]),
         ("LayerNormalization", ["a", "b", "b"], ["n"]), ("ReduceSum", ["n"], ["s"], {"keepdims": 0})]
model = model_of(nodes, [("x", ("n", 40))], [("y", ("n", 24)), ("s", ())], [("w", w), ("b", b)])
x = rng.normal(size=(33, 40)).astype(np.float32)
"""


def test_models_and_models_from_disk(tmp_path):
    pytest.importorskip("onnx")
    path = tmp_path / "model.onnx"
    write = f"""{MODEL}
open({str(path)!r}, "wb").write(model.SerializeToString())
loaded = ep.onnx.load({str(path)!r})
check("model", lambda: loaded(x=x))
np.save({str(tmp_path / "expected.npy")!r}, np.asarray(loaded(x=x)[0]))
"""
    in_process(write, 8)
    read = f"""{MODEL}
loaded = ep.onnx.load({str(path)!r})
expected = np.load({str(tmp_path / "expected.npy")!r})
in_a_small_thread(lambda: same(loaded(x=x)[0], expected))
check("restored model", lambda: loaded(x=x))
"""
    in_process(read, 8)


FIRST = """
found = []
case = fused_cases(rng)[{name!r}]
in_a_small_thread(lambda: found.append(case.fused()()))
same(found[0], case.fused()())
"""


@pytest.mark.parametrize("name", ["softmax of float32", "layer norm of float64", "product and map of float16"])
def test_first_calls(name):
    """The first call of a process imports, plans and loads kernels."""
    in_process(FIRST.format(name=name), 9)


def test_first_calls_that_compile(kernels):
    in_process(FIRST.format(name="layer norm of float32"), 9, EP_CACHE_DIR=str(kernels))


def test_memory_of_threads_that_end():
    """Each thread has memory for its tasks, which is free again when the thread has ended."""
    code = """
import resource
compute = fused_cases(rng, types=FLOATS[2:3])["softmax of float32"].fused()
compute()
for _ in range(50):
    in_a_small_thread(compute)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(1000):
    in_a_small_thread(compute)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
assert grown < 8 << 10, f"{grown} KiB more"
"""
    in_process(code, 10)


def test_threads_without_memory_take_turns():
    """Where memory is exhausted, new threads share what the process has spare."""
    code = """
import ctypes, threading
from tests.exhausted import STARVED
exec(STARVED)
cases = fused_cases(rng, types=FLOATS[2:3])
names = ["softmax of float32", "layer norm of float32"]
functions, outs = [ep.fuse(cases[name].function) for name in names], []
for function, name in zip(functions, names):
    outs.append(function(*cases[name].arrays))
    function(*cases[name].arrays, out=np.empty_like(outs[-1]))
results = [[np.empty_like(out) for out in outs] for _ in range(4)]
ready, go, done = threading.Barrier(5), threading.Event(), []
def work(own):
    ready.wait()
    go.wait()
    try:
        for function, name, result in zip(functions, names, own):
            for _ in range(5):
                try:
                    function(*cases[name].arrays, out=result)
                except MemoryError:
                    pass
        done.append(True)
    except BaseException as error:
        done.append(error)
threads = [threading.Thread(target=work, args=(own,)) for own in results]
[thread.start() for thread in threads]
ready.wait()
def launch():
    go.set()
    [thread.join() for thread in threads]
starved(launch)
for own in results:
    for function, name, result, out in zip(functions, names, own, outs):
        same(function(*cases[name].arrays, out=result), out)
assert done == [True] * 4, done
"""
    in_process(code, 11)
