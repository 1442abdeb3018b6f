"""The runtimes that models are compared with."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from benchmarks import models, runtimes


def product(w):
    """Return the bytes of a model that multiplies by w."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, (None, w.shape[k])) for k, name in enumerate("xy"))
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "product", [x], [y])
    graph.initializer.append(numpy_helper.from_array(w, "w"))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()


@pytest.mark.parametrize("name", runtimes.NAMES)
def test_outputs_are_float32_and_new_arrays(name):
    pytest.importorskip(name)
    rng = np.random.default_rng(3)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((7, 301), (301, 5)))
    call = runtimes.prepared(name, product(w), {"x": x}, 1)
    (first,), (second,) = call(), call()
    np.testing.assert_allclose(first, x.astype(np.float64) @ w, rtol=1e-4, atol=1e-4)
    assert not np.shares_memory(first, second)


def test_missing_ones_are_named(monkeypatch, capsys):
    monkeypatch.setattr(runtimes, "find_spec", lambda name: None if name == "openvino" else name)
    assert runtimes.installed() == ["onnxruntime"]
    assert capsys.readouterr().out == "OpenVINO is left out: the package openvino is not installed\n"
    assert runtimes.installed(["onnxruntime"]) == ["onnxruntime"]
    assert capsys.readouterr().out == ""


def test_a_cell_is_empty_if_a_runtime_cannot_load_the_model(monkeypatch, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(product(np.ones((3, 2), np.float32)))
    model = models.Model("product", "nothing", "model.onnx", {"x": (5, 3)})
    monkeypatch.setattr(models.Model, "path", lambda one: path)
    monkeypatch.setattr(models, "MODELS", (model,))
    monkeypatch.setattr(models.Model, "inputs", lambda one, rng: {"x": np.ones((5, 3), np.float32)})
    monkeypatch.setattr(models, "_SECONDS", 0.01)
    outputs = [np.full((5, 2), 4, np.float32)]
    makers = {"refuses": lambda *given: None, "accepts": lambda *given: lambda: outputs}
    monkeypatch.setattr(runtimes, "_MAKERS", makers)
    monkeypatch.setattr(runtimes, "NAMES", {"refuses": "one", "accepts": "other"})
    *_, row = models._rows(1, ["refuses", "accepts"], 1)
    what, package, nodes, distance, *times = row.strip("| ").split(" | ")
    assert (what, package, nodes, float(distance)) == ("product", "nothing", "1", 0.25)
    assert [time == "" for time in times] == [True, False, False, True, False]
