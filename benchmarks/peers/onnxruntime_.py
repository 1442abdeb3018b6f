"""ONNX Runtime: models of one node (two for silu), with inputs and outputs bound to the arrays' memory."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Final

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as capi

from benchmarks.peers import Contender
from ep.bench.case import (
    Array,
    Arrays,
    BatchGatherWork,
    BinaryWork,
    Case,
    ExpandWork,
    GatherWork,
    MatmulWork,
    UnaryWork,
)
from ep.include.primitive import BinaryOp, UnaryOp

_OPSET: Final = 20
_TYPES: Final = {
    **{"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9},
    **{"float16": 10, "float64": 11, "bfloat16": 16},
}
_SAME_NAME: Final = (
    *(UnaryOp.kIdentity, UnaryOp.kAbs, UnaryOp.kRelu, UnaryOp.kExp, UnaryOp.kLog, UnaryOp.kSqrt, UnaryOp.kSin),
    *(UnaryOp.kCos, UnaryOp.kTan, UnaryOp.kAsin, UnaryOp.kAcos, UnaryOp.kAtan, UnaryOp.kSinh, UnaryOp.kCosh),
    *(UnaryOp.kTanh, UnaryOp.kAsinh, UnaryOp.kAcosh, UnaryOp.kAtanh, UnaryOp.kSigmoid, UnaryOp.kErf, UnaryOp.kGelu),
    *(UnaryOp.kMish, UnaryOp.kElu, UnaryOp.kSelu),
)
_UNARY: Final = {
    **{op: op.name[1:].capitalize() for op in _SAME_NAME},
    UnaryOp.kNegative: "Neg",
    UnaryOp.kSoftPlus: "Softplus",
}
_BINARY: Final = {BinaryOp.kAdd: "Add", BinaryOp.kMul: "Mul", BinaryOp.kPow: "Pow", BinaryOp.kLessThan: "Less"}


class Adapter:
    name = "onnxruntime"
    version = onnxruntime.__version__
    note = "its threads stop to wait for work when a run ends, or they would slow down the next library"

    def __init__(self, threads: int) -> None:
        self._options = onnxruntime.SessionOptions()
        self._options.intra_op_num_threads = threads
        self._options.inter_op_num_threads = 1
        self._options.log_severity_level = 4
        self._options.add_session_config_entry("session.force_spinning_stop", "1")

    def prepare(self, case: Case, inputs: Arrays, out: Array) -> Contender | None:
        if any(array.dtype.name not in _TYPES for array in (*inputs, out)):
            return None
        if isinstance(case.work, BatchGatherWork):
            inputs = [inputs[0], inputs[1][:, :, None]]  # GatherND reads as indices the numbers along the last axis
        model = _model(case, inputs, out)
        if model is None:
            return None
        try:
            session = onnxruntime.InferenceSession(model, self._options, providers=["CPUExecutionProvider"])
        except (capi.NotImplemented, capi.InvalidGraph):  # no kernel for this type, or none in the standard
            return None
        binding = session.io_binding()
        for name, array in zip("x" if _has_weights(case) else "xy", inputs, strict=False):
            binding.bind_input(name, "cpu", 0, _TYPES[array.dtype.name], array.shape, array.ctypes.data)
        binding.bind_output("out", "cpu", 0, _TYPES[out.dtype.name], out.shape, out.ctypes.data)
        return Contender(partial(session.run_with_iobinding, binding), lambda: out, keeps=(*inputs, out))


def _has_weights(case: Case) -> bool:
    """Return whether the second operand is part of the model: the runtime then packs it once."""
    return isinstance(case.work, MatmulWork) and case.work.has_weights


def _model(case: Case, inputs: Arrays, out: Array) -> bytes | None:
    nodes = _nodes(case)
    if nodes is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx import helper, numpy_helper

    def value(name: str, array: Array) -> Any:
        return helper.make_tensor_value_info(name, _TYPES[array.dtype.name], array.shape)

    constants = []
    if isinstance(case.work, ExpandWork):
        constants.append(numpy_helper.from_array(np.array(case.out_dims, np.int64), "dims"))
    if _has_weights(case):
        constants.append(numpy_helper.from_array(inputs[1], "y"))
        inputs = inputs[:1]
    graph = helper.make_graph(
        [helper.make_node(op, names, [result], **attributes) for op, names, result, attributes in nodes],
        case.name,
        [value(name, array) for name, array in zip("xy", inputs, strict=False)],
        [value("out", out)],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=9)
    serialized: bytes = model.SerializeToString()
    return serialized


def _nodes(case: Case) -> list[tuple[str, list[str], str, dict[str, Any]]] | None:
    match case.work:
        case UnaryWork(UnaryOp.kSilu):
            return [("Sigmoid", ["x"], "s", {}), ("Mul", ["x", "s"], "out", {})]  # the runtime fuses the two
        case UnaryWork(UnaryOp.kFastGelu):
            return [("Gelu", ["x"], "out", {"approximate": "tanh"})]
        case UnaryWork(op) if op in _UNARY:
            return [(_UNARY[op], ["x"], "out", {})]
        case BinaryWork(op) if op in _BINARY:
            return [(_BINARY[op], ["x", "y"], "out", {})]
        case GatherWork():
            return [("Gather", ["x", "y"], "out", {"axis": 1})]
        case ExpandWork():
            return [("Expand", ["x", "dims"], "out", {})]
        case MatmulWork(transpose_b=False):
            return [("MatMul", ["x", "y"], "out", {})]
        case MatmulWork():  # the runtime fuses the two
            axes = list(range(len(case.out_dims)))
            return [
                ("Transpose", ["y"], "t", {"perm": [*axes[:-2], *axes[:-3:-1]]}),
                ("MatMul", ["x", "t"], "out", {}),
            ]
        case BatchGatherWork():
            return [("GatherND", ["x", "y"], "out", {"batch_dims": 1})]
    return None
