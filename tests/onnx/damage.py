"""Damaged models: valid ones with changed bytes, and with changed fields."""

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper

from ep.testing.references.tree_ensemble import random_trees
from tests.onnx.test_loops import looped
from tests.onnx.test_models import model_of
from tests.onnx.trees import ML, by_nodes, members
from tests.onnx.trees import model_of as trees_model

F = TensorProto.FLOAT
MICROSOFT = "com.microsoft"
INTEGERS = (-(2**63), -(2**31), -1, 0, 1, 2, 7, 2**31 - 1, 2**62, 2**63 - 1)
REALS = (float("nan"), float("inf"), -1.0, 0.0, 1e-40, 3e38)


def branching(rng):
    """Return a model with most kinds of nodes: branches, steps, sizes from data, indices, text attributes."""
    then_branch, else_branch = (
        helper.make_graph(
            [helper.make_node(name, ["t", "c"], ["z"])],
            "branch",
            [],
            [helper.make_tensor_value_info("z", F, None)],
            [onnx.numpy_helper.from_array(np.float32([2]), "c")],
        )
        for name in ("Mul", "Add")
    )
    nodes = [
        ("LSTM", ["x", "w", "r"], ["h"], {"hidden_size": 3, "activations": ["Sigmoid", "Relu", "Tanh"], "clip": 3.0}),
        ("Resize", ["h", "", "scales"], ["s"], {"mode": "linear", "nearest_mode": "floor"}),
        ("TopK", ["s", "k"], ["t", "places"], {"axis": 0}),
        ("If", ["on"], ["u"], {"then_branch": then_branch, "else_branch": else_branch}),
        ("ScatterElements", ["u", "at", "new"], ["v"], {"axis": 0, "reduction": "max"}),
        ("CumSum", ["v", "zero"], ["y"]),
    ]
    constants = [("w", rng.standard_normal((1, 12, 5), np.float32)), ("r", rng.standard_normal((1, 12, 3), np.float32))]
    constants += [("scales", np.float32([1, 1, 1, 2])), ("k", np.array([2])), ("zero", np.array(0))]
    constants += [("at", np.zeros((1, 1, 1, 2), np.int64)), ("new", np.ones((1, 1, 1, 2), np.float32))]
    inputs = [("x", ("steps", "rows", 5)), ("on", (), TensorProto.BOOL)]
    return model_of(nodes, inputs, [("y", (2, 1, "rows", 6))], constants)


def windows(rng):
    """Return a model of convolutions, pools and moves, and a function that ONNX defines."""
    nodes = [
        ("Conv", ["x", "w", ""], ["c"], {"pads": [1, 1, 1, 1], "strides": [2, 1]}),
        ("BatchNormalization", ["c", "s", "b", "b", "s"], ["n"]),
        ("MaxPool", ["n"], ["m"], {"kernel_shape": [2, 2], "ceil_mode": 1}),
        ("ConvTranspose", ["m", "v"], ["t"], {"group": 2, "output_padding": [0, 1], "strides": [1, 2]}),
        ("Split", ["t"], ["t0", "t1"], {"axis": 1, "num_outputs": 2}),
        ("Concat", ["t1", "t0"], ["u"], {"axis": -3}),
        ("Pad", ["u", "widths"], ["p"], {"mode": "reflect"}),
        ("Slice", ["p", "first", "last", "axes", "steps"], ["q"]),
        ("Transpose", ["q"], ["r"], {"perm": [0, 2, 3, 1]}),
        ("LayerNormalization", ["r", "scale"], ["l"], {"axis": -1}),
        ("Gather", ["l", "at"], ["g"], {"axis": 3}),
        ("Reshape", ["g", "shape"], ["h"]),
        ("Einsum", ["h", "h"], ["e"], {"equation": "bij,bkj->bik"}),
        ("Softmax", ["e"], ["f"], {"axis": 1}),
        ("Where", ["on", "f", "zero"], ["y"]),
    ]
    real, whole = np.float32, np.int64
    constants = [("w", rng.random((4, 3, 3, 3), real)), ("v", rng.random((4, 2, 1, 2), real))]
    constants += [("s", rng.random(4, real)), ("b", rng.random(4, real)), ("scale", rng.random(4, real))]
    constants += [("widths", whole([0, 0, 1, 0, 0, 0, 0, 1])), ("first", whole([-1])), ("last", whole([-(2**31)]))]
    constants += [("axes", whole([2])), ("steps", whole([-1])), ("at", whole([[0, -1], [2, 1]]))]
    constants += [("shape", whole([0, -1, 4])), ("zero", real(0))]
    inputs = [("x", ("batch", 3, 8, 6)), ("on", (), TensorProto.BOOL)]
    return model_of(nodes, inputs, [("y", ("batch", "rows", "rows"))], constants)


