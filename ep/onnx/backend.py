"""The interface that ONNX's own tests call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, helper
from onnx.backend.base import Backend as _Backend
from onnx.backend.base import BackendRep, Device
from onnx.backend.base import DeviceType as _DeviceType
from onnx.shape_inference import infer_node_outputs

from ep import ops
from ep.onnx.errors import UnsupportedError
from ep.onnx.model import Model, load

_TAGS = {_DeviceType.CPU: "cpu", _DeviceType.CUDA: "cuda"}


class _ModelRep(BackendRep):
    """A model whose inputs are passed in order."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def run(self, inputs: Any, **_: Any) -> tuple[Any, ...]:
        given = inputs if isinstance(inputs, Sequence) else (inputs,)
        names = [one.name for one in self.model.inputs]
        outputs = self.model.run(None, dict(zip(names, given, strict=False)))
        return tuple(ops.copy_to_host(one) for one in outputs)


class Backend(_Backend):
    """The backend for `onnx.backend.test.BackendTest(ep.onnx.Backend, __name__)`."""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return whether a device such as "CUDA" is present."""
        try:
            tag = _TAGS[Device(device).type]
            ops.copy_to_device(np.zeros(1, np.float32), tag)
        except (AttributeError, KeyError, ValueError, RuntimeError):
            return False
        return True

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **_: Any) -> bool:
        """Return whether all nodes and types of a model are supported."""
        try:
            load(model)
        except UnsupportedError:
            return False
        return True

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **_: Any) -> _ModelRep:
        """Return a model that is ready to run; raises the errors of `load`."""
        return _ModelRep(load(model, _TAGS[Device(device).type]))

    @classmethod
    def run_node(
        cls, node: NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **options: Any
    ) -> tuple[Any, ...]:
        """Return the outputs of one node of the newest opset, or of `opset_version`."""
        given = [np.asarray(one) for one in inputs]
        infos = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip(filter(None, node.input), given, strict=True)
        ]
        version = options.get("opset_version", onnx.defs.onnx_opset_version())
        opsets, schema = [helper.make_opsetid("", version)], onnx.defs.get_schema(node.op_type, version, node.domain)
        types = infer_node_outputs(schema, node, {one.name: one.type for one in infos}, opset_imports=opsets)
        results = [helper.make_value_info(name, types[name]) for name in filter(None, node.output)]
        model = helper.make_model(helper.make_graph([node], "node", infos, results), opset_imports=opsets)
        return cls.prepare(model, device).run(given)
