"""`ep run MODEL.onnx` and `ep bench --onnx`: results, and errors that leave no files behind."""

import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ep.cli import bench_model
from ep.common import notice


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a model of two inputs and two outputs, and its inputs."""
    monkeypatch.chdir(tmp_path)

    def info(name, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, ("n", 3))

    nodes = [helper.make_node("Add", ["x", "b"], ["sum"]), helper.make_node("Relu", ["sum"], ["y"])]
    graph = helper.make_graph(nodes, "g", [info("x"), info("b")], [info("y"), info("sum")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), "m.onnx")
    rng = np.random.default_rng(3)
    for name, shape in (("x", (5, 3)), ("b", (5, 3)), ("long", (5, 4)), ("double", (5, 3))):
        np.save(f"{name}.npy", rng.standard_normal(shape).astype(np.float64 if name == "double" else np.float32))
    return tmp_path


INPUTS = ("--input", "x=x.npy", "--input", "b=b.npy")


def test_outputs_are_written(ep, folder, device):
    done = ep("run", "m.onnx", *INPUTS, "--out", "y=y.npy", "--out", "sum=s.npy", "--device", device)
    assert done.code == 0, done.err
    expected = np.load("x.npy") + np.load("b.npy")
    np.testing.assert_array_equal(np.load("s.npy"), expected)
    np.testing.assert_array_equal(np.load("y.npy"), np.maximum(expected, 0))
    assert [line.split(",")[0] for line in done.out.splitlines()] == ["y.npy: float32", "s.npy: float32"]
    assert ep("run", "m.onnx", *INPUTS, "-o", "y=y.npy", "--quiet", "--device", device).out == ""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((*INPUTS, "--out", "z=z.npy"), 2, "--out: the model has no 'z'; it has y, sum"),
        ((*INPUTS, "--input", "x=x.npy", "--out", "y=z.npy"), 2, "--input: x is given twice"),
        ((*INPUTS[:2], "--out", "y=z.npy"), 1, "inputs: b is missing; the model takes x, b"),
        ((*INPUTS[:2], "--input", "b=none.npy", "--out", "y=z.npy"), 1, "none.npy cannot be read"),
        ((*INPUTS[:2], "--input", "b=long.npy", "--out", "y=z.npy"), 1, "input b has shape (5, 4)"),
        ((*INPUTS[:2], "--input", "b=double.npy", "--out", "y=z.npy"), 1, "input b has dtype float64"),
        ((*INPUTS, "--out", "y=none/z.npy"), 1, "there is no folder"),
        ((*INPUTS, "--out", "y"), 2, "'y' must be NAME=VALUE"),
        (INPUTS, 2, "--out"),
    ],
)
def test_what_is_wrong_is_said(ep, folder, words, code, said):
    done = ep("run", "m.onnx", *words)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert done.err.startswith("ep run: error: ")
    assert not (folder / "z.npy").exists()


def test_a_file_that_is_no_model(ep, folder):
    (folder / "bad.onnx").write_bytes(b"\xff" * 9)
    assert "it is not an ONNX model" in ep("run", "bad.onnx", "--out", "y=y.npy").err
    assert "No such file" in ep("run", "none.onnx", "--out", "y=y.npy").err


def test_a_model_is_timed(ep, folder, monkeypatch):
    monkeypatch.setattr(bench_model, "_SECONDS", 0.01)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    done = ep("bench", "--onnx", "m.onnx", "--shape", "x=4,3", "--shape", "b=4,3", "--format", "json")
    assert done.code == 0, done.err
    (found,) = done.json()["devices"]
    assert found["shapes"] == {"x": [4, 3], "b": [4, 3]}
    assert 0 < found["seconds"]["ep"] <= found["first_seconds"]["ep"]
    assert found["right"] is None
    assert "ONNX Runtime is not installed" in ep("bench", "--onnx", "m.onnx").out


@pytest.mark.parametrize("command", ["run", "quiet", "bench"])
def test_counts_are_shown_on_a_terminal_alone(ep, folder, monkeypatch, command):
    """They appear on stderr, so that a result may go to stdout."""
    monkeypatch.setattr(bench_model, "_SECONDS", 0.01)
    monkeypatch.setattr(notice, "_LATE", 0.0)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    words = ("bench", "--onnx", "m.onnx", "--format", "json") if command == "bench" else ("run", "m.onnx", *INPUTS)
    if command != "bench":
        words = *words, "--out", "y=y.npy", *(["--quiet"] if command == "quiet" else [])
    for name, is_terminal in (("without", False), ("with", True)):
        monkeypatch.setenv("EP_CACHE_DIR", str(folder / name))  # no plan is on disk
        monkeypatch.setattr(notice, "_is_terminal", lambda is_terminal=is_terminal: is_terminal)
        done = ep(*words)
        assert done.code == 0
        assert ("steps done" in done.err) == (is_terminal and command != "quiet")
        assert "steps" not in done.out


def test_a_model_is_compared(folder, monkeypatch, ep):
    monkeypatch.setattr(bench_model, "_SECONDS", 0.01)
    x = np.zeros((1, 3), np.float32)
    for result, code in (([x, x], 1), (None, 0)):
        made = ep_results(result)
        monkeypatch.setattr(bench_model, "_onnxruntime", lambda arguments, inputs, made=made: made(inputs))
        assert ep("bench", "--onnx", "m.onnx").code == code


def ep_results(result):
    """Return a mock of ONNX Runtime, which returns a given result, or the right one for None."""

    def run(inputs):
        total = inputs["x"] + inputs["b"]
        return lambda: [np.maximum(total, 0), total] if result is None else result

    return run


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--shape", "x=4,3"), "--shape is for a model: give --onnx, too"),
        (("--onnx", "m.onnx", "--shape", "z=4,3"), "--shape: the model has no 'z'"),
        (("--onnx", "m.onnx", "--shape", "x=a"), "'x=a' must be NAME=SIZES"),
        (("--onnx", "m.onnx", "--shape", "x=4,3"), "both are n"),
        (("--onnx", "m.onnx", "--primitive", "gather"), "--primitive is for primitives"),
    ],
)
def test_options_that_do_not_fit(ep, folder, words, said):
    done = ep("bench", *words)
    assert done.code
    assert said in done.err
