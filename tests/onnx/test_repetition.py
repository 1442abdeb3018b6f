"""Runs after the first ones on the CPU: few functions of Python, with the bits and the errors of the first run."""

import os
import signal
import time
from itertools import pairwise

import numpy as np
import pytest
from onnx import TensorProto

import ep.onnx
from ep import DeviceManagerRegistry, DeviceType
from ep.include.process.signals import HeldSignals
from tests.exhausted import STARVED, on_linux
from tests.onnx.test_models import model_of
from tests.onnx.test_plans import layers
from tests.profiles import calls_of
from tests.subprocesses import run as run_code
from tests.threads import run_together

I64 = TensorProto.INT64
FEW = 60  # the functions of Python that a run may take, however many launches it has


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


def test_other_inputs_have_the_bits_of_a_first_run(rng):
    model, given = several(rng)
    expected = [ep.onnx.load(model)(**one) for one in given]
    loaded, kept = ep.onnx.load(model), []
    for one in given[:2]:
        loaded(**one)
    assert calls_of(lambda: kept.extend(loaded(**one) for one in given)) <= len(given) * FEW
    for found, wanted in zip(kept, expected, strict=True):
        for one, other in zip(found, wanted, strict=True):
            assert one.shape == other.shape
            np.testing.assert_array_equal(one, other)


def test_new_sizes_hold_signals_as_often_for_many_launches(rng, monkeypatch):
    """The handlers of all signals are exchanged a few times for a plan with known kernels, not for each launch."""
    holds, w = [], rng.standard_normal((7, 7), np.float32) / 3

    class Counting(HeldSignals):
        def hold(self):
            holds.append(self)
            super().hold()

    def count(*operators):
        nodes, last = [], "x"
        for one in operators:
            nodes += [("MatMul", [last, "w"], [f"p {one}"]), (one, [f"p {one}"], [one])]
            last = one
        model = ep.onnx.load(model_of(nodes, [("x", ("n", 7))], [(last, ("n", 7))], [("w", w)]))
        for rows in (11, 13):
            model(x=np.ones((rows, 7), np.float32))
        with monkeypatch.context() as patch:
            patch.setattr("ep.include.process.section.HeldSignals", Counting)
            holds.clear()
            model(x=np.ones((17, 7), np.float32))
        return len(holds)

    assert 0 < count("Tanh", "Relu", "Neg", "Abs") <= count("Tanh")


REGISTERED = """
import numpy as np
import ep.onnx
from ep.ops.kernels import Kernel, register_kernel
from tests.onnx.test_models import model_of

rng = np.random.default_rng(1)
gates = [rng.standard_normal((1, 20, size), np.float32) / 4 for size in (11, 5)]
lstm = [("LSTM", ["x", "w", "r"], ["y"], {"hidden_size": 5})]
lstm = ep.onnx.load(model_of(lstm, [("x", (6, 1, 11))], [("y", (6, 1, 1, 5))], [("w", gates[0]), ("r", gates[1])]))
nodes = [("Relu", ["x"], ["r"]), ("Concat", ["r", "x"], ["c"], {"axis": 0}), ("Neg", ["c"], ["y"])]
joined = ep.onnx.load(model_of(nodes, [("x", (9,))], [("y", (18,))]))

def draw(*shape):
    return rng.standard_normal(shape, np.float32)

def check(times):
    for _ in range(4):
        x = draw(9)
        assert (joined(x=x)[0] == -times * np.concatenate([np.maximum(x, 0), x])).all()

steps = draw(6, 1, 11)
before, *_ = [lstm(x=steps)[0] for _ in range(4)]
check(1)

@register_kernel("concat", priority=1000)
class Twice(Kernel):  # it computes by itself, so there is no launch to repeat
    def compute(self, call):
        call.outputs[0][...] = 2 * np.concatenate(call.inputs)

@register_kernel("matmul", priority=1000)
class Nothing(Kernel):
    def compute(self, call):
        call.outputs[0][...] = 0

check(2)
after = [lstm(x=steps)[0] for _ in range(3)]
assert not (after[0] == before).any() and (after[0] == after[2]).all()
"""


def test_kernels_that_are_registered_later():
    """Those of a step, too: runs compute with the kernels that are registered when they begin."""
    run_code(REGISTERED)


def test_thousands_of_steps(rng):
    """More of them than are worth being recorded."""
    gates = [rng.standard_normal((1, 20, size), np.float32) / 4 for size in (3, 5)]
    nodes = [("LSTM", ["x", "w", "r"], ["y", "h"], {"hidden_size": 5})]
    inputs, outputs = [("x", ("n", 1, 3))], [("y", ("n", 1, 1, 5)), ("h", (1, 1, 5))]
    model = ep.onnx.load(model_of(nodes, inputs, outputs, [("w", gates[0]), ("r", gates[1])]))
    x = rng.standard_normal((4200, 1, 3), np.float32)
    found = [model(x=x) for _ in range(4)]
    for y, h in found:
        np.testing.assert_array_equal(y, found[0][0])
        np.testing.assert_array_equal(y[-1], h)
    np.testing.assert_array_equal(model(x=x[:500])[0], found[0][0][:500])


