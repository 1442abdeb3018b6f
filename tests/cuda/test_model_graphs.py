"""Runs of a model after the second one: a graph does all launches, with the bits of a run in Python."""

import gc

import numpy as np
import pytest
from onnx import TensorProto

import ep.onnx
import ep.ops
from ep.common.bounded_cache import BoundedCache
from ep.cuda.arrays.streams import default_stream
from ep.cuda.device.captured import CapturedStream
from ep.cuda.driver.interface import CudaError
from ep.cuda.primitive.product_primitive import ProductPrimitive
from ep.ops import copy_to_host
from tests.cuda.graph import Graph
from tests.onnx.test_models import model_of

I64 = TensorProto.INT64


@pytest.fixture
def launches(cuda, monkeypatch):
    """The launches of graphs so far: the number of each graph."""
    found, graphs = [], cuda.driver.graphs
    launch = graphs.launch

    def counted(device, graph, *rest):
        found.append(graph)
        launch(device, graph, *rest)

    monkeypatch.setattr(graphs, "launch", counted)
    return found


@pytest.fixture
def perceptron(rng):
    """A model of two products, a softmax and a sum, with two results; its sizes are free."""
    w = rng.standard_normal((7, 7), np.float32)
    nodes = [
        ("MatMul", ["x", "w"], ["h"]),
        ("Softmax", ["h"], ["s"]),
        ("ReduceSum", ["h", "last"], ["t"], {"keepdims": 1}),
        ("Add", ["s", "t"], ["y"]),
        ("MatMul", ["y", "w"], ["z"]),
        ("Softmax", ["z"], ["u"]),
    ]
    constants = [("w", w), ("last", np.array([-1]))]
    return model_of(nodes, [("x", ("n", 7))], [("y", ("n", 7)), ("u", ("n", 7))], constants), w


def load(model):
    return ep.onnx.load(model, "cuda")


def on_host(results):
    return [copy_to_host(one) for one in results]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_other_inputs_have_the_bits_of_a_first_run(perceptron, launches, rng):
    model, w = perceptron
    given = [rng.standard_normal((5, 7), np.float32) for _ in range(5)]
    expected = [on_host(load(model)(x=x)) for x in given]
    assert not launches
    loaded = load(model)
    results = [on_host(loaded(x=x)) for x in given[:2]]
    assert len(launches) == 1
    kept = [loaded(x=ep.ops.copy_to_device(x, "cuda")) for x in given[2:]]
    assert len(launches) == 4
    results += map(on_host, kept)  # a later run writes other memory
    for x, found, wanted in zip(given, results, expected, strict=True):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
        h = x @ w
        np.testing.assert_allclose(found[0], softmax(h) + h.sum(-1, keepdims=True), rtol=1e-4, atol=1e-5)


def test_sizes_have_a_graph_each(perceptron, launches, rng):
    model, w = perceptron
    loaded = load(model)
    for rows in (11, 0, 3, 11, 0, 3, 11, 0, 3, 2, 11):
        x = rng.standard_normal((rows, 7), np.float32)
        y, _ = on_host(loaded(x=x))
        assert y.shape == (rows, 7)
        if rows:
            np.testing.assert_allclose(y, softmax(x @ w) + (x @ w).sum(-1, keepdims=True), rtol=1e-4, atol=1e-5)
    assert len(launches) == 2 + 3


def test_index_errors_are_raised_by_sync(launches, rng):
    table = rng.standard_normal((7, 5), np.float32)
    nodes = [("Add", ["i", "one"], ["j"]), ("Gather", ["table", "j"], ["g"]), ("Gather", ["table", "i"], ["k"])]
    nodes += [("Softmax", ["g"], ["s"]), ("Add", ["s", "k"], ["y"])]
    model = load(model_of(nodes, [("i", (3,), I64)], [("y", (3, 5))], [("one", np.array(1)), ("table", table)]))
    errors = []
    for last in (1, 6, 3, 6, -8, -1, 4):
        i = np.array([0, 1, last])
        (y,) = model(i=i)
        if -7 <= last < 6:
            np.testing.assert_allclose(copy_to_host(y), softmax(table[(i + 1) % 7]) + table[i], rtol=1e-5)
            continue
        with pytest.raises(IndexError, match=r"\[2\]") as caught:
            copy_to_host(y)
        errors.append(str(caught.value))
    assert len(launches) == 6
    assert errors[0] == errors[1]
    assert "-8" in errors[2]


