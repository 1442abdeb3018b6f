"""Quantized models, as ONNX Runtime's tools make them: results are ONNX Runtime's, or one quantum away."""

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

import ep.onnx
from tests.onnx.quantized_models import (
    MICROSOFT,
    convnet,
    dynamic,
    encoder,
    node_of_runtime,
    pair,
    real,
    recurrent,
    small,
    static,
)
from tests.onnx.test_models import model_of

runtime = pytest.importorskip("onnxruntime")
quantization = pytest.importorskip("onnxruntime.quantization")


def by_runtime(model, inputs):
    """Return the results of ONNX Runtime, which computes each node as it stands."""
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    return runtime.InferenceSession(model.SerializeToString(), options).run(None, inputs)


def check(model, inputs, quantum=0.0):
    """Compare results with ONNX Runtime's: integers by one, few of them, others by some quanta of rounding errors."""
    found = ep.onnx.load(model).run(None, inputs)
    for result, wanted in zip(found, by_runtime(model, inputs), strict=True):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        away = np.abs(result.astype(np.float64) - wanted)
        if result.dtype.kind in "iu":
            assert away.max(initial=0) <= 1
            assert (away > 0).mean() < 0.02
        else:
            assert away.max(initial=0) <= 1e-5 * np.abs(wanted).max(initial=1) + quantum


MODELS = {
    "encoder": (encoder, (2, 7, 16)),
    "convnet": (convnet, (2, 3, 14, 10)),
    "lstm": (lambda rng: recurrent(rng, "LSTM"), (5, 2, 10)),
    "bidirectional lstm": (lambda rng: recurrent(rng, "LSTM", "bidirectional"), (5, 2, 10)),
    "gru": (lambda rng: recurrent(rng, "GRU"), (5, 2, 10)),
}


@pytest.mark.parametrize("kind", ["QInt8", "QUInt8"])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_dynamic_models(rng, tmp_path, name, per_channel, kind):
    make, shape = MODELS[name]
    options = {"per_channel": per_channel, "weight_type": getattr(quantization.QuantType, kind)}
    model = dynamic(make(rng), tmp_path, **options)
    operators = {one.op_type for one in model.graph.node}
    assert operators & {"MatMulInteger", "ConvInteger", "DynamicQuantizeLSTM", "GRU"}
    for _ in range(3):
        check(model, {"x": real(rng, *shape)}, 2e-4)


@pytest.mark.parametrize("kinds", [("QUInt8", "QInt8"), ("QInt8", "QInt8"), ("QUInt8", "QUInt8")])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
@pytest.mark.parametrize("name", ["encoder", "convnet"])
def test_static_models(rng, tmp_path, name, form, per_channel, kinds):
    make, shape = MODELS[name]
    inputs = {"x": real(rng, *shape)}
    kinds = dict(
        zip(("activation_type", "weight_type"), (getattr(quantization.QuantType, one) for one in kinds), strict=True)
    )
    model = static(make(rng), tmp_path, inputs, form, per_channel=per_channel, **kinds)
    scales = [
        numpy_helper.to_array(one).max(initial=0) for one in model.graph.initializer if one.name.endswith("_scale")
    ]
    check(model, inputs, 2 * max(map(float, scales)))


@pytest.mark.parametrize("domain", ["", MICROSOFT])
def test_16_bits(rng, tmp_path, domain):
    """They are of opset 21, or of ONNX Runtime's domain."""
    inputs = {"x": real(rng, 2, 3, 14, 10)}
    kinds = {"activation_type": quantization.QuantType.QUInt16, "weight_type": quantization.QuantType.QInt8}
    options = {"UseQDQContribOps": domain == MICROSOFT}
    model = static(convnet(rng), tmp_path, inputs, "QDQ", extra_options=options, **kinds)
    assert {one.domain for one in model.graph.node if one.op_type == "QuantizeLinear"} == {domain}
    check(model, inputs, 1e-3)


