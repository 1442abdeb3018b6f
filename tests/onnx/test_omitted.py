"""Optional inputs and outputs of all operators in all versions: omitted by '' or absent, they have their default."""

import functools
import itertools

import numpy as np
import pytest
from onnx import defs, helper

import ep.onnx
from ep.ops import copy_to_host
from tests.onnx.operators import served

R = np.random.default_rng(44)
OPTIONAL = defs.OpSchema.FormalParameterOption.Optional


def f(*shape):
    return R.standard_normal(shape).astype(np.float32)


def n(*values):
    return np.array(values, np.int64)


X, ROWS = f(3, 5), f(3, 2, 4)
HALF, NO_POINTS = np.float32(0.5), (np.uint8(0), np.int8(0))
FINITE = np.float32(np.finfo(np.float32).max)
POOLED = {"kernel_shape": [2], "strides": [2]}


def of_bytes(dtype, *shape):
    return R.integers(-9, 9, shape).astype(dtype)


def gates(count):
    return {"X": f(5, 3, 4), "W": f(1, 2 * count, 4), "R": f(1, 2 * count, 2)}


def of_gates(count):
    """Return what an LSTM, GRU or RNN has for inputs that are omitted."""
    return {
        "B": np.zeros((1, 4 * count), np.float32),
        "sequence_lens": np.full(3, 5, np.int32),
        "initial_h": np.zeros((1, 3, 2), np.float32),
        "initial_c": np.zeros((1, 3, 2), np.float32),
        "P": np.zeros((1, 6), np.float32),
    }


def reduced(*axes):
    return {"data": f(3, 2, 4)}, {"axes": n(*axes)}, {"keepdims": 0}


