"""Launches, fused functions and models of any kind in threads with the smallest stack, and how much of it they use."""

import importlib.util
import warnings

import numpy as np

import ep
from ep import DeviceType
from ep.cpu.machine.calibration import NEVER, everywhere
from ep.testing.device_under_test import DeviceUnderTest
from tests.cpu.stack_cases import FLOATS, fused_cases
from tests.fuse.test_random_graphs import REALS, ROWS, SHAPES, TYPES, Graph
from tests.stacks import check, in_a_small_thread
from tests.stress.calls import random_call
from tests.stress.draw import pick, size

FRESH, SECONDS, DEVICES = False, 300, ("cpu",)


def launch(rng, device):
    call = random_call(rng, device, most=60_000)
    primitive = call.make(device)
    expected = call.expected(device, primitive)
    call.launch(device, primitive, rng, expected)
    for _ in range(3):
        in_a_small_thread(lambda: call.launch(device, primitive, rng, expected))


def function_of_a_kind(rng, device):
    rows, columns = (size(rng, 5000) for _ in range(2))
    cases = fused_cases(rng, rows, 2 * columns, [pick(rng, FLOATS)])
    name = pick(rng, sorted(cases))
    check(f"{name}, {rows} x {2 * columns}", cases[name].fused())


def graph(rng, device):
    shapes, types, share = pick(rng, ((SHAPES, TYPES, 0.0), (ROWS, REALS, 0.35), (ROWS, TYPES, 0.2)))
    drawn = Graph(rng, int(rng.integers(5, 31)), shapes, types, share, 0.1 if share else 0.0)
    fused = ep.fuse(drawn.rerun)
    check(f"a graph of {drawn.calls}", lambda: fused(*drawn.leaves))


def model(rng, device):
    import ep.onnx
    from tests.onnx.test_models import model_of

    dtype = pick(rng, (np.float32, np.float64, np.float16))
    rows, depth, columns = (size(rng, 300) for _ in range(3))
    kind = pick(rng, ("Softmax", "LogSoftmax", "Relu", "Gelu", "Sigmoid"))
    nodes = [("MatMul", ["x", "w"], ["m"]), ("Add", ["m", "b"], ["a"]), (kind, ["a"], ["y"])]
    nodes.append(("LayerNormalization", ["a", "b", "b"], ["n"]))
    x, w, b = (rng.normal(size=shape).astype(dtype) for shape in ((rows, depth), (depth, columns), (columns,)))
    number = {np.float32: 1, np.float16: 10, np.float64: 11}[dtype]
    results = [(name, ("n", columns), number) for name in ("y", "n")]
    made = ep.onnx.load(model_of(nodes, [("x", ("n", depth), number)], results, [("w", w), ("b", b)]))
    check(f"a model of {kind}, {rows} x {depth} x {columns} of {dtype.__name__}", lambda: made(x=x))


KINDS = (launch, launch, function_of_a_kind, graph) + (model,) * (importlib.util.find_spec("onnx") is not None)


def trial(rng, tag):
    device = DeviceUnderTest(DeviceType.FromTag(tag))
    device.device.SetNumThreads(int(rng.integers(1, 4)))
    device.device.force_calibration(everywhere(pick(rng, (NEVER, 2**12, 0))))
    kind = pick(rng, KINDS)
    print(kind.__name__, flush=True)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        kind(rng, device)
