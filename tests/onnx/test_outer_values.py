"""What the graphs of Loop, Scan and If read from around them: inputs of the node too, in several runs."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import ep.onnx
from ep.ops import copy_to_host
from tests.onnx.test_loops import constants, info, model_of

F, B, I = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64  # noqa: E741
X = [info("x", F, ("n",))]
Y = info("y", F, ("n",))


def body(nodes, outputs=("next",), tensors=(), states=("s",), mark=""):
    """Return the graph of a Loop: it does not end by its condition. mark: makes names its own."""
    i, c, told = (name + mark for name in ("i", "c", "told"))
    nodes = [helper.make_node("Identity", [c], [told]), *nodes]
    inputs = [info(i, I), info(c, B), *(info(one, F, None) for one in states)]
    return helper.make_graph(nodes, "body", inputs, [info(told, B), *(info(one, F, None) for one in outputs)], tensors)


def part(*nodes, given=(), output="next"):
    """Return the graph of an If or a Scan."""
    return helper.make_graph(nodes, "part", list(given), [info(output, F, None)])


def loop(graph, *states, outputs=("y",), name="", most="m", condition=""):
    return helper.make_node("Loop", [most, condition, *states], [*outputs], name=name, body=graph)


def add(x, y, to):
    return helper.make_node("Add", [x, y], [to])


def repeated(x, step, times=3):
    for _ in range(times):
        x = step(x)
    return x


NESTED = body([loop(body([add("t", "s", "a"), add("a", "x", "b")], ("b",), (), ("t",), "2"), "s", outputs=["next"])])
TWO = body([add("s", "other", "next"), helper.make_node("Sub", ["other", "x"], ["last"])], ("next", "last"),
           states=("s", "other"))  # fmt: skip
CHOICE = helper.make_node("If", ["big"], ["next"], then_branch=part(add("s", "x", "next"), output="next"),
                          else_branch=part(add("s", "s", "twice"), output="twice"))  # fmt: skip
CHOICE.attribute[0].g.node[0].output[0] = CHOICE.attribute[0].g.output[0].name = "more"
BY_DATA = body([helper.make_node("ReduceSum", ["s"], ["sum"], keepdims=0),
                helper.make_node("Greater", ["sum", "limit"], ["big"]), CHOICE])  # fmt: skip


def two(x):
    first = second = x
    for _ in range(3):
        first, second = first + second, second - x
    return first


CASES = {
    "a state": ([loop(body([add("s", "x", "next")]), "x")], {}, lambda x: 4 * x),
    "a state that is a constant": (
        [loop(body([add("s", "k", "next")]), "k", outputs="h"), add("h", "x", "y")],
        {"k": np.float32([1, 2, 4])},
        lambda x: x + 4 * np.float32([1, 2, 4]),
    ),
    "the number of steps": (
        [loop(body([helper.make_node("Cast", ["m"], ["number"], to=F), add("s", "number", "next")]), "x")],
        {},
        lambda x: x + 9,
    ),
    "the condition": (
        [loop(body([helper.make_node("Cast", ["on"], ["number"], to=F), add("s", "number", "next")]), "x",
              condition="on")],
        {"on": np.array(True)},
        lambda x: x + 3,
    ),
    "the shape of a state": (
        [loop(body([helper.make_node("Shape", ["x"], ["sizes"]), helper.make_node("Cast", ["sizes"], ["n"], to=F),
                    add("s", "n", "next")]), "x")],
        {},
        lambda x: x + 9,
    ),
    "a state that is given twice": ([loop(TWO, "x", "x", outputs=("y", "z"))], {}, two),
    "a graph in a graph": ([loop(NESTED, "x")], {}, lambda x: repeated(x, lambda s: 4 * s + 3 * x)),
    "a branch in a graph": (
        [loop(BY_DATA, "x")],
        {"limit": np.float32(20)},
        lambda x: repeated(x, lambda s: s + x if s.sum() > 20 else 2 * s),
    ),
    "a condition in its branch": (
        [helper.make_node("If", ["on"], ["h"], then_branch=part(helper.make_node("Cast", ["on"], ["next"], to=F)),
                          else_branch=part(helper.make_node("Neg", ["x"], ["less"]), output="less")),
         add("x", "h", "y")],
        {"on": np.array(True)},
        lambda x: x + 1,
    ),
    "what a Scan takes": (
        [helper.make_node("ReduceSum", ["x"], ["zero"], keepdims=0),
         helper.make_node("Scan", ["x"], ["y"], num_scan_inputs=1,
                          body=part(helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
                                    add("one", "most", "next"), given=[info("one")]))],
        {},
        lambda x: x + x.max(),
    ),
    "what a Scan takes twice": (
        [helper.make_node("Scan", ["x", "x"], ["y"], num_scan_inputs=2,
                          body=part(add("one", "two", "next"), given=[info("one"), info("two")]))],
        {},
        lambda x: 2 * x,
    ),
    "tensors of graphs whose nodes have one name": (
        [loop(body([add("s", "k", "next")], tensors=constants(k=np.float32(1))), "x", outputs="h", name="same"),
         loop(body([add("s", "k", "next")], tensors=constants(k=np.float32(10))), "h", name="same")],
        {},
        lambda x: x + 33,
    ),
    "a tensor for an input of the graph": (
        [loop(body([helper.make_node("Neg", ["s"], ["next"])], tensors=constants(s=np.float32([7, 7, 7]))), "x")],
        {},
        lambda x: -x,
    ),
}  # fmt: skip


@pytest.mark.parametrize("is_given", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_values_around_a_graph(device, case, is_given):
    """is_given: whether the constants are inputs, which change from run to run."""
    nodes, values, expected = CASES[case]
    values = {"m": np.array(3), **values}
    inputs = X + [info(name, helper.np_dtype_to_tensor_dtype(one.dtype), one.shape) for name, one in values.items()]
    given = model_of(nodes, inputs if is_given else X, [Y], () if is_given else constants(**values))
    model = ep.onnx.load(given.SerializeToString(), device.type)
    for k in range(4):
        x = np.float32([1, -2, 4]) + np.float32(3 * k)
        (y,) = model(x=x, **(values if is_given else {}))
        np.testing.assert_array_equal(copy_to_host(y), expected(x))


def test_names_that_there_are_already():
    """ONNX has no inner names that hide outer ones."""
    hidden = model_of([loop(body([add("x", "x", "next")], states=("x",)), "x")], X, [Y], constants(m=np.array(3)))
    with pytest.raises(ep.onnx.ModelError, match="'x', which there is already"):
        ep.onnx.load(hidden)
    inner = loop(body([add("s", "k", "next")], tensors=constants(k=np.float32(1))), "x", name="l")
    tensors = constants(m=np.array(3), **{"l.body.k": np.float32(2)})
    with pytest.raises(ep.onnx.ModelError, match=r"'l\.body\.k', which there is already"):
        ep.onnx.load(model_of([inner], X, [Y], tensors))