HEADS = {"Q": f(1, 2, 3, 4), "K": f(1, 2, 5, 4), "V": f(1, 2, 5, 4)}
PAST = {"past_key": np.zeros((1, 2, 0, 4), np.float32), "past_value": np.zeros((1, 2, 0, 4), np.float32)}
CLASSES = {"scores": X, "input": np.log(np.abs(X)), "labels": n(0, 4, 2), "target": n(0, 4, 2)}
LINEAR = {"query": f(2, 3, 8), "key": f(2, 3, 8), "value": f(2, 3, 8)}
CASES = {
    "Attention": (HEADS, {"attn_mask": np.zeros((3, 5), np.float32), **PAST, "nonpad_kv_seqlen": n(5)}, {}),
    "CausalConvWithState": (
        {"input": f(2, 3, 5), "weight": f(3, 1, 4)},
        {"bias": np.zeros(3, np.float32), "past_state": np.zeros((2, 3, 3), np.float32)},
        {},
    ),
    "Clip": ({"input": X}, {"min": -FINITE, "max": FINITE}, {}),
    "Conv": ({"X": f(1, 3, 7), "W": f(2, 3, 3)}, {"B": np.zeros(2, np.float32)}, {}),
    "ConvInteger": (
        {"x": of_bytes("u1", 1, 3, 7), "w": of_bytes("i1", 2, 3, 3)},
        dict(zip(("x_zero_point", "w_zero_point"), NO_POINTS, strict=True)),
        {},
    ),
    "ConvTranspose": ({"X": f(1, 3, 7), "W": f(3, 2, 3)}, {"B": np.zeros(2, np.float32)}, {}),
    "DequantizeLinear": ({"x": of_bytes("u1", 3, 5), "x_scale": HALF}, {"x_zero_point": NO_POINTS[0]}, {}),
    "Dropout": ({"data": X}, {"ratio": np.float32(0.5), "training_mode": np.array(False)}, {}),
    "GRU": (gates(3), of_gates(3), {"hidden_size": 2}),
    "Gemm": ({"A": f(3, 5), "B": f(5, 2)}, {"C": np.zeros((3, 2), np.float32)}, {}),
    "GroupNormalization": ({"X": f(2, 4, 3), "scale": f(4), "bias": f(4)}, {}, {"num_groups": 2}),
    "LSTM": (gates(4), of_gates(4), {"hidden_size": 2}),
    "MatMulInteger": (
        {"A": of_bytes("u1", 3, 5), "B": of_bytes("i1", 5, 2)},
        dict(zip(("a_zero_point", "b_zero_point"), NO_POINTS, strict=True)),
        {},
    ),
    "QLinearConv": (
        {
            **{"x": of_bytes("u1", 1, 3, 7), "x_scale": HALF, "x_zero_point": np.uint8(3)},
            **{"w": of_bytes("i1", 2, 3, 3), "w_scale": HALF, "w_zero_point": np.int8(1)},
            **{"y_scale": np.float32(9), "y_zero_point": np.uint8(99)},
        },
        {"B": np.zeros(2, np.int32)},
        {},
    ),
    "QuantizeLinear": ({"x": X, "y_scale": HALF}, {"y_zero_point": NO_POINTS[0]}, {}),
    "LayerNormalization": ({"X": X, "Scale": f(5)}, {"B": np.zeros(5, np.float32)}, {}),
    "MaxPool": ({"X": f(1, 3, 7)}, {}, POOLED),
    "LinearAttention": (
        LINEAR,
        {"past_state": np.zeros((2, 2, 4, 4), np.float32)},
        {"update_rule": "linear", "q_num_heads": 2, "kv_num_heads": 2},
    ),
    "NegativeLogLikelihoodLoss": (CLASSES, {"weight": np.ones(5, np.float32)}, {}),
    "Pad": (
        {"data": X, "pads": n(1, 0, 2, 3)},
        {"constant_value": np.float32(0), "axes": n(0, 1)},
        {},
    ),
    "RNN": (gates(1), of_gates(1), {"hidden_size": 2}),
    "Resize": ({"X": f(2, 3)}, {"roi": f(0), "scales": np.float32([2, 3]), "sizes": n(4, 9)}, {}),
    "RotaryEmbedding": ({"X": f(2, 3, 4, 6), "cos_cache": f(2, 4, 3), "sin_cache": f(2, 4, 3)}, {}, {}),
    "Slice": ({"data": f(5, 4), "starts": n(1, 0), "ends": n(4, 3)}, {"axes": n(0, 1), "steps": n(1, 1)}, {}),
    "SoftmaxCrossEntropyLoss": (CLASSES, {"weights": np.ones(5, np.float32)}, {}),
    "Split": ({"input": f(6, 2)}, {"split": n(2, 2, 2)}, {}),
    "Squeeze": ({"data": f(1, 3, 1)}, {"axes": n(0, 2)}, {}),
    "Trilu": ({"input": f(3, 4)}, {"k": np.array(0)}, {}),
    **{name: reduced(0, 1, 2) for name in served.names() if name.startswith("Reduce")},
}
"""For each operator its inputs by name, those that are equal to the defaults, and its attributes."""

ALONE = {"Resize": ({"scales"}, {"sizes"}), "Attention": (set(), {*PAST}, {"nonpad_kv_seqlen"})}
"""Inputs of which one group must be given."""


def versions():
    for name in served.names():
        for since, schema in served.schemas(name).items():
            if name != "Loop" and any(one.option is OPTIONAL for one in schema.inputs):  # `test_loops.py` has its own
                yield name, since


def subsets(name, optional):
    """Yield the sets of inputs that are given."""
    for count in range(len(optional) + 1):
        for given in map(set, itertools.combinations(optional, count)):
            grouped = [one for one in ALONE.get(name, ()) if one]
            in_groups = given & set().union(*grouped)
            if name not in ALONE or in_groups in ALONE[name]:
                yield given


