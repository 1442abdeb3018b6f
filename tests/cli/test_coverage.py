"""ep coverage: the primitives that models need, those that a device lacks, and their shares of the time."""

import json

import pytest
from onnx import TensorProto, helper

BEGIN = """
import contextlib, io, json, warnings
warnings.simplefilter("ignore")
from ep.cli.main import main

def coverage(*arguments):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(["coverage", "numpy", *map(str, arguments)]) == 0
    return said.getvalue()
"""


@pytest.fixture
def saved(tmp_path):
    """Return a function that saves a model of one float32 input x: its nodes, and constants by name."""

    def save(name, nodes, outputs, shape, **constants):
        values = [helper.make_tensor_value_info(one, TensorProto.FLOAT, None) for one in outputs]
        given = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        made = [helper.make_node(kind, read, written, **more) for kind, read, written, more in nodes]
        held = [
            helper.make_tensor(name, TensorProto.FLOAT, sizes, [0.5] * count)
            for name, (sizes, count) in constants.items()
        ]
        graph = helper.make_graph(made, "g", [given], values, held)
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()
        )
        return path

    return save


@pytest.fixture
def mixed(saved):
    """Return the path of a model: two operators of the example device, and two that it lacks."""
    nodes = [
        ("Relu", ["x"], ["r"], {}),
        ("MatMul", ["r", "w"], ["m"], {}),
        ("Neg", ["m"], ["n"], {}),
        ("Relu", ["n"], ["p"], {}),
        ("Softmax", ["p"], ["y"], {}),
    ]
    return saved("mixed", nodes, ["y"], ("rows", 5), w=((5, 3), 15))


def test_primitives_that_are_there_and_that_lack(run_beside, mixed):
    said = run_beside(f"{BEGIN}print(coverage({str(mixed)!r}, '--shape', 'x=700,5', '--format', 'json'))")
    found = json.loads(said)
    assert (found["device"], found["otherwise"]) == ("numpy", "cpu")
    by_name = {one["primitive"]: one for one in found["primitives"]}
    assert {name: (one["has"], one["operators"], one["calls"]) for name, one in by_name.items()} == {
        "ElementwiseUnary(kRelu, kFloat, kFloat)": (True, ["relu"], 2),
        "ElementwiseUnary(kNegative, kFloat, kFloat)": (True, ["negative"], 1),
        "BroadcastMatmul(kFloat)": (False, ["matmul"], 1),
        "Softmax(kFloat)": (False, ["softmax"], 1),
        "Permute()": (False, ["softmax"], 1),
    }
    seconds = [one["seconds"] for one in found["primitives"]]
    assert min(seconds) > 0
    assert seconds == sorted(seconds, reverse=True)
    assert sum(seconds) - by_name["Permute()"]["seconds"] == pytest.approx(found["seconds"])
    assert [one["share"] * found["seconds"] for one in found["primitives"]] == pytest.approx(seconds)
    there = [one["share"] for one in found["primitives"] if one["has"]]
    assert sum(there) == pytest.approx(found["has_share"])


def test_several_models_and_the_table(run_beside, mixed, saved):
    other = saved("other", [("Softmax", ["x"], ["y"], {})], ["y"], (2, 3))
    table = run_beside(f"{BEGIN}print(coverage({str(mixed)!r}, {str(other)!r}))")
    rows = {line.split()[0]: line.split() for line in table.splitlines() if "(" in line}
    assert rows["Softmax(kFloat)"][1:4] == ["no", "softmax", "2"]
    assert rows["ElementwiseUnary(kRelu,"][3:6] == ["yes", "relu", "2"]
    assert all(row[-1].endswith("%") for row in rows.values())
    assert "Operators for which numpy has all primitives take" in table


def test_steps_of_a_layer_and_nodes_after_data_count(run_beside, saved):
    """Each step of a layer calls its operators; a node whose sizes depend on data ends one plan and begins another."""
    shapes = {"w": ((1, 12, 2), 24), "r": ((1, 12, 3), 36)}
    layer = saved("layer", [("LSTM", ["x", "w", "r"], ["y"], {"hidden_size": 3})], ["y"], ("steps", 1, 2), **shapes)
    nodes = [("NonZero", ["x"], ["n"], {}), ("Cast", ["n"], ["f"], {"to": 1}), ("Sin", ["f"], ["y"], {})]
    later = saved("later", nodes, ["y"], (3,))
    said = run_beside(
        f"""{BEGIN}
paths = [[{str(layer)!r}, "--shape", f"x={{steps}},1,2"] for steps in (3, 5)] + [[{str(later)!r}]]
print(json.dumps([json.loads(coverage(*one, "--format", "json"))["primitives"] for one in paths]))
"""
    )
    three, five, after = json.loads(said)

    def calls(rows, name):
        return sum(one["calls"] for one in rows if name in one["operators"])

    assert 3 * calls(five, "tanh") == 5 * calls(three, "tanh") > 0
    assert calls(after, "sin") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["zzz", "{path}"], 2, "argument device: 'zzz' is not a device type; it is one of cpu, cuda"),
        (["cppu", "{path}"], 2, "did you mean 'cpu'?"),
        (["cpu"], 2, "the following arguments are required: model"),
        (["cpu", "{path}", "--otherwise", "zzz"], 2, "argument --otherwise: 'zzz' is not a device type"),
        (["cpu", "{path}", "--shape", "z=3"], 2, "--shape: the model has no 'z'; it has x"),
        (["cpu", "{path}", "--shape", "x=4,6"], 1, "input x has shape (4, 6)"),
        (["cpu", "none.onnx"], 1, "none.onnx: No such file"),
        (["cpu", __file__], 1, "it is not an ONNX model"),
    ],
)
def test_what_is_wrong_is_said(ep, mixed, arguments, code, words):
    done = ep("coverage", *(str(one).format(path=mixed) for one in arguments))
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("ep coverage: error: ")
    assert words in done.err
    assert len(done.err.splitlines()) <= 2


def test_a_device_that_has_everything(ep, mixed):
    found = ep("coverage", "cpu", mixed, "--format", "json").json()
    assert found["has_share"] == pytest.approx(1)
    assert all(one["has"] for one in found["primitives"])
