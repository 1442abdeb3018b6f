"""Runs after the second one on the CPU: one call does all launches, with the bits and the errors of the first run."""

import _thread
import operator
import os
import signal

import numpy as np
import pytest
from onnx import TensorProto

import ep.onnx
from ep import DeviceManagerRegistry, DeviceType
from ep.cpu.engine.repeat.launch_list import LaunchList
from ep.cpu.shared.listed import CALLED, Listed
from ep.expressions import walk
from ep.expressions.program import Program
from ep.ops.declare.operator import operator_named
from ep.ops.join import JoinKernel
from ep.ops.kernels import Kernel
from tests.exhausted import STARVED, on_linux
from tests.onnx.test_models import model_of
from tests.onnx.test_plans import layers
from tests.subprocesses import run as run_code
from tests.threads import run_together

I64 = TensorProto.INT64


def several(rng):
    """Return a model of convolutions, a join, a softmax and an LSTM, and inputs."""
    w, of_each = rng.standard_normal((6, 3, 3), np.float32), rng.standard_normal((3, 1, 5), np.float32)
    gates = [rng.standard_normal((1, 20, size), np.float32) / 4 for size in (11, 5)]
    nodes = [
        ("Conv", ["x", "w"], ["c"], {"pads": [1, 1]}),
        ("Conv", ["x", "of_each"], ["d"], {"pads": [2, 2], "group": 3}),
        ("Concat", ["c", "d"], ["j"], {"axis": 1}),
        ("Softmax", ["j"], ["s"], {"axis": 1}),
        ("Mul", ["s", "y"], ["m"]),
        ("Reshape", ["m", "sizes"], ["r"]),
        ("LSTM", ["r", "g0", "g1"], ["h", "last", "cell"], {"hidden_size": 5}),
    ]
    constants = [("w", w), ("of_each", of_each), ("g0", gates[0]), ("g1", gates[1]), ("sizes", np.array([9, 1, 11]))]
    outputs = [("m", (1, 9, 11)), ("r", (9, 1, 11)), ("h", (9, 1, 1, 5)), ("cell", (1, 1, 5))]
    given = [{"x": rng.standard_normal((1, 3, 11), np.float32), "y": rng.random((1, 11), np.float32)} for _ in range(4)]
    return model_of(nodes, [("x", (1, 3, 11)), ("y", (1, 11))], outputs, constants), given


def test_other_inputs_have_the_bits_of_a_first_run(rng, monkeypatch):
    model, given = several(rng)
    expected = [ep.onnx.load(model)(**one) for one in given]
    loaded = ep.onnx.load(model)
    for one in given[:2]:
        loaded(**one)
    monkeypatch.setattr(Program, "computed", None)  # no program runs in Python any more
    kept = [loaded(**one) for one in given]
    for found, wanted in zip(kept, expected, strict=True):
        for one, other in zip(found, wanted, strict=True):
            assert one.shape == other.shape
            np.testing.assert_array_equal(one, other)


def test_kernels_of_a_step_that_are_registered_later(rng, monkeypatch):
    """The steps of an LSTM are computed with the kernels that are registered when the model runs."""
    gates = [rng.standard_normal((1, 20, size), np.float32) / 4 for size in (11, 5)]
    constants = [("w", gates[0]), ("r", gates[1]), ("b", rng.standard_normal((1, 40), np.float32))]
    nodes = [("LSTM", ["x", "w", "r", "b"], ["y"], {"hidden_size": 5})]
    model = ep.onnx.load(model_of(nodes, [("x", (6, 1, 11))], [("y", (6, 1, 1, 5))], constants))
    x, runs, computed = rng.standard_normal((6, 1, 11), np.float32), [], Program.computed
    assert "of matmul add; " in model.explain()  # the matmul of a step is another one
    expected = [model(x=x)[0] for _ in range(3)]
    monkeypatch.setattr(Program, "computed", lambda self, *args: runs.append(self) or computed(self, *args))
    model(x=x)
    assert not runs
    operator_named("matmul").forget()  # as a registration does
    np.testing.assert_array_equal(model(x=x)[0], expected[0])
    assert runs


def test_too_many_steps_are_not_recorded(rng, monkeypatch):
    model, given = several(rng)
    expected, runs, computed = ep.onnx.load(model)(**given[0]), [], Program.computed
    monkeypatch.setattr(walk, "MOST_REPEATED", 8)  # the LSTM has 9 steps
    monkeypatch.setattr(Program, "computed", lambda self, *args: runs.append(self) or computed(self, *args))
    loaded = ep.onnx.load(model)
    for run in range(4):
        for one, wanted in zip(loaded(**given[0]), expected, strict=True):
            np.testing.assert_array_equal(one, wanted)
        assert len(runs) == run + 1


