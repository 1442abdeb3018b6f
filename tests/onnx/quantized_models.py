"""Models that ONNX Runtime's tools quantize, and single nodes of its operators."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.onnx.test_models import model_of

MICROSOFT = "com.microsoft"


def real(rng, *shape):
    return rng.standard_normal(shape, np.float32)


def encoder(rng):
    """Return a model of a layer of attention and one of two products, with residuals and a gelu."""
    size = 16
    weights = [(name, real(rng, *shape) / 4) for name, shape in (
        ("q", (size, size)), ("k", (size, size)), ("v", (size, size)), ("up", (size, 24)), ("down", (24, size)),
        ("bias", (24,)), ("scale", (size,)),
    )]  # fmt: skip
    nodes = [
        ("MatMul", ["x", "q"], ["xq"]), ("MatMul", ["x", "k"], ["xk"]), ("MatMul", ["x", "v"], ["xv"]),
        ("Transpose", ["xk"], ["kt"], {"perm": [0, 2, 1]}), ("MatMul", ["xq", "kt"], ["products"]),
        ("Softmax", ["products"], ["parts"], {"axis": -1}), ("MatMul", ["parts", "xv"], ["mixed"]),
        ("Add", ["x", "mixed"], ["sum"]), ("LayerNormalization", ["sum", "scale"], ["normed"], {"axis": -1}),
        ("MatMul", ["normed", "up"], ["wide"]), ("Add", ["wide", "bias"], ["wider"]),
        ("Relu", ["wider"], ["act"]), ("MatMul", ["act", "down"], ["narrow"]), ("Add", ["sum", "narrow"], ["y"]),
    ]  # fmt: skip
    return model_of(nodes, [("x", ("rows", "tokens", size))], [("y", ("rows", "tokens", size))], weights, opset=17)


def convnet(rng):
    """Return a model of convolutions, also by groups, with sums, pools and a product at the end."""
    weights = [("w", real(rng, 8, 3, 3, 3) / 3), ("b", real(rng, 8)), ("v", real(rng, 8, 1, 3, 3) / 2)]
    weights += [
        ("u", real(rng, 8, 8, 1, 1) / 3),
        ("c", real(rng, 8)),
        ("head", real(rng, 5, 8)),
        ("last", real(rng, 5)),
    ]
    nodes = [
        ("Conv", ["x", "w", "b"], ["c0"], {"pads": [1, 1, 1, 1], "strides": [2, 2]}), ("Relu", ["c0"], ["r0"]),
        ("Conv", ["r0", "v", "c"], ["c1"], {"pads": [1, 1, 1, 1], "group": 8}), ("LeakyRelu", ["c1"], ["r1"]),
        ("Conv", ["r1", "u", "b"], ["c2"]), ("Add", ["c2", "r0"], ["sum"]), ("Sigmoid", ["sum"], ["gate"]),
        ("Mul", ["sum", "gate"], ["silu"]), ("Concat", ["silu", "r0"], ["both"], {"axis": 1}),
        ("AveragePool", ["both"], ["halved"], {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("Split", ["halved"], ["one", "other"], {"axis": 1}), ("Mul", ["one", "other"], ["product"]),
        ("MaxPool", ["product"], ["pooled"], {"kernel_shape": [2, 2]}), ("GlobalAveragePool", ["pooled"], ["mean"]),
        ("Flatten", ["mean"], ["flat"]), ("Gemm", ["flat", "head", "last"], ["scores"], {"transB": 1}),
        ("Softmax", ["scores"], ["y"], {"axis": -1}),
    ]  # fmt: skip
    return model_of(nodes, [("x", ("rows", 3, 14, 10))], [("y", ("rows", 5))], weights, opset=17)


def recurrent(rng, operator, direction="forward"):
    """Return a model of one recurrent node of h of 6 numbers."""
    gates, ways = {"LSTM": 4, "GRU": 3}[operator], 2 if direction == "bidirectional" else 1
    weights = [
        ("w", real(rng, ways, gates * 6, 10)),
        ("r", real(rng, ways, gates * 6, 6)),
        ("b", real(rng, ways, gates * 12)),
    ]
    node = (operator, ["x", "w", "r", "b"], ["y", "last"], {"hidden_size": 6, "direction": direction})
    outputs = [("y", ("steps", ways, "rows", 6)), ("last", (ways, "rows", 6))]
    return model_of([node], [("x", ("steps", "rows", 10))], outputs, weights, opset=17)


def dynamic(model, folder, **options):
    """Return the model that `quantize_dynamic` makes."""
    quantization = pytest.importorskip("onnxruntime.quantization")
    onnx.save(model, folder / "model.onnx")
    quantization.quantize_dynamic(folder / "model.onnx", folder / "quantized.onnx", **options)
    return onnx.load(folder / "quantized.onnx")


def static(model, folder, inputs, form, **options):
    """Return the model that `quantize_static` makes in one of its two forms."""
    quantization = pytest.importorskip("onnxruntime.quantization")

    class Reader(quantization.CalibrationDataReader):
        given = iter([inputs])

        def get_next(self):
            return next(self.given, None)

    onnx.save(model, folder / "model.onnx")
    form = getattr(quantization.QuantFormat, form)
    quantization.quantize_static(
        folder / "model.onnx", folder / "quantized.onnx", Reader(), quant_format=form, **options
    )
    return onnx.load(folder / "quantized.onnx")


def small(rng, shape, kind=np.uint8):
    info = np.iinfo(kind)
    return rng.integers(info.min, info.max + 1, shape).astype(kind)


def pair(rng, name, kind=np.uint8, shape=()):
    """Return a scale and a zero point as constants."""
    scale = rng.uniform(0.01, 0.05, shape).astype(np.float32)
    return [(f"{name}s", np.asarray(scale)), (f"{name}z", small(rng, shape, kind))]


def node_of_runtime(name, read, kind, attributes, inputs, constants):
    """Return a model of one node of ONNX Runtime's domain."""
    nodes = [helper.make_node(name, read, ["y"], name="the_node", domain=MICROSOFT, **attributes)]
    infos = [
        helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(one.dtype), one.shape)
        for key, one in inputs.items()
    ]
    tensors = [numpy_helper.from_array(np.asarray(one), key) for key, one in constants]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_tensor_value_info("y", kind, None)], tensors)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)