def functions():
    """Return a model with functions of its own, one of which calls the other, and a function that ONNX defines."""
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
    node = helper.make_node
    inner = [node("Relu", ["u"], ["r"]), node("Mul", ["r", "u"], ["v"])]
    outer = [node("inner", ["u"], ["s"], domain="own"), node("Softmax", ["s"], ["v"], axis=-1)]
    nodes = [node("outer", ["x"], ["h"], domain="own"), node("CenterCropPad", ["h", "sizes"], ["y"], axes=[1])]
    x, y = (helper.make_tensor_value_info(name, F, (2, size)) for name, size in (("x", 5), ("y", 3)))
    tensors = [onnx.numpy_helper.from_array(np.array([3]), "sizes")]
    return helper.make_model(
        helper.make_graph(nodes, "g", [x], [y], tensors),
        opset_imports=opsets,
        functions=[
            helper.make_function("own", name, ["u"], ["v"], some, opsets)
            for name, some in (("inner", inner), ("outer", outer))
        ],
    )


def quantized(rng):
    """Return a model of nodes on quantized numbers, of ONNX and of ONNX Runtime."""
    nodes = [
        ("QuantizeLinear", ["x", "xs", "xz"], ["q"], {"axis": 1}),
        ("DequantizeLinear", ["q", "xs", "xz"], ["d"], {"axis": -3}),
        ("DynamicQuantizeLinear", ["d"], ["dq", "ds", "dz"]),
        ("ConvInteger", ["dq", "w", "dz", "wz"], ["sums"], {"pads": [1, 1, 1, 1], "group": 1}),
        ("Cast", ["sums"], ["wide"], {"to": F}),
        ("Mul", ["wide", "ds"], ["real"]),
        ("QuantizeLinear", ["real", "s", "z"], ["a"]),
        ("QLinearConv", ["a", "s", "z", "w4", "cs", "wz", "s", "z", "bias"], ["c"], {"strides": [2, 1]}),
        ("Reshape", ["c", "rows"], ["r"]),
        ("QLinearMatMul", ["r", "s", "z", "m", "ms", "mz", "s", "z"], ["p"]),
        ("MatMulInteger", ["p", "m", "z"], ["i"]),
        ("DequantizeLinear", ["i", "s"], ["f"]),
        ("DynamicQuantizeMatMul", ["f", "m", "ms", "mz", "five"], ["g"], {"domain": MICROSOFT}),
        ("QuantizeLinear", ["g", "s", "z"], ["u"]),
        ("QLinearAdd", ["u", "s", "z", "p", "s", "z", "s", "z"], ["v"], {"domain": MICROSOFT}),
        ("QGemm", ["v", "s", "z", "m", "ms", "mz"], ["h"], {"domain": MICROSOFT, "transB": 1}),
        ("Reshape", ["h", "steps"], ["t"]),
        (
            "DynamicQuantizeLSTM",
            ["t", "lw", "lr", "", "", "", "", "", "ls", "lz", "ls", "lz"],
            ["y"],
            {"domain": MICROSOFT, "hidden_size": 3, "direction": "forward"},
        ),
    ]
    byte, real = np.uint8, np.float32
    constants = [("xs", rng.random(3, real) + 0.5), ("xz", byte([3, 128, 0])), ("s", real(0.1)), ("z", byte(7))]
    constants += [("w", rng.integers(-99, 99, (4, 3, 3, 3)).astype(np.int8)), ("wz", np.int8([1, 0, 2, 3]))]
    constants += [("w4", rng.integers(-99, 99, (4, 4, 1, 2)).astype(np.int8)), ("cs", rng.random(4, real) + 0.1)]
    constants += [("bias", np.int32([1, 2, 3, 4])), ("rows", np.array([-1, 5])), ("steps", np.array([-1, 1, 5]))]
    constants += [("m", rng.integers(-99, 99, (5, 5)).astype(np.int8)), ("ms", rng.random(5, real) + 0.1)]
    constants += [("mz", np.int8([1, 2, 0, -1, 5])), ("five", rng.random(5, real)), ("ls", real([0.01]))]
    constants += [("lw", rng.integers(-99, 99, (1, 5, 12)).astype(np.int8)), ("lz", np.int8([0]))]
    constants += [("lr", rng.integers(-99, 99, (1, 3, 12)).astype(np.int8))]
    model = model_of(nodes, [("x", ("batch", 3, 6, 6))], [("y", ("steps", 1, 1, 3))], constants)
    model.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
    return model