def test_windows_that_are_read_in_place(rng, monkeypatch):
    nodes = [("Relu", ["x"], ["r"]), ("MaxPool", ["r"], ["y"], {"kernel_shape": [2, 3], "strides": [1, 2]})]
    model = ep.onnx.load(model_of(nodes, [("x", (1, 2, 5, 7))], [("y", (1, 2, 4, 3))]))
    for call in range(4):
        if call == 2:
            monkeypatch.setattr(Program, "computed", None)
        x = rng.standard_normal((1, 2, 5, 7), np.float32)
        windows = np.lib.stride_tricks.sliding_window_view(np.maximum(x, 0), (2, 3), (2, 3))
        np.testing.assert_array_equal(model(x=x)[0], windows[:, :, :, ::2].max((-2, -1)))


def test_threads_of_one_model(rng):
    model, given = several(rng)
    loaded = ep.onnx.load(model)
    expected = [loaded(**one) for one in given]
    wrong = []

    def run(x, y):
        for _ in range(60):
            if not all(map(np.array_equal, loaded(**x), y)):
                wrong.append(x)

    run_together(run, zip(given, expected, strict=True))
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
def test_a_forked_child_repeats(rng):
    nodes, weights, _ = layers(rng, width=301)  # so large that threads share the work
    model = ep.onnx.load(model_of(nodes, [("h0", (60, 301))], [("h5", (60, 301))], weights))
    x = rng.standard_normal((60, 301), np.float32)
    expected = [model(h0=x)[0] for _ in range(3)]
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(model(h0=x)[0], expected[0]) else 3)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(model(h0=x)[0], expected[2])


def test_index_errors_are_those_of_the_first_run(rng):
    table = rng.standard_normal((7, 5), np.float32)
    nodes = [("Add", ["i", "one"], ["j"]), ("Gather", ["table", "j"], ["g"]), ("Gather", ["table", "i"], ["k"])]
    nodes += [("Add", ["g", "k"], ["y"])]
    constants = [("one", np.array(1)), ("table", table)]
    model = ep.onnx.load(model_of(nodes, [("i", (3,), I64)], [("y", (3, 5))], constants))
    errors = []
    for last in (1, 2, 6, 3, 6, 9, 4):
        i = np.array([0, 1, last])
        if last < 6:
            np.testing.assert_allclose(model(i=i)[0], table[i] + table[i + 1], rtol=1e-6)
            continue
        with pytest.raises(IndexError, match=r"\[2\]") as caught:
            model(i=i)
        errors.append((last, str(caught.value), caught.value.__notes__))
    assert errors[0] == errors[1]
    assert "10" in errors[2][1]


def test_negative_indices_are_read_from_the_end(rng):
    table = rng.standard_normal((7, 5), np.float32)
    model = ep.onnx.load(model_of([("Gather", ["table", "i"], ["y"])], [("i", (2,), I64)], [("y", (2, 5))],
                                  [("table", table)]))  # fmt: skip
    for i in ([0, 1], [1, 2], [3, 4], [-1, 4], [5, 6]):
        np.testing.assert_array_equal(model(i=np.array(i))[0], table[i])


def test_sizes_that_depend_on_data(rng):
    nodes = [("Relu", ["x"], ["r"]), ("NonZero", ["r"], ["n"]), ("Mul", ["n", "two"], ["y"])]
    model = ep.onnx.load(model_of(nodes, [("x", (9,))], [("y", (1, "n"), I64)], [("two", np.array(2))]))
    for _ in range(5):
        x = rng.standard_normal(9, np.float32)
        np.testing.assert_array_equal(model(x=x)[0], 2 * np.flatnonzero(x > 0)[None])


def test_launches_that_need_what_is_not_there_yet(rng):
    """A launch of a list is refused that needs non-temporal stores before their task is there; Python then provides
    it."""
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    model = ep.onnx.load(model_of([("Relu", ["x"], ["r"]), ("Floor", ["r"], ["y"])], [("x", (70001,))],
                                  [("y", (70001,))]))  # fmt: skip
    x = rng.standard_normal(70001, np.float32)
    for _ in range(3):
        model(x=x)
    device.force_calibration(((0,) * 3, (0,) * 3, 0))
    try:
        device.set_stream(0)
        for _ in range(2):
            np.testing.assert_array_equal(model(x=x)[0], np.floor(np.maximum(x, 0)))
    finally:
        device.force_calibration(None)