def run(name, opset, inputs, outputs, attributes, device="cpu"):
    """Return the results of a node. inputs: None for what is omitted by ''."""
    names = ["" if one is None else f"i{k}" for k, one in enumerate(inputs)]
    given = {key: one for key, one in zip(names, inputs, strict=True) if key}
    node = helper.make_node(name, names, outputs, "node", **attributes)
    constant = {"Dropout": 2}.get(name, -1)
    infos = [
        helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(one.dtype), one.shape)
        for key, one in given.items()
        if key != f"i{constant}"
    ]
    tensors = [
        helper.make_tensor(key, helper.np_dtype_to_tensor_dtype(one.dtype), one.shape, [one.item()])
        for key, one in given.items()
        if key == f"i{constant}"
    ]
    wanted = [helper.make_empty_tensor_value_info(one) for one in outputs if one]
    graph = helper.make_graph([node], "g", infos, wanted, tensors)
    model = ep.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), device)
    found = model.run(None, {one.name: given[one.name] for one in infos})
    return [copy_to_host(one) for one in found]


def test_every_operator_with_optional_inputs_is_here():
    assert {name for name, _ in versions()} <= {*CASES}


@pytest.mark.parametrize(("name", "since"), [*versions()])
def test_inputs_that_are_omitted(name, since):
    """Each optional input is given as its default, or omitted by '', or absent: the results have the same bits."""
    required, defaults, attributes = CASES[name]
    if (name, since) == ("Resize", 11):  # its scales are not optional
        required, defaults = {**required, **defaults}, {}
    schema, opset = served.schemas(name)[since], served.opsets(name, since)[-1]
    parameters = [(one.name, one.option is OPTIONAL) for one in schema.inputs]
    optional = [key for key, is_optional in parameters if is_optional and key in defaults]
    outputs = [f"y{k}" for k in range(3 if name == "Split" else max(schema.min_output, 1))]
    with_all = {**required, **defaults}
    whole = None
    for given in subsets(name, optional) if optional else [set()]:
        inputs = [None if is_optional and key not in given else with_all[key] for key, is_optional in parameters]
        found = run(name, opset, inputs, outputs, attributes)
        whole = whole or found
        while inputs and inputs[-1] is None:
            inputs.pop()
        absent = run(name, opset, inputs, outputs, attributes)
        for one, other, expected in zip(found, absent, whole, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=f"{name}-{opset} {given}", strict=True)
            np.testing.assert_allclose(one, expected, 1e-6, 1e-6, err_msg=f"{name}-{opset} {given}")


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize("opset", [23, 24, 25])
def test_attention_without_a_mask(device, opset):
    """The past has two places here. From opset 25 on, both parts of the present are given, or none."""
    past = {"past_key": f(1, 2, 2, 4), "past_value": f(1, 2, 2, 4)}
    keys, values = (
        np.concatenate([past[f"past_{name}"], HEADS[one]], 2) for name, one in (("key", "K"), ("value", "V"))
    )
    weights = softmax(HEADS["Q"].astype(np.float64) @ keys.swapaxes(2, 3) / 2)
    inputs = [*HEADS.values(), None, *past.values()]
    for outputs in (["y"], ["y", "k", "v"], ["y", "", "", "w"], ["y", "", "v"])[: 3 if opset == 25 else 4]:
        found = dict(zip(filter(None, outputs), run("Attention", opset, inputs, outputs, {}, device.type), strict=True))
        np.testing.assert_allclose(found["y"], weights @ values, 1e-5, 1e-6)
        np.testing.assert_array_equal(found.get("k", keys), keys)
        np.testing.assert_array_equal(found.get("v", values), values)


@pytest.mark.parametrize(("name", "opset"), [("SoftmaxCrossEntropyLoss", 12), ("SoftmaxCrossEntropyLoss", 13),
                                             ("NegativeLogLikelihoodLoss", 12), ("NegativeLogLikelihoodLoss", 13),
                                             ("NegativeLogLikelihoodLoss", 22)])  # fmt: skip
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_without_weights(name, opset, reduction):
    scores, labels = X.astype(np.float64), CLASSES["labels"]
    logs = np.log(softmax(scores)) if name.startswith("Softmax") else scores
    each = -logs[np.arange(3), labels]
    expected = {"mean": each.mean(), "sum": each.sum(), "none": each}[reduction]
    for outputs in (["y"], ["y", "logs"], ["y", ""])[: 3 if name.startswith("Softmax") else 1]:
        for inputs in ([X, labels, None], [X, labels]):
            loss, *rest = run(name, opset, inputs, outputs, {"reduction": reduction})
            np.testing.assert_allclose(loss, expected, 1e-5, 1e-6)
            for one in rest:
                np.testing.assert_allclose(one, logs, 1e-5, 1e-6)


