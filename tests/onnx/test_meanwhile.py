"""Plans while other things happen: other threads, forks, registrations of kernels, handlers of signals."""

import os
import signal
import threading

import numpy as np
import pytest

import ep
import ep.onnx
from ep.ops.declare.operator import operator_named
from ep.ops.kernels import Kernel, registry
from tests.cpu.test_forks import FORKS
from tests.onnx.kept import loaded, run_once, written
from tests.onnx.test_models import model_of
from tests.onnx.test_repetition import several
from tests.subprocesses import run
from tests.threads import run_together


def test_threads_with_plans_of_several_sizes(tmp_path, rng):
    """They find, make, keep and drop the plans of one model."""
    weight = rng.standard_normal((7, 5), np.float32)
    nodes = [("MatMul", ["x", "w"], ["m"]), ("Softmax", ["m"], ["s"]), ("Gather", ["s", "i"], ["y"])]
    model = model_of(nodes, [("x", ("n", 7)), ("i", (3,), 7)], [("y", (3, 5))], [("w", weight)])
    path = written(tmp_path, model)
    given = [{"x": rng.standard_normal((n, 7), np.float32), "i": rng.integers(-n, n, 3)} for n in range(2, 20)]
    made = ep.onnx.load(model)
    expected = [made(**one)[0] for one in given]
    for _ in range(2):
        shared, wrong = loaded(path)[0], []

        def call(number, shared=shared, wrong=wrong):
            for turn in range(60):
                k = (number * turn + turn) % len(given)
                if not np.array_equal(shared(**given[k])[0], expected[k]):
                    wrong.append(k)

        run_together(call, [(number,) for number in range(4)])
        assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
@pytest.mark.parametrize("is_kept", [False, True])
def test_forks_while_threads_make_and_run_plans(tmp_path, rng, is_kept):
    model, given = several(rng)
    path = written(tmp_path, model)
    expected = ep.onnx.load(model)(**given[0])
    if is_kept:
        loaded(path)[0](**given[0])
    np.savez(tmp_path / "inputs.npz", **given[0])
    np.savez(tmp_path / "expected.npz", *expected)
    run(f"""{FORKS}
import ep.onnx
given = dict(np.load({str(tmp_path / "inputs.npz")!r}))
with np.load({str(tmp_path / "expected.npz")!r}) as file:
    expected = [file[name] for name in file.files]
shared = ep.onnx.load({str(path)!r})
def launch():
    for model in (ep.onnx.load({str(path)!r}), shared):
        assert all(map(np.array_equal, model(**given), expected))
def launches():
    for _ in range(20):
        launch()
forks_while([launches, launches], launch, 12, 0.02)
""")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this platform has no timers")
@pytest.mark.parametrize("is_kept", [False, True])
def test_signals_between_launches(tmp_path, rng, is_kept):
    """A handler may raise, and may run the same model: then its run has memory of its own."""
    model, given = several(rng)
    path = written(tmp_path, model)
    expected = [ep.onnx.load(model)(**one) for one in given]
    if is_kept:
        loaded(path)[0](**given[0])
    made, found, raised, running = loaded(path)[0], [], 0, []

    def handle(number, frame):
        if not running or len(running) > 1:
            return
        running.append(True)
        found.append((1, made(**given[1])))
        running.pop()
        if len(found) % 2:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0013)
    try:
        while raised < 20:
            try:
                running.append(True)
                outputs = made(**given[0])
                running.clear()
                found.append((0, outputs))
            except KeyboardInterrupt:
                running.clear()
                raised += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    for k, outputs in (*found, (0, made(**given[0]))):
        assert all(map(np.array_equal, outputs, expected[k]))


def sums(plus, then=lambda: None):
    """Return a kernel of sums plus a number, which calls a function."""

    class Sums(Kernel):
        def compute(self, call):
            call.outputs[0][...] = np.cumsum(call.inputs[0], call.attributes["axis"]) + plus
            then()

    return Sums


