"""Loop and Scan: fixed numbers of steps, conditions that depend on data, and what a graph reads from around it."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import ep.onnx
from ep.ops import copy_to_host
from tests.profiles import calls_of

F, B, I = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64  # noqa: E741


def info(name, kind=F, shape=()):
    return helper.make_tensor_value_info(name, kind, shape)


def constants(**arrays):
    return [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()]


def model_of(nodes, inputs, outputs, tensors=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def run(model, device, **inputs):
    return [copy_to_host(one) for one in ep.onnx.load(model, device.type)(**inputs)]


STEP = [
    helper.make_node("Mul", ["s", "factor"], ["twice"]),
    helper.make_node("Add", ["twice", "h"], ["next"]),
    helper.make_node("ReduceMax", ["next"], ["largest"], keepdims=0),
    helper.make_node("Less", ["largest", "limit"], ["told"]),
    helper.make_node("Cast", ["i"], ["number"], to=F),
    helper.make_node("Sub", ["next", "number"], ["row"]),
]
"""next = 2 s + h, where h is a value around the loop; the next step is wanted while all numbers are below a limit."""
BODY = helper.make_graph(
    STEP,
    "body",
    [info("i", I), info("c", B), info("s", F, (3,))],
    [info("told", B), info("next", F, (3,)), info("row", F, ("n",))],
    constants(factor=np.float32(2)),
)


def looped(most="most", condition="on"):
    node = helper.make_node("Loop", [most, condition, "x"], ["y", "rows"], name="repeat", body=BODY)
    inputs = [info("x", F, (3,)), info("limit")]
    inputs += [info("most", I)] if most else []
    inputs += [info("on", B)] if condition else []
    tail = helper.make_node("Neg", ["rows"], ["z"])
    nodes = [helper.make_node("Relu", ["x"], ["h"]), node, tail]
    return model_of(nodes, inputs, [info("y", F, (3,)), info("z", F, ("steps", 3))])


def expected(x, limit, most, has_condition=True):
    h, s, rows = np.maximum(x, 0), x, []
    for k in range(most):
        s = 2 * s + h
        rows.append(s - k)
        if has_condition and not s.max() < limit:
            break
    return s, -np.array(rows, np.float32).reshape(len(rows), 3)


@pytest.mark.parametrize(("limit", "most"), [(1e9, 4), (20.0, 9), (-1.0, 9), (1e9, 1)])
def test_a_loop_ends_by_its_number_of_steps_or_by_data(device, limit, most):
    x, limit = np.array([1, -2, 0.5], np.float32), np.float32(limit)
    y, z = run(looped(), device, x=x, limit=limit, most=np.array(most), on=np.array(True))
    for found, wanted in zip((y, z), expected(x, limit, most), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_steps_are_those_that_an_earlier_run_has_planned():
    """A later run takes few functions of Python for each of its 8 steps."""
    model = ep.onnx.load(looped())
    for call in range(4):
        x, limit = np.array([-1, 0.5, 2 + call / 8], np.float32), np.float32(40)
        given, found = {"x": x, "limit": limit, "most": np.array(9), "on": np.array(True)}, []
        calls = calls_of(lambda: found.extend(model(**given)))  # noqa: B023
        for one, other in zip(found, expected(x, limit, 9), strict=True):
            np.testing.assert_array_equal(one, other)
    assert calls <= 700


def test_a_loop_without_a_condition_or_without_a_number(device):
    x, limit = np.array([1, -2, 0.5], np.float32), np.float32(20)
    found = run(looped(condition=""), device, x=x, limit=limit, most=np.array(6))
    np.testing.assert_array_equal(found[1], expected(x, limit, 6, False)[1])
    found = run(looped(most=""), device, x=x, limit=limit, on=np.array(True))
    np.testing.assert_array_equal(found[1], expected(x, limit, 99)[1])
    (y, z) = run(looped(most=""), device, x=x, limit=limit, on=np.array(False))
    np.testing.assert_array_equal(y, x)
    assert z.shape == (0, 3)  # the number of columns is a free size of the graph: it follows from the state
    with pytest.raises(ValueError, match="would not end") as caught:
        run(looped("", ""), device, x=x, limit=limit)
    assert "node 'repeat' (Loop)" in caught.value.__notes__[0]


def test_states_that_grow_and_a_loop_in_a_loop(device):
    """The inner loop appends the number of its step; its number of steps is that of the outer one."""
    inner = helper.make_graph(
        [
            helper.make_node("Reshape", ["j", "one"], ["wide"]),
            helper.make_node("Concat", ["t", "wide"], ["longer"], axis=0),
            helper.make_node("Identity", ["d"], ["d_out"]),
        ],
        "inner",
        [info("j", I), info("d", B), info("t", I, ("m",))],
        [info("d_out", B), info("longer", I, ("m2",))],
    )
    outer = helper.make_graph(
        [
            helper.make_node("Loop", ["i", "", "s"], ["appended"], body=inner),
            helper.make_node("Identity", ["c"], ["c_out"]),
        ],
        "outer",
        [info("i", I), info("c", B), info("s", I, ("n",))],
        [info("c_out", B), info("appended", I, ("n2",))],
    )
    nodes = [helper.make_node("Loop", ["most", "", "x"], ["y"], body=outer)]
    tensors = constants(one=np.array([1]), most=np.array(4))
    (y,) = run(model_of(nodes, [info("x", I, (1,))], [info("y", I, ("n3",))], tensors), device, x=np.array([7]))
    assert y.tolist() == [7, 0, 0, 1, 0, 1, 2]


def scanned(**attributes):
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "part"], ["total"]), helper.make_node("Mul", ["total", "k"], ["row"])],
        "body",
        [info("s", F, (2,)), info("part", F, (2,))],
        [info("total", F, (2,)), info("row", F, (2,))],
        constants(k=np.float32(3)),
    )
    nodes = [
        helper.make_node("Scan", ["x", "parts"], ["y", "rows"], "sums", body=body, num_scan_inputs=1, **attributes)
    ]
    inputs = [info("x", F, (2,)), info("parts", F, ("a", "b"))]
    return model_of(nodes, inputs, [info("y", F, (2,)), info("rows", F, ("c", "d"))])


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("backwards", [0, 1])
def test_scan(device, rng, axis, backwards):
    parts, x = rng.standard_normal((5, 2), np.float32), rng.standard_normal(2, np.float32)
    in_order = parts[::-1] if backwards else parts
    totals = x + np.cumsum(in_order, 0, dtype=np.float32)
    for turned in (0, 1):
        model = scanned(
            scan_input_axes=[axis],
            scan_input_directions=[backwards],
            scan_output_axes=[axis],
            scan_output_directions=[turned],
        )
        moved = np.moveaxis(parts, 0, axis)
        y, rows = run(model, device, x=x, parts=np.ascontiguousarray(moved))
        np.testing.assert_allclose(y, totals[-1], rtol=1e-5, atol=1e-6)
        wanted = 3 * (totals[::-1] if turned else totals)
        np.testing.assert_allclose(rows, np.moveaxis(wanted, 0, axis), rtol=1e-5, atol=1e-6)


def test_scan_of_no_step(device):
    x = np.array([1, 2], np.float32)
    y, rows = run(scanned(), device, x=x, parts=np.zeros((0, 2), np.float32))
    np.testing.assert_array_equal(y, x)
    assert rows.shape == (0, 2)


@pytest.mark.parametrize("is_typed", [True, False])
@pytest.mark.parametrize("axis", [0, 1])
def test_no_step_of_a_graph_with_free_sizes_or_without_types(device, axis, is_typed):
    """The sizes follow from what a step would get: here a matrix product that reads an outer array."""
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "part"], ["total"]), helper.make_node("MatMul", ["total", "w"], ["row"])],
        "body",
        [info("s", F, ("k",)), info("part", F, ("k",))],
        [info(one, F, ("j",)) if is_typed else helper.make_empty_tensor_value_info(one) for one in ("total", "row")],
    )
    scan = helper.make_node("Scan", ["x", "parts"], ["y", "rows"], num_scan_inputs=1, body=body, scan_input_axes=[axis])
    nodes = [scan, helper.make_node("MatMul", ["rows", "v"], ["z"])]
    inputs = [info("x", F, ("a",)), info("parts", F, ("b", "c"))]
    tensors = constants(w=np.ones((2, 5), np.float32), v=np.ones((5, 3), np.float32))
    model = ep.onnx.load(
        model_of(nodes, inputs, [info("y", F, ("d",)), info("z", F, ("e", "f"))], tensors), device.type
    )
    x = np.array([1, 2], np.float32)
    for steps in (3, 0, 0, 2, 0):
        parts = np.ones((steps, 2), np.float32)
        y, z = map(copy_to_host, model(x=x, parts=parts if axis == 0 else np.ascontiguousarray(parts.T)))
        np.testing.assert_array_equal(y, x + steps)
        np.testing.assert_array_equal(z, [[5 * (3 + 2 * k)] * 3 for k in range(1, steps + 1)] or np.zeros((0, 3)))


def test_the_plans_of_steps_are_kept():
    """More steps are not planned anew: only the node after the loop is, for which there are more rows."""
    model = ep.onnx.load(looped())
    x, limit, on = np.array([1, -2, 0.5], np.float32), np.float32(1e9), np.array(True)
    first, more = [calls_of(lambda: model(x=x, limit=limit, most=np.array(most), on=on)) for most in (3, 5)]  # noqa: B023
    assert more < first / 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda node: node.attribute[0].g.input.append(info("more")), "a graph of 4 inputs; it must have 3"),
        (lambda node: (node.attribute[0].g.output.pop(), node.output.pop(), node.attribute[0].g.output.pop()),
         "has 1 states and a graph of 1 outputs"),
        (lambda node: node.attribute[0].g.output.pop(), "has 2 outputs and a graph of 2"),
    ],
)  # fmt: skip
def test_graphs_that_do_not_fit(change, message):
    model = looped()
    change(model.graph.node[1])
    del model.graph.output[1]
    del model.graph.node[2]
    with pytest.raises(ep.onnx.ModelError, match=message):
        ep.onnx.load(model)


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"scan_input_axes": [2]}, "scan_input_axes is 2; it must be -2 ... 1"),
        ({"scan_input_axes": [-3]}, "scan_input_axes is -3; it must be -2 ... 1"),
        ({"scan_input_axes": [0, 1]}, r"scan_input_axes is \[0, 1\]; it must be 1 numbers"),
        ({"scan_input_directions": [2]}, r"scan_input_directions is \[2\]; it must be 1 numbers of \(0, 1\)"),
        ({"scan_output_axes": [2]}, "scan_output_axes is 2; it must be -2 ... 1"),
        ({"scan_output_axes": [0, 0]}, r"scan_output_axes is \[0, 0\]; it must be 1 numbers"),
        ({"scan_output_directions": [-1]}, r"scan_output_directions is \[-1\]"),
    ],
)
@pytest.mark.parametrize("steps", [0, 5])
def test_attributes_of_a_scan_that_do_not_fit(attributes, words, steps):
    model = ep.onnx.load(scanned(**attributes))
    with pytest.raises(ValueError, match=words) as caught:
        model(x=np.zeros(2, np.float32), parts=np.zeros((steps, 2), np.float32))
    assert "in node 'sums' (Scan)" in caught.value.__notes__


@pytest.mark.parametrize(("name", "shape"), [("most", (2,)), ("most", (0,)), ("on", (2,)), ("on", (0,))])
def test_conditions_of_several_elements(name, shape):
    given = looped()
    for one in given.graph.input:
        if one.name == name:
            one.CopyFrom(info(name, one.type.tensor_type.elem_type, shape))
    inputs = {"most": np.array(2), "on": np.array(True), "limit": np.float32(9), "x": np.ones(3, np.float32)}
    model = ep.onnx.load(given)
    with pytest.raises(ValueError, match=f"{'M' if name == 'most' else 'cond'} has shape .* one element") as caught:
        model(**inputs | {name: np.full(shape, inputs[name])})
    assert "in node 'repeat' (Loop)" in caught.value.__notes__