def test_omitted_inputs_in_a_branch_and_in_functions_of_a_model():
    """A branch and a function of the model pass the omission on."""
    node = helper.make_node("Attention", ["q", "k", "v", "", "", ""], ["y"])
    info = functools.partial(helper.make_tensor_value_info, elem_type=1)
    branches = [
        helper.make_graph([helper.make_node("Attention", [*"qkv", ""], [one])], one, [], [info(one, shape=None)])
        for one in ("a", "b")
    ]
    chosen = helper.make_node("If", ["on"], ["y"], then_branch=branches[0], else_branch=branches[1])
    opsets = [helper.make_opsetid("", 24), helper.make_opsetid("own", 1)]
    function = helper.make_function(
        "own", "Attend", ["q", "k", "v", "m"], ["y"], [helper.make_node("Attention", [*"qkvm"], ["y"])], opsets[:1]
    )
    calls = [helper.make_node("Attend", [*"qkv", *one], ["y"], domain="own") for one in ([], [""])]
    heads = dict(zip("qkv", HEADS.values(), strict=True))
    expected = softmax(HEADS["Q"] @ HEADS["K"].swapaxes(2, 3) / 2) @ HEADS["V"]
    for one in (node, chosen, *calls):
        inputs = [info(key, shape=value.shape) for key, value in heads.items()]
        given = heads | ({"on": np.array(True)} if one is chosen else {})
        inputs += [helper.make_tensor_value_info("on", 9, ())] if one is chosen else []
        graph = helper.make_graph([one], "g", inputs, [info("y", shape=(1, 2, 3, 4))])
        functions = [function] if one.domain else []
        (y,) = ep.onnx.load(helper.make_model(graph, opset_imports=opsets, functions=functions)).run(None, given)
        np.testing.assert_allclose(y, expected, 1e-5, 1e-6)


OUTPUTS = {"Attention": 4, "Dropout": 2, "GRU": 2, "LSTM": 3, "LayerNormalization": 3, "MaxPool": 2, "RNN": 2,
           "SoftmaxCrossEntropyLoss": 2}  # fmt: skip
"""The outputs of operators of which some are optional; those of BatchNormalization are refused."""


def test_every_operator_with_optional_outputs_is_here():
    found = {
        name
        for name in served.names()
        for schema in served.schemas(name).values()
        if any(one.option is OPTIONAL for one in schema.outputs)
    }
    assert found <= {*OUTPUTS, "BatchNormalization"}


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_that_are_omitted(device, name):
    """Each set of outputs has the bits that it has among all of them."""
    required, _, attributes = CASES[name]
    since, schema = max(served.schemas(name).items())
    inputs = [required.get(one.name) for one in schema.inputs]
    every = [f"y{k}" for k in range(OUTPUTS[name])]
    whole = dict(
        zip(every, run(name, served.opsets(name, since)[-1], inputs, every, attributes, device.type), strict=True)
    )
    for kept in itertools.product([True, False], repeat=len(every)):
        if not any(kept) or not all(kept[: schema.min_output]) or (name == "Attention" and kept[1] != kept[2]):
            continue
        outputs = [one if is_kept else "" for one, is_kept in zip(every, kept, strict=True)]
        found = run(name, served.opsets(name, since)[-1], inputs, outputs, attributes, device.type)
        for one, key in zip(found, filter(None, outputs), strict=True):
            np.testing.assert_array_equal(one, whole[key], err_msg=f"{name} {outputs}", strict=True)
