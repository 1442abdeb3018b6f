"""Functions on a device that works while the host does other things, and another device that computes the rest."""

import pytest

MIXED = """
from tests.queued_numpy import QUEUE, BrokenError

def mixed(x):
    first = ops.relu(x)                          # on the device
    second = ops.tanh(first)                     # elsewhere
    apart = ops.negative(ops.sqrt(first))        # on the device, which need not wait for the one before
    third = ops.negative(second)                 # on the device
    return third, apart, ops.negative(ops.tanh(third + apart))

def on_host(found):
    return [ops.copy_to_host(one) for one in found]

def check(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)

x = np.random.default_rng(SEED).standard_normal((5, 7), np.float32)
given, expected = ops.copy_to_device(x, "numpy"), mixed(x)
fused = ep.fuse(mixed, otherwise="cpu")
"""


def test_the_host_waits_for_a_copy_and_for_nothing_after_it(run_beside):
    """The device does not get on with what follows the copy until the host has computed its part."""
    run_beside(
        f"SEED = 3\n{MIXED}"
        """
import threading
check(on_host(fused(given)), expected)
part_is_done, in_time = threading.Event(), []

def meanwhile(name):
    if name == "launch kSqrt":
        in_time.append(part_is_done.wait(20))

def noting(self, array, copy=NumpyArrays.copy_from_host):
    part_is_done.set()
    return copy(self, array)

QUEUE.meanwhile, NumpyArrays.copy_from_host = meanwhile, noting
QUEUE.log.clear()
found = fused(given)
check(on_host(found), expected)
assert in_time == [True]
assert QUEUE.log.index("launch kSqrt") < QUEUE.log.index("copy from host"), QUEUE.log
assert QUEUE.log.index("launch kNegative") < QUEUE.log.index("copy from host"), QUEUE.log
assert QUEUE.log[:2] == ["launch kRelu", "copy to host"], QUEUE.log
"""
    )


def test_slow_kernels(run_beside, rng):
    run_beside(
        f"SEED = {rng.integers(2**31)}\n{MIXED}"
        """
from tests.fuse.test_random_graphs import Graph, bits
QUEUE.seconds = 0.002
for _ in range(3):
    x *= -0.7
    check(on_host(fused(ops.copy_to_device(x, "numpy"))), mixed(x))
for number in range(4):
    graph = Graph(np.random.default_rng([SEED, number]), 9, types=[ep.DataType.kFloat], row_share=0.1, index_share=0.2)
    leaves = [np.ascontiguousarray(one) for one in graph.leaves]
    expected = graph.rerun(*leaves)
    random = ep.fuse(graph.rerun, otherwise="cpu", round_each=True)
    for _ in range(2):
        found = on_host(random(*[ops.copy_to_device(one, "numpy") for one in leaves]))
        assert [*map(bits, found)] == [*map(bits, expected)], (number, graph.calls)
"""
    )


def test_slow_kernels_of_a_model(run_beside):
    """Intermediate values share memory, which is written again while copies are under way."""
    run_beside(
        """
from tests.queued_numpy import QUEUE
import onnx, ep.onnx
from onnx import TensorProto
from tests.onnx.test_models import model_of
nodes, last = [], "x"
for k in range(6):
    nodes += [("Relu", [last], [f"r{k}"]), ("Tanh", [f"r{k}"], [f"t{k}"]), ("Neg", [f"r{k}"], [f"n{k}"])]
    nodes += [("Neg", [f"n{k}"], [f"m{k}"]), ("Sub", [f"m{k}", f"t{k}"], [f"s{k}"]), ("Neg", [f"s{k}"], [f"o{k}"])]
    last = f"s{k}"
outputs = [("s5", ("n", 7)), ("o2", ("n", 7))]
model = model_of(nodes, [("x", ("n", 7), TensorProto.FLOAT)], outputs)
queued, host = ep.onnx.load(model, "numpy", "cpu"), ep.onnx.load(model)
QUEUE.seconds, rng = 0.001, np.random.default_rng(5)
for n in (3, 5, 3):
    x = rng.standard_normal((n, 7), np.float32)
    for one, other in zip(queued(x), host(x), strict=True):
        np.testing.assert_array_equal(ops.copy_to_host(one), other)
"""
    )


@pytest.mark.parametrize("is_lost", [False, True], ids=["once", "lost"])
@pytest.mark.parametrize("kind", ["launch", "work", "wait", "copy to host", "copy from host"])
def test_what_fails_on_the_device_is_an_error(run_beside, kind, is_lost):
    """Whatever fails first: the call, or the copy of a result, raises its error, and the next call is right."""
    run_beside(
        f"SEED, KIND, IS_LOST = 5, {kind!r}, {is_lost}\n{MIXED}"
        """
check(on_host(fused(given)), expected)
for done in range(100):
    QUEUE.repair()
    QUEUE.fails, QUEUE.is_lost = (KIND, done), IS_LOST
    try:
        found = on_host(fused(given))
        QUEUE.wait()
    except BrokenError as error:
        assert str(error) in (KIND, "the device is lost")
        if IS_LOST:
            try:
                fused(given)
            except BrokenError:
                pass
            else:
                raise AssertionError
    else:
        assert not QUEUE.has_failed
        check(found, expected)
        break
    QUEUE.repair()
    check(on_host(fused(given)), expected)
assert done >= 2
"""
    )