def nodes_of_runtime(rng):
    """Return calls of ONNX Runtime's operators: name, inputs, outputs with types, attributes, and constants."""
    x, y, z = (pair(rng, name) for name in "xyz")
    one, two = ["a", "xs", "xz"], ["a", "xs", "xz", "c", "ys", "yz"]
    image, flat = small(rng, (2, 4, 6, 5)), small(rng, (3, 8))
    q = TensorProto.UINT8
    b = small(rng, (8, 7), np.int8)
    per_column = pair(rng, "b", np.int8, (7,))
    bias = ("bias", real(rng, 7))
    yield "QLinearAdd", [*two, "zs", "zz"], q, {}, {"a": image, "c": small(rng, (4, 1, 5))}, [*x, *y, *z]
    yield "QLinearMul", [*two, "zs", "zz"], q, {}, {"a": image, "c": image[::-1].copy()}, [*x, *y, *z]
    yield "QLinearSigmoid", [*one, "ys", "yz"], q, {}, {"a": image}, [*x, *y]
    yield "QLinearLeakyRelu", [*one, "ys", "yz"], q, {"alpha": 0.2}, {"a": image}, [*x, *y]
    yield "QLinearSoftmax", [*one, "ps", "pz"], q, {"axis": -1, "opset": 13}, {"a": flat}, [*x, *quanta(256)]
    yield "QLinearGlobalAveragePool", [*one, "ys", "yz"], q, {}, {"a": image}, [*x, *y]
    yield "QLinearGlobalAveragePool", [*one, "ys", "yz"], q, {"channels_last": 1}, {"a": image}, [*x, *y]
    pool = {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [0, 1, 0, 1]}
    yield "QLinearAveragePool", [*one, "ys", "yz"], q, pool, {"a": image}, [*x, *y]
    yield "QLinearConcat", ["zs", "zz", *two], q, {"axis": 1}, {"a": image, "c": image}, [*x, *y, *z]
    gemm = [*one, "b", "bs", "bz"]
    whole = ("whole", rng.integers(-999, 999, 7).astype(np.int32))
    yield "QGemm", [*gemm, "whole", "zs", "zz"], q, {}, {"a": flat}, [*x, *z, ("b", b), *per_column, whole]
    yield "QGemm", gemm, TensorProto.FLOAT, {"alpha": 0.5}, {"a": flat}, [*x, ("b", b), *pair(rng, "b", np.int8)]
    turned = ("b", b.T.copy())
    yield "QGemm", [*gemm, "whole"], TensorProto.FLOAT, {"transB": 1}, {"a": flat}, [*x, turned, *per_column, whole]
    scaled = ["a", "b", "xs", "bs", "xz", "bz"]
    yield "MatMulIntegerToFloat", scaled, TensorProto.FLOAT, {}, {"a": flat}, [*x, ("b", b), *per_column]
    yield (
        "MatMulIntegerToFloat",
        [*scaled, "bias"],
        TensorProto.FLOAT,
        {},
        {"a": flat},
        [*x, ("b", b), *per_column, bias],
    )
    yield (
        "MatMulIntegerToFloat",
        scaled[:4],
        TensorProto.FLOAT,
        {},
        {"a": flat},
        [*x, ("b", b), *pair(rng, "b", np.int8)],
    )
    floats = {"a": real(rng, 3, 8)}
    yield "DynamicQuantizeMatMul", ["a", "b", "bs", "bz"], TensorProto.FLOAT, {}, floats, [("b", b), *per_column]
    yield (
        "DynamicQuantizeMatMul",
        ["a", "b", "bs", "", "bias"],
        TensorProto.FLOAT,
        {},
        floats,
        [("b", b), *per_column, bias],
    )


def quanta(count):
    return [("ps", np.float32(1 / count)), ("pz", np.uint8(0))]


@pytest.mark.parametrize("number", range(17))
def test_operators_of_runtime(rng, number):
    name, read, kind, attributes, inputs, constants = [*nodes_of_runtime(rng)][number]
    used = [(name, np.asarray(one)) for name, one in constants if name in read]
    model = node_of_runtime(name, read, kind, attributes, inputs, used)
    check(model, inputs)


def test_weights_stay_integers(rng, tmp_path):
    """Nothing is in memory of the weights of products but their 8-bit integers."""
    wide = [("w", real(rng, 512, 512))]
    model = model_of([("MatMul", ["x", "w"], ["y"])], [("x", ("n", 512))], [("y", ("n", 512))], wide, opset=17)
    loaded = ep.onnx.load(dynamic(model, tmp_path))
    loaded(x=real(rng, 3, 512))
    held = int(loaded.explain((3, 512)).split("constants: ")[1].split(" bytes")[0].replace(",", ""))
    assert held < 512 * 512 + 2**13
