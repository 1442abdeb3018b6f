"""Models of 8-bit integers and of trees, compared with ONNX Runtime: `python -m benchmarks.quantized`.

ONNX Runtime's tools quantize networks that are made here, and the packages of trees that are installed export ensembles
of random data. A line has the least time of a run of each runtime, and the largest difference of a result, as a part of
the largest number.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import ep.onnx
from benchmarks import runtimes
from benchmarks.models import distance
from benchmarks.quiet import least_seconds
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType

Array = np.ndarray[Any, Any]
_FEATURES: Final = 20
_ROWS: Final = 1, 10_000
_IMAGE: Final = 1, 3, 96, 96
_TOKENS: Final = 1, 64, 256


def _model(nodes: Sequence[Any], shape: Sequence[int], weights: Mapping[str, Array]) -> onnx.ModelProto:
    """Return a model of nodes (operator, inputs, output, attributes), whose input is x, and whose result is the last
    node's."""
    result = nodes[-1][2]
    graph = helper.make_graph(
        [helper.make_node(name, read, [made], **given) for name, read, made, given in nodes],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(result, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(one, name) for name, one in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _convolutions(rng: np.random.Generator, by_channels: bool) -> onnx.ModelProto:
    """Return a network of convolutions, each with a Relu. by_channels: whether those of 3 x 3 have a filter for each
    channel alone, with a product of channels after it."""
    nodes, weights, last, channels = list[Any](), dict[str, Array](), "x", _IMAGE[1]
    for k, (filters, stride) in enumerate(((32, 2), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1))):
        for size, count, step in ((3, channels if by_channels and k else filters, stride), (1, filters, 1)):
            groups = channels if by_channels and k and size == 3 else 1
            if size == 1 and not by_channels:
                continue
            name, fan = f"{k}.{size}", channels // groups * size * size
            weights[f"w{name}"] = rng.normal(0, fan**-0.5, (count, channels // groups, size, size)).astype(np.float32)
            weights[f"b{name}"] = rng.normal(0, 0.2, count).astype(np.float32)
            given = {"pads": [size // 2] * 4, "strides": [step] * 2, "group": groups}
            nodes.append(("Conv", [last, f"w{name}", f"b{name}"], f"c{name}", given))
            nodes.append(("Relu", [f"c{name}"], f"r{name}", {}))
            last, channels = f"r{name}", count
    return _model([*nodes, ("GlobalAveragePool", [last], "y", {})], _IMAGE, weights)


def _encoder(rng: np.random.Generator) -> onnx.ModelProto:
    """Return a layer of attention with one head, and of two products, as a transformer's encoder has it."""
    size = _TOKENS[-1]
    shapes = {**dict.fromkeys("qkvo", (size, size)), "up": (size, 4 * size), "down": (4 * size, size)}
    weights = {name: rng.normal(0, of[0] ** -0.5, of).astype(np.float32) for name, of in shapes.items()}
    nodes: list[Any] = [("MatMul", ["x", name], f"x{name}", {}) for name in "qkv"] + [
        ("Transpose", ["xk"], "kt", {"perm": [0, 2, 1]}), ("MatMul", ["xq", "kt"], "products", {}),
        ("Softmax", ["products"], "parts", {"axis": -1}), ("MatMul", ["parts", "xv"], "mixed", {}),
        ("MatMul", ["mixed", "o"], "out", {}), ("Add", ["x", "out"], "sum", {}), ("MatMul", ["sum", "up"], "wide", {}),
        ("Relu", ["wide"], "act", {}), ("MatMul", ["act", "down"], "narrow", {}), ("Add", ["sum", "narrow"], "y", {}),
    ]  # fmt: skip
    return _model(nodes, _TOKENS, weights)


def _lstm(rng: np.random.Generator) -> onnx.ModelProto:
    """Return a bidirectional LSTM and a product, as recognisers of text have them behind their convolutions."""
    shapes = {"w": (2, 512, 256), "r": (2, 512, 128), "b": (2, 1024), "head": (256, 100)}
    weights = {name: rng.normal(0, of[-1] ** -0.5, of).astype(np.float32) for name, of in shapes.items()}
    nodes = [
        ("LSTM", ["x", "w", "r", "b"], "h", {"hidden_size": 128, "direction": "bidirectional"}),
        ("Transpose", ["h"], "t", {"perm": [0, 2, 1, 3]}), ("Reshape", ["t", "sizes"], "f", {}),
        ("MatMul", ["f", "head"], "y", {}),
    ]  # fmt: skip
    return _model(nodes, (_TOKENS[1], 1, 256), weights | {"sizes": np.array([0, 0, -1])})


def quantized(rng: np.random.Generator) -> Iterator[tuple[str, bytes, Array]]:
    """Yield the names of quantized models, their bytes, and their input."""
    tools = import_module("onnxruntime.quantization")

    class Reader(tools.CalibrationDataReader):  # type: ignore[misc, name-defined]
        def __init__(self, x: Array) -> None:
            self._given = iter([{"x": x}])

        def get_next(self) -> Any:
            return next(self._given, None)

    made = {
        "convolutions": (_convolutions(rng, False), _IMAGE),
        "convolutions by channels": (_convolutions(rng, True), _IMAGE),
        "encoder": (_encoder(rng), _TOKENS),
        "lstm": (_lstm(rng), (_TOKENS[1], 1, 256)),
    }
    with tempfile.TemporaryDirectory() as folder:
        file, target = Path(folder) / "model.onnx", Path(folder) / "quantized.onnx"
        for name, (model, shape) in made.items():
            onnx.save(model, file)
            x = rng.standard_normal(shape, np.float32)
            tools.quantize_dynamic(file, target)
            yield f"{name}, dynamic", target.read_bytes(), x
            for form in () if name == "lstm" else tools.QuantFormat:
                kinds = {"activation_type": tools.QuantType.QUInt8, "weight_type": tools.QuantType.QInt8}
                tools.quantize_static(file, target, Reader(x), quant_format=form, per_channel=True, **kinds)
                yield f"{name}, {form.name}", target.read_bytes(), x


def trees(rng: np.random.Generator) -> Iterator[tuple[str, bytes, Array]]:
    """Yield the names of ensembles of trees, their bytes, and their input."""
    if find_spec("sklearn") is None or find_spec("skl2onnx") is None:
        return
    ensembles, tree, to_onnx = (import_module(one) for one in ("sklearn.ensemble", "sklearn.tree", "skl2onnx"))
    x = rng.standard_normal((8000, _FEATURES), np.float32)
    y = x[:, 0] * x[:, 1] + 0.3 * rng.standard_normal(len(x), np.float32)
    made = {
        "one deep tree": tree.DecisionTreeRegressor(random_state=0).fit(x, y),
        "forest of classes": ensembles.RandomForestClassifier(50, max_depth=8, random_state=0).fit(x, y > 0),
        "boosted trees": ensembles.GradientBoostingRegressor(random_state=0).fit(x, y),
    }
    for name, fitted in made.items():
        model = to_onnx.to_onnx(fitted, x[:1], options={"zipmap": False} if "classes" in name else None)
        for rows in _ROWS:
            given = rng.standard_normal((rows, _FEATURES), np.float32)
            yield f"{name}, {rows:,} rows", model.SerializeToString(), given


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    runs: int = parser.parse_args().runs
    device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    if not runtimes.installed(["onnxruntime"]):
        return
    print("| model | ONNX Runtime, ms | ep, ms | ONNX Runtime / ep | largest difference |")
    print("|---|--:|--:|--:|--:|")
    for name, file, x in (*quantized(np.random.default_rng(0)), *trees(np.random.default_rng(1))):
        model = ep.onnx.load(file)
        given = {model.inputs[0].name: x}
        other = runtimes.prepared("onnxruntime", file, given, device.GetNumThreads())
        assert other is not None
        calls: dict[str, Callable[[], Any]] = {"ep": partial(model.run, None, given), "onnxruntime": other}
        far = max(map(distance, calls["ep"](), other()))
        least = least_seconds(calls, runs)
        ours, theirs = (1e3 * least[one] for one in calls)
        print(f"| {name} | {theirs:.3f} | {ours:.3f} | {theirs / ours:.2f} | {far:.1e} |", flush=True)


if __name__ == "__main__":
    main()
