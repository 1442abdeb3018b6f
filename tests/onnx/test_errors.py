"""Errors of planning: sizes that contradict each other deep in a graph, the node, and the inputs they follow from."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import ep.onnx
from tests.onnx.test_models import model_of

F = TensorProto.FLOAT


def notes_of(model, error=ValueError, **inputs):
    """Return the notes of the error that a run raises, of its first run and of a second one: both are the same."""
    found, loaded = [], ep.onnx.load(model)
    for _ in range(2):
        with pytest.raises(error) as caught:
            loaded(**inputs)
        found.append(caught.value.__notes__)
    assert found[0] == found[1]
    return found[0]


def test_inputs_of_a_node():
    model = model_of([("Add", ["x", "y"], ["z"])], [("x", ("n",)), ("y", ("m",))], [("z", (None,))])
    assert notes_of(model, x=np.zeros(3, np.float32), y=np.zeros(2, np.float32)) == [
        "in node 'n0' (Add)",
        "it reads 'x' of shape (3,), an input; 'y' of shape (2,), an input",
    ]


def test_sizes_that_follow_from_one_input():
    """The sizes of the other input are right."""
    nodes = [
        ("Relu", ["x"], ["r"]),
        ("Shape", ["x"], ["sizes"], {"start": 1}),
        ("Concat", ["sizes", "all"], ["turned"], {"axis": 0}),
        ("Reshape", ["r", "turned"], ["t"]),
        ("Tanh", ["y"], ["u"]),
        ("MatMul", ["t", "w"], ["p"]),
        ("Add", ["p", "u"], ["z"]),
    ]
    constants = [("all", np.array([-1])), ("w", np.zeros((4, 3), np.float32))]
    model = model_of(nodes, [("x", ("n", "k")), ("y", (3,))], [("z", (None, 3))], constants)
    assert ep.onnx.load(model)(x=np.zeros((4, 7), np.float32), y=np.zeros(3, np.float32))[0].shape == (7, 3)
    assert notes_of(model, x=np.zeros((5, 7), np.float32), y=np.zeros(3, np.float32)) == [
        "in node 'n5' (MatMul)",
        "it reads 't' of shape (7, 5), which follows from the input 'x' of shape (5, 7); "
        "'w' of shape (4, 3), a constant",
    ]


def test_sizes_that_follow_from_several_inputs_and_from_constants():
    nodes = [
        ("Concat", ["x", "y"], ["c"], {"axis": 0}),
        ("Expand", ["one", "sizes"], ["e"]),
        ("Mul", ["c", "e"], ["z"]),
    ]
    constants = [("one", np.ones(1, np.float32)), ("sizes", np.array([5, 1]))]
    model = model_of(nodes, [("x", ("n", 2)), ("y", ("m", 2))], [("z", (None, 2))], constants)
    x, y = np.zeros((3, 2), np.float32), np.zeros((4, 2), np.float32)
    assert ep.onnx.load(model)(x=x, y=y[:2])[0].shape == (5, 2)
    assert notes_of(model, x=x, y=y) == [
        "in node 'n2' (Mul)",
        "it reads 'c' of shape (7, 2), which follows from the inputs 'x' of shape (3, 2) and 'y' of shape (4, 2); "
        "'e' of shape (5, 1), which follows from constants",
    ]


def test_sizes_that_follow_from_data():
    """NonZero ends a plan; the next plan names the node, and the input that the number of places follows from."""
    nodes = [("NonZero", ["x"], ["places"]), ("Neg", ["places"], ["n"]), ("Add", ["n", "y"], ["z"])]
    inputs = [("x", (5,)), ("y", (1, 3), TensorProto.INT64)]
    model = model_of(nodes, inputs, [("z", (1, None), TensorProto.INT64)])
    y = np.zeros((1, 3), np.int64)
    assert ep.onnx.load(model)(x=np.float32([0, 1, 1, 0, 1]), y=y)[0].tolist() == [[-1, -2, -4]]
    assert notes_of(model, x=np.float32([0, 1, 1, 1, 1]), y=y) == [
        "in node 'n2' (Add)",
        "it reads 'n' of shape (1, 4), which follows from the input 'x' of shape (5,); 'y' of shape (1, 3), an input",
    ]


@pytest.mark.parametrize("is_fixed", [True, False])
def test_sizes_in_a_branch(is_fixed):
    branches = {}
    for name, operator in (("then_branch", "Mul"), ("else_branch", "Sub")):
        nodes = [helper.make_node("Neg", ["r"], ["m"], name="inner"), helper.make_node(operator, ["m", "y"], ["o"])]
        branches[name] = helper.make_graph(nodes, name, [], [helper.make_tensor_value_info("o", F, None)])
    inputs = [("x", ("n",)), ("y", ("m",))] + ([] if is_fixed else [("on", (), TensorProto.BOOL)])
    nodes = [("Relu", ["x"], ["r"]), ("If", ["on"], ["z"], branches)]
    model = model_of(nodes, inputs, [("z", (None,))], [("on", np.array(True))] if is_fixed else [])
    given = {"x": np.zeros(3, np.float32), "y": np.zeros(2, np.float32)} | ({} if is_fixed else {"on": np.array(False)})
    node, read = notes_of(model, **given)
    assert node == f"in node '#1' ({'Mul' if is_fixed else 'Sub'})"
    origin = "'x' of shape (3,)" if is_fixed else "'x'"  # later plans do not have all inputs
    assert read.endswith(f"of shape (3,), which follows from the input {origin}; 'y' of shape (2,), an input")


def test_sizes_in_a_loop():
    step = [helper.make_node("Identity", ["c"], ["told"]), helper.make_node("Add", ["s", "y"], ["next"], name="sum")]
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        step,
        "body",
        [info("i", TensorProto.INT64, ()), info("c", TensorProto.BOOL, ()), info("s", F, None)],
        [info("told", TensorProto.BOOL, ()), info("next", F, None)],
    )
    nodes = [("Relu", ["x"], ["r"]), ("Loop", ["most", "", "r"], ["z"], {"body": body})]
    model = model_of(nodes, [("x", ("n",)), ("y", ("m",))], [("z", (None,))], [("most", np.array(2))])
    x, y = np.zeros(3, np.float32), np.zeros(2, np.float32)
    assert ep.onnx.load(model)(x=x, y=x)[0].shape == (3,)
    inner, read, outer, *_ = notes_of(model, x=x, y=y)
    assert (inner, outer) == ("in node 'sum' (Add)", "in node 'n1' (Loop)")
    assert read.startswith("it reads 'n1.body.s' of shape (3,), which follows from the inputs 'x' and 'y'")