@pytest.fixture
def register(monkeypatch):
    """A function that registers a kernel of sums, until the test ends."""
    monkeypatch.setattr(registry, "_KERNELS", {name: [*some] for name, some in registry._KERNELS.items()})
    count = iter(range(1000, 2000))
    yield lambda made: registry.register_kernel("cumulative_sum", priority=next(count))(made)
    monkeypatch.undo()
    operator_named("cumulative_sum").forget()


@pytest.fixture
def summed(tmp_path, rng):
    """A model of sums of sums, whose plan is on disk, an input, and a function that computes it with other sums."""
    nodes = [("CumSum", ["x", "one"], ["c"]), ("CumSum", ["c", "zero"], ["y"])]
    constants = [("one", np.array(1)), ("zero", np.array(0))]
    x = rng.standard_normal((3, 5), np.float32)
    _, made, _ = run_once(tmp_path, model_of(nodes, [("x", (3, 5))], [("y", (3, 5))], constants), {"x": x})
    return made, x, lambda first, then: np.cumsum(np.cumsum(x, 1) + first, 0) + then


def test_a_kernel_that_is_registered_during_a_run(summed, register):
    """The run that has begun ends with the kernels that it has; the next one has the new kernel."""
    made, x, expected = summed
    np.testing.assert_allclose(made(x=x)[0], expected(0, 0), rtol=1e-5, atol=1e-5)
    added = []

    def add():
        if len(added) == 2:
            register(sums(7))
        added.append(1)

    register(sums(3, add))
    for _ in range(2):
        np.testing.assert_allclose(made(x=x)[0], expected(3, 3), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(made(x=x)[0], expected(7, 7), rtol=1e-5, atol=1e-5)
    assert len(added) == 4


def test_a_kernel_that_is_registered_during_a_call_of_a_fused_function(rng, register):
    added, x = [], rng.standard_normal((3, 5), np.float32)

    def add():
        added.append(1)
        if len(added) == 3:
            register(sums(7))

    register(sums(3, add))
    fused = ep.fuse(lambda x: ep.ops.cumulative_sum(ep.ops.cumulative_sum(x, axis=1), axis=0))
    for number in (3, 3, 7):
        expected = np.cumsum(np.cumsum(x, 1) + number, 0) + number
        np.testing.assert_allclose(fused(x), expected, rtol=1e-5, atol=1e-5)


def test_a_registration_while_another_thread_runs_plans(summed, register):
    made, x, expected = summed
    found, ready, has_ended = [made(x=x)[0]], threading.Event(), threading.Event()

    def call():
        while not has_ended.is_set():
            found.append(made(x=x)[0])
            ready.set()
        found.append(made(x=x)[0])

    def register_when_ready():
        ready.wait()
        register(sums(7))
        has_ended.set()

    run_together(lambda work: work(), [(call,), (register_when_ready,)])
    kinds = [int(np.abs(one - found[0]).max() > 1) for one in found]
    assert kinds == sorted(kinds)
    assert kinds[-1] == 1
    for one, kind in zip(found, kinds, strict=True):
        np.testing.assert_allclose(one, expected(7 * kind, 7 * kind), rtol=1e-5, atol=1e-5)


WATCHED = """
import sys, threading
import numpy as np
import ep.onnx
from ep.include.process import section
outside = []
class Finder:
    def find_spec(self, name, path=None, target=None):
        if section._inside != threading.get_ident():
            frame, trace = sys._getframe(1), []
            while frame is not None:
                trace.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
                frame = frame.f_back
            if "kernel_cache/versions.py" not in str(trace):  # it looks for packages, and imports none
                outside.append((name, [line for line in trace if "importlib" not in line]))
sys.meta_path.insert(0, Finder())
"""


def test_nothing_is_imported_where_a_process_may_fork(tmp_path, rng):
    """The first runs of a model without a plan on disk, and those of one with it, import nothing."""
    model, given = several(rng)
    path = written(tmp_path, model)
    np.savez(tmp_path / "inputs.npz", **given[0])
    for _ in range(2):
        run(f"""
import numpy as np
given = dict(np.load({str(tmp_path / "inputs.npz")!r}))
{WATCHED}
model = ep.onnx.load({str(path)!r})
for _ in range(3):
    model(**given)
assert not outside, outside
""")
