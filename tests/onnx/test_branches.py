"""If: conditions that are constants, computed from shapes, or data; and names in branches."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import ep.onnx
from ep.ops import copy_to_host

F, B = TensorProto.FLOAT, TensorProto.BOOL


def branch(nodes, output, constants=()):
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in constants]
    return helper.make_graph(nodes, "branch", [], [helper.make_tensor_value_info(output, F, None)], tensors)


def model_of(nodes, inputs, constants=()):
    """Return a model with the output y; inputs: name, type and shape."""
    infos = [helper.make_tensor_value_info(*one) for one in inputs]
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in constants]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_tensor_value_info("y", F, ("rows", 3))], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def chosen(condition, then_branch, else_branch, name="choice"):
    return helper.make_node("If", [condition], ["y"], name=name, then_branch=then_branch, else_branch=else_branch)


TIMES = branch([helper.make_node("Mul", ["h", "c"], ["t"])], "t", [("c", np.float32(3))])
PLUS = branch([helper.make_node("Add", ["h", "c"], ["t"])], "t", [("c", np.float32(5))])
"""Both branches have their own constant c and value t, and read h of the enclosing graph."""

HIDDEN = helper.make_node("Relu", ["x"], ["h"])
X = ("x", F, ("rows", 3))


@pytest.mark.parametrize("scalar", [True, False])
def test_a_condition_of_data(device, rng, scalar):
    given = model_of([HIDDEN, chosen("on", TIMES, PLUS)], [X, ("on", B, () if scalar else (1,))])
    model, x = ep.onnx.load(given, device.type), rng.standard_normal((2, 3), np.float32)
    for on in (True, False, True):
        (y,) = model(x=x, on=np.full(() if scalar else 1, on))
        np.testing.assert_array_equal(copy_to_host(y), np.maximum(x, 0) * 3 if on else np.maximum(x, 0) + 5)


def test_a_condition_of_shapes_in_a_branch(device, rng):
    sizes = [
        helper.make_node("Shape", ["x"], ["s"], end=1),
        helper.make_node("Equal", ["s", "two"], ["is_two"]),
    ]
    inner = branch([*sizes, chosen("is_two", TIMES, PLUS, "inner")], "y", [("two", np.array([2]))])
    inner.node[-1].output[0] = inner.output[0].name = "z"
    plain = branch([helper.make_node("Identity", ["h"], ["same"])], "same")
    given = model_of([HIDDEN, chosen("on", inner, plain)], [X, ("on", B, ())])
    model = ep.onnx.load(given.SerializeToString(), device.type)
    for rows, on in ((2, True), (4, True), (2, False), (0, True), (2, True)):
        x = rng.standard_normal((rows, 3), np.float32)
        h = np.maximum(x, 0)
        (y,) = model(x=x, on=np.array(on))
        np.testing.assert_array_equal(copy_to_host(y), (h * 3 if rows == 2 else h + 5) if on else h)


@pytest.mark.parametrize("on", [True, False])
def test_a_condition_that_is_a_constant(rng, on):
    given = model_of([HIDDEN, chosen("on", TIMES, PLUS)], [X], [("on", np.array(on))])
    x = rng.standard_normal((5, 3), np.float32)
    np.testing.assert_array_equal(ep.onnx.load(given)(x=x)[0], np.maximum(x, 0) * 3 if on else np.maximum(x, 0) + 5)


def test_what_is_wrong_in_a_branch_is_named(tmp_path):
    def loaded(node, constants=()):
        wrong = branch([node], node.output[0], constants)
        return ep.onnx.load(model_of([HIDDEN, chosen("on", wrong, PLUS)], [X, ("on", B, ())]))

    with pytest.raises(ep.onnx.UnsupportedError, match="node 'u': no operator serves Unique of opset 20"):
        loaded(helper.make_node("Unique", ["h"], ["t"], name="u"))
    with pytest.raises(ep.onnx.ModelError, match=r"topologically sorted|nothing before it gives"):
        loaded(helper.make_node("Relu", ["later"], ["t"]))
    with pytest.raises(ep.onnx.ModelError, match=r"\(SSA\) form, however 'h'"):
        loaded(helper.make_node("Relu", ["x"], ["h"]))
    with pytest.raises(ep.onnx.ModelError, match=r"'x', which there is already"):
        loaded(helper.make_node("Relu", ["x"], ["t"]), [("x", np.float32(3))])


def test_tensors_of_branches_outside_of_the_folder_are_refused(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "weights").write_bytes(bytes(100))
    given = model_of([HIDDEN, chosen("on", TIMES, PLUS)], [X, ("on", B, ())])
    for tensor in [one.g.initializer[0] for one in given.graph.node[1].attribute]:
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="../weights")
    path = tmp_path / "inner" / "model.onnx"
    path.write_bytes(given.SerializeToString())
    with pytest.raises(ep.onnx.ModelError, match="not a file in the folder of the model"):
        ep.onnx.load(path)


@pytest.mark.parametrize("shape", [(2,), (0,)])
@pytest.mark.parametrize("is_fixed", [True, False])
def test_a_condition_of_several_elements(shape, is_fixed):
    on = np.full(shape, True)
    given = [("on", on)] if is_fixed else []
    model = ep.onnx.load(
        model_of([HIDDEN, chosen("on", TIMES, PLUS)], [X] if is_fixed else [X, ("on", B, shape)], given)
    )
    with pytest.raises(ValueError, match=r"cond has shape .* one element") as caught:
        model(x=np.zeros((2, 3), np.float32), **({} if is_fixed else {"on": on}))
    assert "in node 'choice' (If)" in caught.value.__notes__
