"""Plans: constant folding, memory, several threads, and sizes that depend on data."""

import gc
import itertools
import tracemalloc

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

import ep.onnx
from ep import ops
from ep.expressions.memory import Span, places_of
from ep.ops import copy_to_host
from tests.onnx.test_models import model_of


def layers(rng, number=5, width=7):
    """Return the nodes, the weights and the results of layers; each layer is added to the one before."""
    weights = [rng.standard_normal((width, width), np.float32) / 3 for _ in range(number)]
    nodes = []
    for k in range(number):
        nodes += [("MatMul", [f"h{k}", f"w{k}"], [f"p{k}"]), ("Tanh", [f"p{k}"], [f"t{k}"])]
        nodes += [("Add", [f"t{k}", f"h{k}"], [f"h{k + 1}"])]

    def expected(x):
        for w in weights:
            x = x + np.tanh(x @ w)
        return x

    return nodes, [(f"w{k}", w) for k, w in enumerate(weights)], expected


def test_the_progress_of_first_runs(device, rng):
    """It counts the nodes and the launches of all plans: NonZero ends one. Later runs have none."""
    nodes, weights, expected = layers(rng, number=2)
    nodes += [("NonZero", ["h2"], ["places"]), ("Neg", ["places"], ["z"])]
    outputs = [("h2", ("n", 7)), ("z", (2, "many"), TensorProto.INT64)]
    model = ep.onnx.load(model_of(nodes, [("h0", ("n", 7))], outputs, weights), device.type)
    for rows in (3, 11, 3):
        told, x = [], rng.standard_normal((rows, 7), np.float32)
        h2, z = map(copy_to_host, model.run(None, {"h0": x}, lambda *numbers, told=told: told.append(numbers)))
        np.testing.assert_allclose(h2, expected(x), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(z, -np.array(h2.nonzero()))
        if (rows, len(told)) == (3, 0):
            break
        done, known = map(list, zip(*told, strict=True))
        assert done == sorted(done)
        assert {*done} == {*range(done[-1] + 1)}
        assert all(one <= all_of_them for one, all_of_them in told)
        assert told[0] == (0, len(nodes))
        assert done[-1] == known[-1] >= len(nodes) + 3  # two products and what is computed on them, and Neg
    assert rows == 3


def test_a_first_run_with_progress_names_the_node_of_an_error(rng):
    nodes = [("Relu", ["x"], ["r"]), ("Gather", ["r", "at"], ["y"])]
    model = ep.onnx.load(model_of(nodes, [("x", (3,)), ("at", (2,), TensorProto.INT64)], [("y", (2,))]))
    with pytest.raises(IndexError) as caught:
        model.run(None, {"x": rng.random(3, np.float32), "at": np.array([0, 3])}, lambda done, planned: None)
    assert caught.value.__notes__ == ["in node 'n1' (Gather)"]


def test_outputs_stay_as_they_are(device, rng):
    nodes, weights, expected = layers(rng)
    model = ep.onnx.load(
        model_of(nodes, [("h0", ("n", 7))], [("h5", ("n", 7)), ("t2", ("n", 7))], weights), device.type
    )
    given = [rng.standard_normal((rows, 7), np.float32) for rows in (3, 11, 3, 11, 3)]
    found = [model(h0=x) for x in given]
    for x, (h5, t2) in zip(given, found, strict=True):
        np.testing.assert_allclose(copy_to_host(h5), expected(x), rtol=1e-4, atol=1e-5)
        (again,) = model.run(["h5"], {"h0": x})  # this run has another plan
        np.testing.assert_array_equal(copy_to_host(again), copy_to_host(h5))
        np.testing.assert_array_equal(copy_to_host(model(h0=x)[1]), copy_to_host(t2))


def test_outputs_that_are_inputs_constants_or_each_other(device, rng):
    w = rng.standard_normal((2, 3), np.float32)
    nodes = [
        ("Identity", ["x"], ["a"]),
        ("Identity", ["x"], ["b"]),
        ("Cast", ["x"], ["wide"], {"to": TensorProto.DOUBLE}),
        ("Cast", ["wide"], ["c"], {"to": TensorProto.FLOAT}),
        ("Identity", ["w"], ["d"]),
        ("Abs", ["x"], ["e"]),
        ("Flatten", ["e"], ["f"], {"axis": 0}),
        ("Shape", ["x"], ["g"]),
    ]
    shapes = {"f": (1, 6), "g": (2,)}
    outputs = [
        (name, shapes.get(name, (2, 3)), TensorProto.INT64 if name == "g" else TensorProto.FLOAT) for name in "abcdefg"
    ]
    model = ep.onnx.load(model_of(nodes, [("x", (2, 3))], outputs, [("w", w)]), device.type)
    x = rng.standard_normal((2, 3), np.float32)
    wanted = (x, x, x, w, abs(x), abs(x).reshape(1, 6), np.array([2, 3]))
    for _ in range(2):
        found = model(x=x)
        for one, expected in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(copy_to_host(one), expected)
        if device.type.tag == "cpu":
            for k, one in enumerate(found):
                assert not any(np.shares_memory(one, other) for other in (x, *found[:k]))
                one[...] = 0  # the next run computes all of them again
                assert x.any()


def test_normalisations_become_part_of_convolutions(rng):
    w, b = rng.standard_normal((4, 3, 3, 3), np.float32), rng.standard_normal(4, np.float32)
    numbers = [(name, rng.random(4, np.float32) + 0.5) for name in ("scale", "offset", "mean", "variance")]
    nodes = [
        ("Conv", ["x", "w", "b"], ["c"], {"pads": [1, 1, 1, 1]}),
        ("BatchNormalization", ["c", *(name for name, _ in numbers)], ["n"], {"epsilon": 1e-3}),
        ("Relu", ["n"], ["y"]),
    ]
    given = [("x", (2, 3, 5, 6))], [("y", (2, 4, 5, 6))], [("w", w), ("b", b), *numbers]
    x = rng.standard_normal((2, 3, 5, 6), np.float32)
    model = ep.onnx.load(model_of(nodes, *given))
    assert "nodes: 3; left when the model is loaded: 2" in model.explain()
    (plain,) = ep.onnx.load(model_of(nodes[:1], given[0], [("c", (2, 4, 5, 6))], given[2]))(x=x)
    scale, offset, mean, variance = (one.reshape(-1, 1, 1) for _, one in numbers)
    expected = np.maximum((plain - mean) / np.sqrt(variance + 1e-3) * scale + offset, 0)
    np.testing.assert_allclose(model(x=x)[0], expected, rtol=1e-4, atol=1e-5)
    # a value with another reader is not folded away
    both = model_of(nodes, given[0], [*given[1], ("c", (2, 4, 5, 6))], given[2])
    np.testing.assert_array_equal(ep.onnx.load(both)(x=x)[1], plain)


def test_squares_are_products(rng):
    """x to the power of 2 is x times x, to the bit; an exponent with axes may change the shape of the result."""
    nodes = [("Pow", ["x", "two"], ["y"]), ("Pow", ["x", "twos"], ["z"])]
    constants = [("two", np.float32(2)), ("twos", np.full((1, 1, 1), 2, np.float32))]
    model = ep.onnx.load(model_of(nodes, [("x", (5, 7))], [("y", (5, 7)), ("z", (1, 5, 7))], constants))
    x = rng.standard_normal((5, 7), np.float32)
    y, z = model(x=x)
    np.testing.assert_array_equal(y, x * x)
    np.testing.assert_allclose(z, [x * x], rtol=1e-6)
    assert "mul" in model.explain()


def test_convolutions_in_memory_that_is_used_again(rng):
    """Operators do not reuse data that they keep for one call's arrays: calls with other sizes, and other threads, come
    between.
    """
    of_each, w = rng.standard_normal((4, 1, 3, 3), np.float32), rng.standard_normal((12, 4, 3, 3), np.float32)
    nodes = [
        ("Relu", ["x"], ["r"]),
        ("Conv", ["r", "of_each"], ["d"], {"pads": [1] * 4, "group": 4}),
        ("Conv", ["d", "of_each"], ["e"], {"pads": [1] * 4, "group": 4}),
        ("Conv", ["e", "w"], ["y"], {"pads": [1] * 4, "strides": [2, 2]}),
    ]
    constants = [("of_each", of_each), ("w", w)]
    model = ep.onnx.load(model_of(nodes, [("x", (1, 4, "h", "w"))], [("y", (1, 12, None, None))], constants))
    given = [rng.standard_normal((1, 4, *sizes), np.float32) for sizes in ((9, 11), (24, 40), (9, 11), (7, 5))]

    def expected(x):
        x = ops.relu(x)
        for _ in range(2):
            x = ops.conv(x, of_each, pads=1, groups=4)
        return ops.conv(x, w, pads=1, strides=2)

    for x in given * 3:
        np.testing.assert_array_equal(model(x=x)[0], expected(x))


def test_sizes_that_depend_on_data(device, rng):
    nodes = [
        ("Greater", ["x", "zero"], ["above"]),
        ("NonZero", ["above"], ["places"]),
        ("Squeeze", ["places", "axis"], ["at"]),
        ("Gather", ["x", "at"], ["some"]),
        ("Shape", ["some"], ["count"]),
        ("Mul", ["some", "x2"], ["y"]),
    ]
    constants = [("zero", np.zeros((), np.float32)), ("axis", np.array([0])), ("x2", np.full(1, 2, np.float32))]
    outputs = [("y", (None,)), ("count", (1,), TensorProto.INT64), ("above", ("n",), TensorProto.BOOL)]
    model = ep.onnx.load(model_of(nodes, [("x", ("n",))], outputs, constants), device.type)
    for size in (5, 9, 5, 0):
        x = rng.standard_normal(size).astype(np.float32)
        y, count, above = map(copy_to_host, model(x=x))
        np.testing.assert_array_equal(y, 2 * x[x > 0])
        np.testing.assert_array_equal(count, [(x > 0).sum()])
        np.testing.assert_array_equal(above, x > 0)
    assert "node 'n1' (NonZero)" in model.explain(x=(5,))


def test_an_error_of_a_launch_names_its_node(rng):
    nodes = [("Abs", ["x"], ["a"]), ("Gather", ["a", "at"], ["y"])]
    model = ep.onnx.load(model_of(nodes, [("x", (3,)), ("at", (1,), TensorProto.INT64)], [("y", (1,))]))
    x = np.ones(3, np.float32)
    with pytest.raises(IndexError, match="3") as caught:
        model(x=x, at=np.array([3]))
    assert caught.value.__notes__ == ["in node 'n1' (Gather)"]
    np.testing.assert_array_equal(model(x=x, at=np.array([2]))[0], [1])


def test_explain_says_what_a_plan_has(rng):
    nodes, weights, _ = layers(rng)
    shape = ("Shape", ["h0"], ["sizes"])
    model = ep.onnx.load(
        model_of([shape, *nodes], [("h0", ("n", 7))], [("h5", ("n", 7)), ("sizes", (2,), TensorProto.INT64)], weights)
    )
    said = model.explain(h0=(3, 7))
    for words in ("product kernel of matmul tanh add", "nodes: 16", "980 bytes", "1 values that follow"):
        assert words in said
    with pytest.raises(ValueError, match="h0 has free sizes"):
        model.explain()
    with pytest.raises(ValueError, match="the model has no z"):
        model.explain(h0=(3, 7), z=(1,))
    with pytest.raises(ValueError, match=r"h0 has shape \(3, 8\)"):
        model.explain(h0=(3, 8))


def test_values_in_one_piece_of_memory_do_not_meet(rng):
    for _ in range(200):
        number, steps = rng.integers(0, 40), 30
        spans = []
        for _ in range(number):
            first = int(rng.integers(0, steps))
            spans.append(
                Span(int(rng.choice([0, 64, 100, 4096, 50_000])), first, first + int(rng.choice([0, 1, 1, 2, 9])))
            )
        offsets, total = places_of(spans)
        for k, (one, at) in enumerate(zip(spans, offsets, strict=True)):
            assert at % 64 == 0
            assert at + one.num_bytes <= total
            for other, there in zip(spans[:k], offsets[:k], strict=True):
                if one.first <= other.last and other.first <= one.last:
                    assert at + one.num_bytes <= there or there + other.num_bytes <= at or not one.num_bytes


def test_a_chain_takes_what_is_needed_at_once():
    sizes = [64 * k for k in (5, 3, 9, 2, 9, 4, 1, 8)]
    spans = [Span(size, step, step + 1) for step, size in enumerate(sizes)]
    most = max(a + b for a, b in itertools.pairwise(sizes))
    assert places_of(spans)[1] <= 1.1 * most


def test_constants_are_in_memory_once(rng):
    """Of each weight, aligned memory is the only copy after a run, whether the model has a tensor or a node for it."""
    tensor, value = (rng.standard_normal((1009, 1013), np.float32) for _ in range(2))
    nodes = [
        ("Constant", [], ["v"], {"value": numpy_helper.from_array(value)}),
        ("MatMul", ["x", "w"], ["p"]),
        ("MatMul", ["x", "v"], ["q"]),
        ("Add", ["p", "q"], ["y"]),
    ]
    given = [("x", (2, 1009))], [("y", (2, 1013))], [("w", tensor)]
    contents, x = model_of(nodes, *given).SerializeToString(), rng.standard_normal((2, 1009), np.float32)
    ep.onnx.load(contents)(x=x)  # what is imported, and kept of kernels
    gc.collect()  # models that are in memory share their weights
    tracemalloc.start()
    try:
        model = ep.onnx.load(contents)
        (y,) = model(x=x)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(y, x @ tensor + x @ value, rtol=1e-4, atol=1e-3)
    assert 1 <= held / (tensor.nbytes + value.nbytes) < 1.3


def test_models_of_many_sizes_share_memory(rng):
    nodes, weights, _ = layers(rng)
    model = ep.onnx.load(model_of(nodes, [("h0", ("n", 7))], [("h5", ("n", 7))], weights))
    for rows in range(1, 20):
        model(h0=np.ones((rows, 7), np.float32))
    (arena,) = model._stored.planner._known.arenas
    assert arena.num_bytes < 19 * 7 * 4 * 4
