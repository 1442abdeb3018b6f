"""Batches of no elements: each node gives results of the shapes and types of other batches, without elements."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import ep.onnx
from ep.ops import copy_to_host
from tests.onnx.test_models import model_of as model_of_nodes

R = np.random.default_rng(7)


def f(*shape):
    return R.standard_normal(shape).astype(np.float32)


def n(*values):
    return np.array(values, np.int64)


def at(*shape, most=2):
    return R.integers(0, most, shape)


B = "batch"
"""The size of the batch in the shapes of inputs; all other inputs are constants."""


def gates(count, *others):
    return [f(2, 3 * count, 4), f(2, 3 * count, 3), f(2, 6 * count), *others]


BOTH = {"hidden_size": 3, "direction": "bidirectional"}
CASES = [
    *((name, [(B, 3)], {}) for name in (
        "Abs", "Relu", "Sigmoid", "Softmax", "LogSoftmax", "Hardmax", "Identity", "Flatten", "Shape", "Size", "Neg",
        "Exp", "Transpose", "LpNormalization", "NonZero", "Gelu", "Dropout", "IsNaN", "Erf", "Trilu", "EyeLike")),
    ("Softmax", [(B, 3)], {"axis": 0}),
    ("Flatten", [(B, 3, 4)], {"axis": 2}),
    ("Flatten", [(3, B, 4)], {"axis": 0}),
    ("Add", [(B, 3), (B, 3)], {}),
    ("Add", [(B, 3), (B, 1)], {}),
    ("Add", [(B, 3), f(3)], {}),
    ("Where", [(B, 1), (B, 3), f(3)], {}, {0: bool}),
    ("Sum", [(B, 3), (1, 3), (B, 1)], {}),
    ("Mean", [(B, 3), (1, 3), (B, 1)], {}),
    ("PRelu", [(B, 3), f(3)], {}),
    ("Clip", [(B, 3), np.float32(0)], {}),
    ("Cast", [(B, 3)], {"to": TensorProto.INT32}),
    ("Gemm", [(B, 3), f(3, 4), f(4)], {}),
    ("Gemm", [(3, B), f(3, 4), f(4)], {"transA": 1}),
    ("Gemm", [(3, B), (B, 4)], {}),
    ("MatMul", [(B, 3), f(3, 4)], {}),
    ("MatMul", [(B, 2, 3), f(3, 4)], {}),
    ("MatMul", [(B, 2, 3), (B, 3, 4)], {}),
    ("MatMul", [(B, 3), f(3)], {}),
    ("MatMul", [(3, B), (B, 4)], {}),
    ("Einsum", [(B, 2, 3), (B, 3, 4)], {"equation": "bij,bjk->bik"}),
    ("Einsum", [(B, 3), (B, 3)], {"equation": "bi,bi->b"}),
    ("Einsum", [(B, 3), (B, 4)], {"equation": "bi,bj->ij"}),
    *(("Reduce" + name, [(B, 3), n(axis)], {}) for axis in (0, 1)
      for name in ("Sum", "Max", "Min", "Prod", "SumSquare", "L1", "L2", "LogSum", "LogSumExp", "Mean")),
    ("ReduceSum", [(B, 3), n(0, 1)], {"keepdims": 0}),
    *((name, [(B, 3)], {"axis": 1}) for name in ("ArgMax", "ArgMin")),
    ("CumSum", [(B, 3), np.array(1)], {}),
    ("CumSum", [(B, 3), np.array(0)], {"reverse": 1}),
    ("TopK", [(B, 3), n(2)], {}),
    ("Concat", [(B, 3), (B, 2)], {"axis": 1}),
    ("Concat", [(B, 3), f(2, 3)], {"axis": 0}),
    ("Concat", [(B, 3), (B, 3)], {"axis": 0}),
    ("Split", [(B, 4), n(1, 3)], {"outputs": 2, "axis": 1}),
    ("Split", [(B, 4)], {"outputs": 2, "axis": 0, "num_outputs": 2}),
    ("Slice", [(B, 4), n(1), n(3), n(1)], {}),
    ("Slice", [(B, 4), n(0), n(5), n(0)], {}),
    ("Slice", [(B, 4), n(-1), n(-9), n(0), n(-1)], {}),
    ("Reshape", [(B, 3, 4), n(0, -1)], {}),
    ("Reshape", [(B, 3, 4), n(-1, 6)], {}),
    ("Reshape", [(B, 3, 4), n(0, 6, -1)], {}),
    ("Reshape", [(2, B, 6), n(2, -1, 3)], {}),
    ("Reshape", [(B, 3, 4), n(-1)], {}),
    ("Reshape", [(2, B, 6), n(0, 0, 2, 3)], {}),
    ("Squeeze", [(B, 1, 3), n(1)], {}),
    ("Unsqueeze", [(B, 3), n(0, 3)], {}),
    ("Expand", [(B, 1), n(1, 3)], {}),
    ("Expand", [(B, 1), n(4, 1, 3)], {}),
    ("Tile", [(B, 3), n(2, 2)], {}),
    *(("Pad", [(B, 3), n(0, 1, 0, 2)], {"mode": mode}) for mode in ("constant", "reflect", "edge", "wrap")),
    ("Pad", [(B, 3), n(1, 0, 0, 0)], {}),
    ("DepthToSpace", [(B, 4, 2, 3)], {"blocksize": 2}),
    ("SpaceToDepth", [(B, 2, 4, 6)], {"blocksize": 2}),
    ("Gather", [(B, 3), n(0, 2)], {"axis": 1}),
    ("Gather", [f(5, 3), (B, 2)], {}, {1: int}),
    ("GatherElements", [(B, 3), (B, 2)], {"axis": 1}, {1: int}),
    ("GatherND", [(B, 3), (B, 1)], {"batch_dims": 1}, {1: int}),
    ("GatherND", [f(4, 3), (B, 2)], {}, {1: int}),
    ("ScatterElements", [(B, 3), (B, 2), (B, 2)], {"axis": 1}, {1: int}),
    ("ScatterElements", [f(4, 3), (B, 2), (B, 2)], {"reduction": "add"}, {1: int}),
    ("ScatterND", [f(4, 3), (B, 1), (B, 3)], {}, {1: int}),
    ("OneHot", [(B, 2), np.array(4), f(2)], {}, {0: int}),
    ("Compress", [(B, 3), np.array([True, False, True])], {"axis": 1}),
    ("ReverseSequence", [(4, B, 3), (B,)], {}, {1: int}),
    ("Conv", [(B, 3, 7), f(2, 3, 3), f(2)], {}),
    ("Conv", [(B, 4, 7, 5), f(4, 1, 3, 3)], {"group": 4, "pads": [1, 1, 1, 1]}),
    ("Conv", [(B, 4, 7), f(6, 2, 3)], {"group": 2, "strides": [2]}),
    ("ConvTranspose", [(B, 3, 7), f(3, 2, 3), f(2)], {"strides": [2]}),
    *((name, [(B, 3, 7, 5)], {"kernel_shape": [2, 3], "pads": [1, 1, 0, 0]}) for name in
      ("MaxPool", "AveragePool", "LpPool")),
    *((name, [(B, 3, 7, 5)], {}) for name in ("GlobalAveragePool", "GlobalMaxPool")),
    ("LRN", [(B, 3, 5)], {"size": 3}),
    ("BatchNormalization", [(B, 3, 5), f(3), f(3), f(3), np.abs(f(3))], {}),
    ("InstanceNormalization", [(B, 3, 5), f(3), f(3)], {}),
    ("LayerNormalization", [(B, 3, 5), f(5), f(5)], {}),
    ("GroupNormalization", [(B, 4, 5), f(4), f(4)], {"num_groups": 2}),
    ("RMSNormalization", [(B, 3, 5), f(5)], {}),
    ("MeanVarianceNormalization", [(B, 3, 5, 2)], {}),
    ("Resize", [(B, 3, 4), None, np.float32([1, 1, 2])], {"mode": "linear"}),
    ("Resize", [(B, 3, 4), None, np.float32([1, 2, 2])], {}),
    ("Resize", [(B, 3, 4), None, np.float32([2, 1, 1.5])], {"mode": "cubic"}),
    ("LSTM", [(5, B, 4), *gates(4)], {**BOTH, "outputs": 3}),
    ("LSTM", [(B, 5, 4), *gates(4)], {**BOTH, "outputs": 3, "layout": 1}),
    ("GRU", [(5, B, 4), *gates(3)], {**BOTH, "outputs": 2}),
    ("GRU", [(5, B, 4), *gates(3), (B,), (2, B, 3)], {**BOTH, "outputs": 2}, {4: np.int32}),
    ("RNN", [(5, B, 4), *gates(1)], {**BOTH, "outputs": 2}),
    ("Attention", [(B, 2, 3, 4), (B, 2, 5, 4), (B, 2, 5, 4)], {}),
    ("RotaryEmbedding", [(B, 2, 3, 4), (B, 3, 2), (B, 3, 2)], {}),
    ("SoftmaxCrossEntropyLoss", [(B, 3), (B,)], {"reduction": "none"}, {1: int}),
    ("NegativeLogLikelihoodLoss", [(B, 3), (B,)], {"reduction": "sum"}, {1: int}),
]  # fmt: skip


def model_of(name, inputs, attributes, dtypes=None):
    """Return a model of one node whose inputs with shapes have a free batch, and a function that makes its inputs."""
    attributes = dict(attributes)
    outputs = [f"y{k}" for k in range(attributes.pop("outputs", 2 if name == "TopK" else 1))]
    names, infos, tensors, given = [], [], [], {}
    for k, one in enumerate(inputs):
        names.append("" if one is None else f"i{k}")
        if isinstance(one, tuple):
            dtype = np.dtype((dtypes or {}).get(k, np.float32))
            given[f"i{k}"] = one, dtype
            infos.append(helper.make_tensor_value_info(f"i{k}", helper.np_dtype_to_tensor_dtype(dtype), one))
        elif one is not None:
            tensors.append(numpy_helper.from_array(np.asarray(one), f"i{k}"))
    node = helper.make_node(name, names, outputs, "node", **attributes)
    results = [helper.make_empty_tensor_value_info(one) for one in outputs]
    graph = helper.make_graph([node], "g", infos, results, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])

    def made(batch):
        sizes = {key: [batch if size == B else size for size in shape] for key, (shape, _) in given.items()}
        return {key: np.ones(sizes[key]).astype(dtype) for key, (_, dtype) in given.items()}

    return model, made


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case[0]} {[one for one in case[1] if isinstance(one, tuple)]} {case[2]}"
)
def test_batches_of_nothing(device, case):
    """A size that follows from the batch is a whole multiple of it, plus a constant."""
    given, made = model_of(*case)
    model = ep.onnx.load(given, device.type)
    twos, fours, nothing = ([copy_to_host(one) for one in model.run(None, made(batch))] for batch in (2, 4, 0))
    for two, four, none in zip(twos, fours, nothing, strict=True):
        assert none.dtype == two.dtype
        assert none.shape == tuple(2 * one - other for one, other in zip(two.shape, four.shape, strict=True))


def convolutions():
    nodes = [("Conv", ["x", "w"], ["a"]), ("BatchNormalization", ["a", *"ssss"], ["b"]),
             ("Relu", ["b"], ["c"]), ("MaxPool", ["c"], ["d"], {"kernel_shape": [2, 2]}),
             ("GlobalAveragePool", ["d"], ["e"]), ("Flatten", ["e"], ["f"]),
             ("Gemm", ["f", "v", "t"], ["g"]), ("Softmax", ["g"], ["y"])]  # fmt: skip
    constants = [("w", f(4, 3, 3, 3)), ("s", np.ones(4, np.float32)), ("v", f(4, 5)), ("t", f(5))]
    return model_of_nodes(nodes, [("x", (B, 3, 9, 7))], [("y", (B, 5))], constants)


def heads():
    """Return a model of products of heads whose shapes are computed from that of the input."""
    nodes = [("MatMul", ["x", "w"], ["q"]), ("Shape", ["x"], ["all"]), ("Gather", ["all", "zero"], ["rows"]),
             ("Unsqueeze", ["rows", "axis"], ["first"]), ("Concat", ["first", "rest"], ["sizes"], {"axis": 0}),
             ("Reshape", ["q", "sizes"], ["h"]), ("Transpose", ["h"], ["t"], {"perm": [0, 2, 1, 3]}),
             ("Transpose", ["h"], ["k"], {"perm": [0, 2, 3, 1]}), ("MatMul", ["t", "k"], ["s"]),
             ("Softmax", ["s"], ["p"]), ("MatMul", ["p", "t"], ["o"]),
             ("Transpose", ["o"], ["b"], {"perm": [0, 2, 1, 3]}), ("Reshape", ["b", "flat"], ["m"]),
             ("Add", ["m", "x"], ["u"]), ("LayerNormalization", ["u", "g", "g"], ["y"])]  # fmt: skip
    constants = [("w", f(8, 8)), ("zero", np.array(0)), ("axis", n(0)), ("rest", n(-1, 2, 4)), ("flat", n(0, -1, 8)),
                 ("g", f(8))]  # fmt: skip
    return model_of_nodes(nodes, [("x", (B, 5, 8))], [("y", (B, 5, 8))], constants)


def sequences():
    nodes = [("Transpose", ["x"], ["s"], {"perm": [1, 0, 2]}), ("LSTM", ["s", "w", "r"], ["", "h"], {"hidden_size": 3}),
             ("Squeeze", ["h", "axis"], ["l"]), ("MatMul", ["l", "v"], ["y"])]  # fmt: skip
    constants = [("w", f(1, 12, 4)), ("r", f(1, 12, 3)), ("axis", n(0)), ("v", f(3, 2))]
    return model_of_nodes(nodes, [("x", (B, 6, 4))], [("y", (B, 2))], constants)


def places():
    """Return a model with a size that depends on data."""
    nodes = [("Greater", ["x", "zero"], ["on"]), ("NonZero", ["on"], ["p"]), ("Transpose", ["p"], ["t"]),
             ("GatherND", ["x", "t"], ["z"]), ("ReduceSum", ["z"], ["total"], {"keepdims": 0}),
             ("Add", ["x", "total"], ["y"])]  # fmt: skip
    return model_of_nodes(nodes, [("x", (B, 3))], [("y", (B, 3))], [("zero", np.float32(0))])


def steps():
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "part"], ["next"]), helper.make_node("Mul", ["next", "next"], ["row"])],
        "body",
        [helper.make_tensor_value_info(one, TensorProto.FLOAT, (3,)) for one in ("s", "part")],
        [helper.make_tensor_value_info(one, TensorProto.FLOAT, (3,)) for one in ("next", "row")],
    )
    nodes = [("Scan", ["zeros", "x"], ["last", "y"], {"num_scan_inputs": 1, "body": body})]
    return model_of_nodes(nodes, [("x", (B, 3))], [("y", (B, 3))], [("zeros", np.zeros(3, np.float32))])


@pytest.mark.parametrize("make", [convolutions, heads, sequences, places, steps])
def test_models_of_batches_of_nothing(device, make):
    """Batches follow one another, with plans that are there already."""
    given = make()
    model = ep.onnx.load(given.SerializeToString(), device.type)
    (_, _, sizes), (_, _, results) = model.inputs[0], model.outputs[0]
    for batch in (2, 0, 0, 0, 3, 0):
        (y,) = map(copy_to_host, model(x=f(batch, *sizes[1:])))
        assert y.shape == (batch, *results[1:])
    ((y,),) = [ep.onnx.load(given, device.type)(x=np.zeros((0, *sizes[1:]), np.float32))]
    assert y.shape == (0, *results[1:])
