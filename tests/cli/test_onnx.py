"""ep onnx check."""

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
    ("contents", "words"), [(b"\xff" * 9, "it is not an ONNX model"), (b"", "not a valid ONNX model")]
)
def test_a_file_that_is_no_model(ep, tmp_path, contents, words):
    path = tmp_path / "model.onnx"
    path.write_bytes(contents)
    done = ep("onnx", "check", path)
    assert done.code == 1
    assert words in done.err


def test_a_file_that_there_is_not(ep, tmp_path):
    done = ep("onnx", "check", tmp_path / "model.onnx")
    assert done.code == 1
    assert "No such file" in done.err


def test_without_the_package_the_extra_is_named(ep, monkeypatch):
    for name in [name for name in sys.modules if name == "ep.onnx" or name.startswith(("ep.onnx.", "onnx."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(ep_package, "onnx", raising=False)
    monkeypatch.setitem(sys.modules, "onnx", None)
    done = ep("onnx", "check", "model.onnx")
    assert done.code == 1
    assert "pip install 'ep-primitives[onnx]'" in done.err