def test_windows_that_are_read_in_place(rng):
    nodes = [("Relu", ["x"], ["r"]), ("MaxPool", ["r"], ["y"], {"kernel_shape": [2, 3], "strides": [1, 2]})]
    model = ep.onnx.load(model_of(nodes, [("x", (1, 2, 5, 7))], [("y", (1, 2, 4, 3))]))
    for _ in range(4):
        x, found = rng.standard_normal((1, 2, 5, 7), np.float32), []
        calls = calls_of(lambda: found.extend(model(x=x)))  # noqa: B023
        windows = np.lib.stride_tricks.sliding_window_view(np.maximum(x, 0), (2, 3), (2, 3))
        np.testing.assert_array_equal(found[0], windows[:, :, :, ::2].max((-2, -1)))
    assert calls <= FEW


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


def test_inputs_of_other_strides(rng):
    """They are read-only, columns, or in another order; NumPy may give an axis of one element any stride."""
    model = ep.onnx.load(model_of([("Relu", ["x"], ["y"])], [("x", ("n", "m"))], [("y", ("n", "m"))]))
    x, wide = rng.standard_normal((1, 9), np.float32), rng.standard_normal((9, 18), np.float32)
    odd = np.ndarray((1, 9), np.float32, x.tobytes(), 0, (4, 4))
    assert not odd.flags.writeable
    for one in (x, wide[:, :9].copy(), odd, wide[:, ::2], wide[:, :9].T, wide[::-1, :9], x):
        for _ in range(3):
            np.testing.assert_array_equal(model(x=one)[0], np.maximum(one, 0))


@pytest.mark.skipif(not hasattr(signal, "SIGPROF"), reason="this platform has no such signal")
def test_a_signal_is_handled_between_two_launches(rng):
    """A run ends at the next launch, and the runs after it are right. The clocks are those of the process."""

    def stop(number, frame):
        raise KeyboardInterrupt

    names = [f"h{k}" for k in range(301)]
    nodes = [("Sin" if k % 2 else "Softmax", [one], [other]) for k, (one, other) in enumerate(pairwise(names))]
    model = ep.onnx.load(model_of(nodes, [("h0", (64, 1009))], [("h300", (64, 1009))]))
    x = rng.standard_normal((64, 1009), np.float32)
    for _ in range(3):
        began = time.process_time()
        (expected,) = model(h0=x)
        whole = time.process_time() - began
    before = signal.signal(signal.SIGPROF, stop)
    try:
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, whole / 4)
        with pytest.raises(KeyboardInterrupt):
            model(h0=x)
        assert time.process_time() - began < 0.8 * whole
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    np.testing.assert_array_equal(model(h0=x)[0], expected)


REPEATED = """
import ep.onnx
from tests.onnx.test_models import model_of

ep.ops.matmul(np.ones((2, 3)), np.ones((3, 2)))  # launches outside of lists are compiled while there is memory
constants = [("w", np.ones((50_000, 4), np.float32)), ("one", np.float32(1))]
for follows in (("Softmax", ["m"], ["y"]), ("Add", ["m", "one"], ["y"])):
    nodes = [("Relu", ["x"], ["r"]), ("MatMul", ["r", "w"], ["m"]), follows]
    model = ep.onnx.load(model_of(nodes, [("x", (4, 50_000))], [("y", (4, 4))], constants))
    x = np.ones((4, 50_000), np.float32)
    (expected,), *_ = [model(x=x) for _ in range(3)]
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


def test_a_repeated_run_passes_few_frames(rng):
    x = rng.standard_normal((3, 5), np.float32)
    nodes = [("MatMul", ["x", "w"], ["m"]), ("Softmax", ["m"], ["s"]), ("Add", ["s", "x"], ["y"])]
    model = model_of(nodes, [("x", (3, 5))], [("y", (3, 5)), ("m", (3, 5))], [("w", np.ones((5, 5), np.float32))])
    loaded = ep.onnx.load(model)
    for _ in range(3):
        expected = loaded(x)
    assert calls_of(lambda: loaded(x)) <= 1 + 8
    assert calls_of(lambda: loaded.run(["m", "y"], {"x": x})) > 8  # a plan for other outputs
    loaded.run(["m", "y"], {"x": x})
    assert calls_of(lambda: loaded.run(["m", "y"], {"x": x})) <= 1 + 8
    for one, other in zip(loaded(x), expected, strict=True):
        np.testing.assert_array_equal(one, other)