def test_strides_of_axes_of_one_element(rng, monkeypatch):
    """NumPy may give such an axis any stride."""
    model = ep.onnx.load(model_of([("Relu", ["x"], ["y"])], [("x", (1, 9))], [("y", (1, 9))]))
    x = rng.standard_normal((1, 9), np.float32)
    for _ in range(3):
        model(x=x)
    monkeypatch.setattr(Program, "computed", None)
    odd = np.ndarray((1, 9), np.float32, x.tobytes(), 0, (4, 4))
    np.testing.assert_array_equal(model(x=odd)[0], np.maximum(x, 0))


@pytest.mark.parametrize("is_prepared", [False, True])
def test_kernels_that_compute_by_themselves_are_not_repeated(rng, monkeypatch, is_prepared):
    def run(inputs, outputs):
        outputs[0][...] = 2 * np.concatenate(inputs)

    if is_prepared:  # against its contract, which the recording notices
        monkeypatch.setattr(JoinKernel, "prepare", lambda *_: lambda arrays, inputs, outputs: run(inputs, outputs))
    else:
        monkeypatch.setattr(JoinKernel, "prepared", Kernel.prepared)
        monkeypatch.setattr(JoinKernel, "compute", lambda self, call: run(call.inputs, call.outputs))
    nodes = [("Relu", ["x"], ["r"]), ("Concat", ["r", "x"], ["c"], {"axis": 0}), ("Neg", ["c"], ["y"])]
    model = ep.onnx.load(model_of(nodes, [("x", (9,))], [("y", (18,))]))
    for _ in range(5):
        x = rng.standard_normal(9, np.float32)
        np.testing.assert_array_equal(model(x=x)[0], -2 * np.concatenate([np.maximum(x, 0), x]))


def _listed(function):
    return Listed(CALLED, (id(function),), np.zeros(0, np.int64), (), ()), []


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this platform has no such signal")
def test_a_signal_is_handled_between_two_launches():
    def handle(number, frame):
        raise KeyboardInterrupt

    done = []
    first = lambda: True  # noqa: E731
    before = signal.signal(signal.SIGUSR1, handle)
    try:
        # C code alone, in which no handler runs: the signal is there when the first launch ends
        trips = map(operator.is_, map(_thread.interrupt_main, [signal.SIGUSR1]), [None])
        trip = trips.__next__
        last = lambda: done.append(1) or True  # noqa: E731
        launches = LaunchList([], 0, [*map(_listed, (first, trip, last))], [first, trip, last])
        with pytest.raises(KeyboardInterrupt):
            launches.run()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not done


def test_a_list_refuses_other_arrays_and_stops_at_a_refusal():
    done = []
    first, second = (lambda *arrays: done.append(arrays) or len(done) < 2), (lambda *arrays: done.append(arrays))
    x = np.zeros((2, 3), np.float32)
    launches = LaunchList([x, x], 1, [*map(_listed, (first, second, first))], [first, second])
    read_only = x.copy()
    read_only.flags.writeable = False
    for arrays in [(x,), (x, x, x), (x, [1]), (x, x.T), (x.astype(float), x), (x[:, :2], x), (x, read_only)]:
        assert launches.run(*arrays) is False
    assert not done
    assert launches.run(read_only, x) is False  # the second one returns None
    assert [[id(one) for one in each] for each in done] == [[id(read_only), id(x)]] * 2


REPEATED = """
import ep.onnx
from ep.expressions.program import Program
from tests.onnx.test_models import model_of

constants = [("w", np.ones((50_000, 4), np.float32)), ("one", np.float32(1))]
for follows in (("Softmax", ["m"], ["y"]), ("Add", ["m", "one"], ["y"])):
    nodes = [("Relu", ["x"], ["r"]), ("MatMul", ["r", "w"], ["m"]), follows]
    model = ep.onnx.load(model_of(nodes, [("x", (4, 50_000))], [("y", (4, 4))], constants))
    x = np.ones((4, 50_000), np.float32)
    (expected,), _ = model(x=x), model(x=x)
    computed, Program.computed = Program.computed, None  # no program runs in Python any more
    assert (model(x=x)[0] == expected).all()
    Program.computed = computed
    raised = starved(lambda: model(x=x))
    assert type(raised) is MemoryError and "there is no memory" in str(raised), raised
    for _ in range(3):
        assert (model(x=x)[0] == expected).all()
print("done")
"""


@on_linux
def test_products_without_memory():
    """A list leaves a launch that lacks memory to Python, which raises MemoryError; the next runs are right."""
    assert run_code(STARVED + REPEATED) == "done\n"