def test_a_new_product_is_computed_in_python(perceptron, launches, rng, monkeypatch):
    """cuBLASLt chooses no algorithm during a capture."""
    algorithm, refused = ProductPrimitive._algorithm, []

    def forgetful(self, stream, wanted):
        self._algorithms = BoundedCache()
        try:
            return algorithm(self, stream, wanted)
        except RuntimeError as error:
            refused.append(error)
            raise

    monkeypatch.setattr(ProductPrimitive, "_algorithm", forgetful)
    model, w = perceptron
    loaded = load(model)
    for _ in range(4):
        x = rng.standard_normal((5, 7), np.float32)
        y, _ = on_host(loaded(x=x))
        np.testing.assert_allclose(y, softmax(x @ w) + (x @ w).sum(-1, keepdims=True), rtol=1e-4, atol=1e-5)
    assert len(refused) == 1
    assert not launches


def test_few_launches_are_not_worth_copies(launches, rng):
    model = load(model_of([("Relu", ["x"], ["r"]), ("Softmax", ["r"], ["y"])], [("x", (3, 7))], [("y", (3, 7))]))
    for _ in range(4):
        x = rng.standard_normal((3, 7), np.float32)
        np.testing.assert_allclose(*on_host(model(x=x)), softmax(np.maximum(x, 0)), rtol=1e-5)
    assert not launches


def test_a_capture_of_the_user(cuda, perceptron, launches, rng):
    """The user's graph has memory that no later run of the model uses, and no graph of the model."""
    model, _ = perceptron
    loaded, kept = load(model), []
    x = ep.ops.copy_to_device(rng.standard_normal((5, 7), np.float32), "cuda")
    expected, *_ = [on_host(loaded(x=x)) for _ in range(4)]
    launches.clear()
    graph = Graph(default_stream(0), lambda: kept.extend(loaded(x=x)))
    assert not launches
    more = rng.standard_normal((40, 7), np.float32)
    others = [loaded(x=more) for _ in range(3)]
    filled = [ep.ops.copy_to_device(np.full((40, 7), 3, np.float32), "cuda") for _ in range(4)]
    wanted = on_host(others[0])
    graph.launch()
    for one, other in zip(on_host(kept), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert all((one == 3).all() for one in on_host(filled))
    for each in others:
        for one, other in zip(on_host(each), wanted, strict=True):
            np.testing.assert_array_equal(one, other)
    graph.destroy()


def test_a_graph_is_destroyed_with_its_model(cuda, perceptron, rng, monkeypatch):
    model, _ = perceptron
    x = rng.standard_normal((5, 7), np.float32)
    on_host(load(model)(x=x))  # what is kept for all models, such as a workspace
    gc.collect()
    before, destroyed = cuda.memory_figures()["allocated"], []
    graphs = cuda.driver.graphs
    monkeypatch.setattr(graphs, "destroy", lambda *one, destroy=graphs.destroy: destroyed.append(one) or destroy(*one))
    loaded = load(model)
    for _ in range(4):
        on_host(loaded(x=x))
    assert not destroyed
    del loaded
    assert len(destroyed) == 1  # at once, without the garbage collector
    gc.collect()
    assert cuda.memory_figures()["allocated"] == before


def test_the_memory_of_a_graph(cuda):
    """What is not needed any more is used again by the graph, and by nothing else until the graph is gone."""
    home = default_stream(0)
    captured, device = CapturedStream(home), home.device()
    device.Reset()  # of the memory that other tests have freed
    first, lease = captured.memory_at_home(captured, 1000)
    del lease
    second, lease = captured.memory_at_home(captured, 1000)
    assert first == second
    with captured.scratch(1000) as one, captured.scratch(1000) as other:
        addresses = {second, one.address, other.address}
    assert len(addresses) == 3
    del lease
    _, graph = captured.capture(lambda: captured.fill(second, 3, 1000))
    captured = None
    taken = [device.memory_at_home(home, 1000) for _ in range(9)]
    assert addresses.isdisjoint(address for address, _ in taken)
    del graph
    taken = [device.memory_at_home(home, 1000) for _ in range(9)]
    assert addresses <= {address for address, _ in taken}


def test_a_capture_that_fails_leaves_nothing(cuda, monkeypatch):
    made, create = [], cuda.driver.graphs.create_stream
    monkeypatch.setattr(cuda.driver.graphs, "create_stream", lambda device: made.append(create(device)) or made[-1])
    captured = CapturedStream(default_stream(0))
    with pytest.raises(ZeroDivisionError):
        captured.capture(lambda: 1 // 0)
    (handle,) = made
    with pytest.raises(CudaError):
        cuda.driver.query_stream(0, handle)
