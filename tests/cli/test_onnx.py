"""ep onnx show, and ep onnx check."""

import json
import sys

import onnx
import pytest
from onnx import TensorProto, helper

import ep as ep_package


@pytest.fixture
def model(tmp_path):
    """Return a function that saves a model of operators one after another, of one float32 input of three numbers."""

    def save(*operators):
        values = [helper.make_tensor_value_info(f"v{k}", TensorProto.FLOAT, (3,)) for k in (0, len(operators))]
        nodes = [helper.make_node(name, [f"v{k}"], [f"v{k + 1}"]) for k, name in enumerate(operators)]
        graph = helper.make_graph(nodes, "g", values[:1], values[1:])
        path = tmp_path / "model.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)
        return path

    return save


def test_a_model_that_is_served(ep, model):
    path = model("Relu", "Exp", "Relu")
    done = ep("onnx", "check", path)
    assert done.code == 0
    assert "All 3 nodes are served." in done.out
    assert [line.split() for line in done.out.splitlines() if line.split()[:1] == ["Relu"]] == [["Relu", "2"]]
    as_json = ep("onnx", "check", path, "--format", "json")
    assert json.loads(as_json.out) == {"served": True, "nodes": {"Relu": 2, "Exp": 1}}


def test_a_model_that_is_not(ep, model):
    path = model("Unique", "Relu", "Det")
    done = ep("onnx", "check", path)
    assert done.code == 1
    for name in ("Unique", "Det"):
        assert f"no operator serves {name} of opset 20" in done.out
    found = json.loads(ep("onnx", "check", path, "--format", "json").out)
    assert not found["served"]
    assert len(found["reasons"]) == 2


@pytest.mark.parametrize(
    ("shape", "words"),
    [("3", "input x has shape (3,); it must have 2 axes"), ("2,3", "x1 of shape (2, 3) has 3 columns"), ("2,2", None)],
)
def test_sizes_with_which_a_model_cannot_be_computed(ep, tmp_path, shape, words):
    given, result = (helper.make_tensor_value_info(name, TensorProto.FLOAT, (None, None)) for name in "xy")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "x"], ["y"])], "g", [given], [result])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), tmp_path / "m.onnx")
    done = ep("onnx", "check", tmp_path / "m.onnx", "--shape", f"x={shape}")
    if words is None:
        assert done.code == 0
        return
    assert (done.code, done.out) == (1, "")
    assert words in done.err
    assert done.err.startswith("ep onnx check: error: ")
    assert len(done.err.splitlines()) == 1


def shown(done):
    """Return the rows of tables that a command printed, each as words."""
    assert done.code == 0
    return [line.split() for line in done.out.splitlines()]


def test_what_a_model_has(ep, model):
    path = model("Relu", "Exp", "Relu")
    done = ep("onnx", "show", path)
    rows = shown(done)
    for row in ("input v0 float32 (3,)", "output v3 float32 (3,)", "opset ai.onnx 20", "Relu 2", "Exp 1"):
        assert row.split() in rows
    assert "All 3 nodes are served." in done.out
    found = ep("onnx", "show", path, "--format", "json").json()
    assert found == {
        "inputs": [{"name": "v0", "type": "float32", "shape": [3]}],
        "outputs": [{"name": "v3", "type": "float32", "shape": [3]}],
        "opsets": {"ai.onnx": 20},
        "nodes": {"Relu": 2, "Exp": 1},
        "served": True,
        "reasons": [],
    }


def test_what_a_model_has_that_is_not_served(ep, tmp_path):
    """Nodes of graphs count, weights are no inputs, and types and operators that nothing serves are named."""
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ("rows", None)),
        helper.make_tensor_value_info("words", TensorProto.STRING, (2,)),
        helper.make_tensor_sequence_value_info("many", TensorProto.FLOAT, None),
        helper.make_tensor_value_info("w", TensorProto.FLOAT, (3,)),
    ]
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    branches = {
        f"{name}_branch": helper.make_graph([helper.make_node(kind, ["x"], [f"{name}_y"])], name, [], [out])
        for name, kind in (("then", "Neg"), ("else", "Det"))
        for out in [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, None)]
    }
    nodes = [
        helper.make_node("Add", ["x", "w"], ["sum"]),
        helper.make_node("If", ["c"], ["chosen"], **branches),
        helper.make_node("Fused", ["chosen"], ["y"], domain="some.vendor"),
    ]
    held = [helper.make_tensor("w", TensorProto.FLOAT, (3,), [1.0, 2.0, 3.0])]
    held.append(helper.make_tensor("c", TensorProto.BOOL, (), [True]))
    graph = helper.make_graph(nodes, "g", inputs, [made], held)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("some.vendor", 1)]
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets), path)
    done = ep("onnx", "show", path)
    rows = shown(done)
    for row in (
        *("input x float32 (rows, ?)", "input words string (2,)", "input many sequence (any shape)"),
        *("output y float32 (any shape)", "opset ai.onnx 17, some.vendor 1"),
        *("Add 1", "If 1", "Neg 1", "Det 1", "some.vendor.Fused 1"),
    ):
        assert row.split() in rows
    assert not any(row[:2] == ["input", "w"] for row in rows)
    for reason in ("no operator serves Det of opset 17", "no operator serves some.vendor.Fused", "input 'words'"):
        assert reason in done.out
    found = ep("onnx", "show", path, "--format", "json").json()
    assert (found["served"], len(found["reasons"]), found["nodes"]["Det"]) == (False, 4, 1)


def test_a_model_of_an_old_opset(ep, tmp_path):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (3,)) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", values[:1], values[1:])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 6)]), path)
    done = ep("onnx", "show", path)
    assert ["Relu", "1"] in shown(done)
    assert "the model has opset 6; it must have one of 7 to" in done.out


@pytest.mark.parametrize("command", ["show", "check"])
@pytest.mark.parametrize(
    ("contents", "words"), [(b"\xff" * 9, "it is not an ONNX model"), (b"", "not a valid ONNX model")]
)
def test_a_file_that_is_no_model(ep, tmp_path, command, contents, words):
    path = tmp_path / "model.onnx"
    path.write_bytes(contents)
    done = ep("onnx", command, path)
    assert done.code == 1
    assert f" error: {path}: " in done.err
    assert done.err.count(str(path)) == 1
    assert words in done.err


@pytest.mark.parametrize("command", ["show", "check"])
def test_a_file_that_there_is_not(ep, tmp_path, command):
    done = ep("onnx", command, tmp_path / "model.onnx")
    assert done.code == 1
    assert "No such file" in done.err


@pytest.mark.parametrize("command", ["show", "check"])
def test_without_the_package_the_extra_is_named(ep, monkeypatch, command):
    for name in [name for name in sys.modules if name == "ep.onnx" or name.startswith(("ep.onnx.", "onnx."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(ep_package, "onnx", raising=False)
    monkeypatch.setitem(sys.modules, "onnx", None)
    done = ep("onnx", command, "model.onnx")
    assert done.code == 1
    assert "pip install 'ep-primitives[onnx]'" in done.err