def trees(rng):
    """Return models of trees: a classifier of strings, whose scores are maps, and an ensemble with sets of members."""
    nodes, roots = random_trees(rng, np.float32, (9, 5, 3), 3)  # some leaf has a weight
    given = by_nodes(nodes, roots, "class") | {"base_values": [0.5, 0.0, -0.5], "post_transform": "SOFTMAX"}
    first = helper.make_node("Scaler", ["x"], ["s"], offset=[1.0], scale=[0.5, 1.0, 2.0], domain=ML)
    named = {"classlabels_strings": ["a", "b", "c"]}
    second = helper.make_node("TreeEnsembleClassifier", ["s"], ["label", "p"], domain=ML, **given, **named)
    third = helper.make_node("ZipMap", ["p"], ["maps"], domain=ML, **named)
    kind = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(F, None))
    x = helper.make_tensor_value_info("x", F, ["rows", 3])
    outputs = [helper.make_tensor_value_info("label", TensorProto.STRING, ["rows"])]
    outputs.append(helper.make_value_info("maps", helper.make_sequence_type_proto(kind)))
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(ML, 3)]
    graph = helper.make_graph([first, second, third], "g", [x], outputs)
    classifier = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return [classifier, trees_model("TreeEnsemble", members([[1.0, 2.5], [-3.0], [7.0, 1.0]]))]


def models(rng):
    """Return the contents of models of many kinds of nodes."""
    every = (branching(rng), looped(), windows(rng), functions(), quantized(rng), *trees(rng))
    return [one.SerializeToString() for one in every]


def damaged(rng, count, contents=None):
    """Yield the contents of damaged models, by turns with other bytes and with other fields.

    contents: of the models; all by default.
    """
    contents = contents or models(rng)
    for number in range(count):
        change = with_other_bytes if number % 2 else with_other_fields
        yield change(rng, contents[rng.integers(0, len(contents))])


def with_other_bytes(rng, contents):
    """Return the contents of a model with some bytes changed, every other one also truncated."""
    damaged = bytearray(contents)
    for place in rng.integers(0, len(contents), 3):
        damaged[place] = rng.integers(0, 256)
    return bytes(damaged[: rng.integers(1, len(contents) + 1)] if rng.integers(0, 2) else damaged)


def with_other_fields(rng, contents):
    """Return the contents of a model of which one to three fields have another value, or a list another length."""
    model = ModelProto.FromString(contents)
    words = [*dict.fromkeys(one for node in model.graph.node for one in (*node.input, *node.output, node.op_type))]
    for _ in range(rng.integers(1, 4)):
        holder, field = _any_field(rng, model)
        if field is not None:
            _change(rng, holder, field, words)
    return model.SerializeToString()


def _any_field(rng, message):
    """Return a message inside of another, or itself, and a field that it has; one of eight is a message."""
    while True:
        fields = [one for one, _ in message.ListFields()]
        if not fields:
            return message, None
        field = _one_of(rng, fields)
        if field.message_type is None or rng.integers(0, 8) == 0:
            return message, field
        value = getattr(message, field.name)
        message = _one_of(rng, value) if field.is_repeated else value


def _change(rng, holder, field, words):
    """Change a field: its value; of a list an element, or its length."""
    if not field.is_repeated:
        if field.message_type is not None or rng.integers(0, 4) == 0:
            holder.ClearField(field.name)
        else:
            setattr(holder, field.name, _other(rng, field, words))
        return
    several, place = getattr(holder, field.name), rng.integers(0, len(getattr(holder, field.name)))
    how = rng.integers(0, 3)
    if how == 0:
        del several[place]
    elif how == 1:
        several.append(several[place])
    elif field.message_type is not None:
        several[place].CopyFrom(_one_of(rng, several))
    else:
        several[place] = _other(rng, field, words)


def _other(rng, field, words):
    """Return a value for a field that is no message; for text, often one that the model has elsewhere."""
    if field.enum_type is not None:
        return _one_of(rng, field.enum_type.values).number
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return _one_of(rng, REALS)
    if field.type == field.TYPE_STRING:
        return _one_of(rng, ["", "?", *words])
    if field.type == field.TYPE_BYTES:
        return rng.bytes(rng.integers(0, 40))
    if field.type == field.TYPE_INT32:
        return _one_of(rng, [one for one in INTEGERS if abs(one) < 2**31])
    return _one_of(rng, [one for one in INTEGERS if one >= 0 or field.type == field.TYPE_INT64])


def _one_of(rng, several):
    return several[rng.integers(0, len(several))]
