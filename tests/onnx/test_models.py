"""Models: loading, inputs and outputs, several sizes, and errors in files."""

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import ep.onnx
from ep.ops import copy_to_host

F = TensorProto.FLOAT


def model_of(nodes, inputs, outputs, constants=(), opset=20):
    """Return a model; inputs and outputs: name, shape, and optionally a type (float32 by default)."""

    def info(name, shape, kind=F):
        return helper.make_tensor_value_info(name, kind, shape)

    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in constants]
    graph = helper.make_graph(
        [helper.make_node(*one[:3], name=f"n{k}", **(one[3] if len(one) > 3 else {})) for k, one in enumerate(nodes)],
        "g",
        [info(*one) for one in inputs],
        [info(*one) for one in outputs],
        tensors,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


@pytest.fixture
def perceptron(rng):
    """Return a model of two layers, and its weights; the result of the second layer is reshaped by the sizes of the
    input.
    """
    w, b = rng.standard_normal((5, 3), np.float32), rng.standard_normal(3, np.float32)
    nodes = [
        ("Shape", ["x"], ["sizes"], {"end": 1}),
        ("Constant", [], ["one"], {"value_ints": [1]}),
        ("Concat", ["sizes", "one", "one"], ["column"], {"axis": 0}),
        ("Gemm", ["x", "w", "b"], ["h"]),
        ("Relu", ["h"], ["r"]),
        ("ReduceSum", ["r", "one"], ["s"], {"keepdims": 0}),
        ("Reshape", ["s", "column"], ["y"]),
    ]
    return model_of(nodes, [("x", ("n", 5))], [("y", ("n", 1, 1)), ("r", ("n", 3))], [("w", w), ("b", b)]), w, b


def test_a_model_of_several_sizes(device, rng, perceptron):
    given, w, b = perceptron
    model = ep.onnx.load(given.SerializeToString(), device.type)
    assert model.inputs == (("x", np.dtype(np.float32), ("n", 5)),)
    assert [one.name for one in model.outputs] == ["y", "r"]
    for rows in (2, 7, 2, 0, 7):
        x = rng.standard_normal((rows, 5), np.float32)
        hidden = np.maximum(x @ w + b, 0)
        y, r = map(copy_to_host, model(x=x))
        np.testing.assert_allclose(r, hidden, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(y, hidden.sum(1).reshape(rows, 1, 1), rtol=1e-5, atol=1e-6)
        (only,) = model.run(["y"], {"x": ep.ops.copy_to_device(x, device.type)})
        np.testing.assert_array_equal(copy_to_host(only), y)
    assert "operator of matmul" in model.explain(x=(4, 5))


def test_a_model_in_a_file(tmp_path, rng, perceptron):
    given, *_ = perceptron
    path, x = tmp_path / "model.onnx", rng.standard_normal((4, 5), np.float32)
    path.write_bytes(given.SerializeToString())
    (expected, _), (found, _) = ep.onnx.load(given)(x=x), ep.onnx.load(path)(x=x)
    np.testing.assert_array_equal(found, expected)
    onnx.save(given, tmp_path / "apart.onnx", save_as_external_data=True, location="weights", size_threshold=0)
    np.testing.assert_array_equal(ep.onnx.load(str(tmp_path / "apart.onnx"))(x=x)[0], expected)


@pytest.mark.parametrize("location", ["../weights", "/etc/passwd", "none"])
def test_tensors_outside_of_the_folder_are_refused(tmp_path, perceptron, location):
    given, *_ = perceptron
    (tmp_path / "weights").write_bytes(bytes(100))
    (tmp_path / "inner").mkdir()
    tensor = given.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    path = tmp_path / "inner" / "model.onnx"
    path.write_bytes(given.SerializeToString())
    with pytest.raises(ep.onnx.ModelError, match="not a file in the folder of the model"):
        ep.onnx.load(path)
    with pytest.raises(ep.onnx.ModelError, match="load the model by its path"):
        ep.onnx.load(given.SerializeToString())


def test_a_tensor_behind_the_end_of_its_file_is_refused(tmp_path, perceptron):
    given, *_ = perceptron
    onnx.save(given, tmp_path / "apart.onnx", save_as_external_data=True, location="weights", size_threshold=0)
    (tmp_path / "weights").write_bytes(bytes(8))
    with pytest.raises(ep.onnx.ModelError, match="ends behind the end"):
        ep.onnx.load(tmp_path / "apart.onnx")


@pytest.mark.parametrize(
    ("inputs", "error", "words"),
    [
        ({}, ValueError, "x is missing"),
        ({"x": np.zeros((2, 5), np.float32), "z": 1}, ValueError, "the model has no z"),
        ({"x": np.zeros((2, 5))}, TypeError, "input x has dtype float64; it must be float32"),
        ({"x": np.zeros((2, 4), np.float32)}, ValueError, r"input x has shape \(2, 4\)"),
        ({"x": np.zeros(5, np.float32)}, ValueError, "it must have 2 axes"),
    ],
)
def test_inputs_that_do_not_fit(perceptron, inputs, error, words):
    with pytest.raises(error, match=words):
        ep.onnx.load(perceptron[0]).run(None, inputs)


def test_sizes_with_one_name_are_equal():
    model = ep.onnx.load(model_of([("Add", ["x", "y"], ["z"])], [("x", ("n",)), ("y", ("n",))], [("z", ("n",))]))
    with pytest.raises(ValueError, match="input y has 1 elements along axis 0; axis 0 of x has 3, and both are n"):
        model(x=np.zeros(3, np.float32), y=np.zeros(1, np.float32))


def test_outputs_that_there_are_not(perceptron):
    with pytest.raises(ValueError, match="the model has no q"):
        ep.onnx.load(perceptron[0]).run(["q"], {})


def test_all_that_nothing_serves_is_named_at_once():
    nodes = [("Det", ["x"], ["v"]), ("Dropout", ["v", "", "t"], ["y"]), ("Unique", ["x"], ["u"])]
    inputs = [("x", (4, 4)), ("t", (), TensorProto.BOOL)]
    with pytest.raises(ep.onnx.UnsupportedError) as caught:
        ep.onnx.load(model_of(nodes, inputs, [("y", ()), ("u", (None,))]))
    assert len(caught.value.reasons) == 3
    assert "node 'n0': no operator serves Det of opset 20" in caught.value.reasons
    with pytest.raises(ep.onnx.UnsupportedError, match="opset 6; it must have one of 7 to"):
        ep.onnx.load(model_of([("Relu", ["x"], ["y"])], [("x", (1,))], [("y", (1,))], opset=6))


def test_one_node_by_itself(rng):
    node = helper.make_node("LayerNormalization", ["x", "s"], ["y"], axis=-1)
    x, s = rng.standard_normal((3, 8), np.float32), rng.standard_normal(8, np.float32)
    (y,) = ep.onnx.Backend.run_node(node, [x, s])
    rest = x - x.mean(1, keepdims=True)
    np.testing.assert_allclose(y, rest / np.sqrt((rest**2).mean(1, keepdims=True) + 1e-5) * s, rtol=2e-5, atol=1e-6)


def test_shrink_of_what_is_no_number_is_0():
    """NaN is neither above lambd nor below -lambd."""
    x = np.float32([np.nan, 3, -3, 0.5])
    node = helper.make_node("Shrink", ["x"], ["y"], bias=0.75, lambd=1.5)
    (y,) = ep.onnx.Backend.run_node(node, [x])
    np.testing.assert_array_equal(y, np.float32([0, 2.25, -2.25, 0]))


def test_the_document_runs():
    text = (Path(__file__).parents[2] / "docs/onnx.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(block, "docs/onnx.md", "exec"), {})
