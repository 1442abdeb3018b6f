"""The nodes of a model, each with the line of the table that serves it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from ep.onnx.errors import ModelError, UnsupportedError
from ep.onnx.reading import defaults_of
from ep.onnx.table import Line, line_of
from ep.onnx.types import dtype_of


class Signature(NamedTuple):
    """An input or an output of a model; shape: sizes, names of sizes that are free, None for others and if unknown."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | str | None, ...] | None


class Node(NamedTuple):
    """A call of an operator. inputs: names of values, "" for those that are left out."""

    name: str
    line: Line
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]

    @property
    def shown(self) -> str:
        """The name of the node in errors."""
        return f"node {self.name!r} ({self.line.name})"


class Graph(NamedTuple):
    """A model. constants: the tensors that it holds, by name."""

    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    constants: Mapping[str, np.ndarray[Any, Any]]
    nodes: tuple[Node, ...]


def graph_of(model: ModelProto) -> Graph:
    """Return the graph of a checked model.

    Raises UnsupportedError, which names all nodes and types that nothing serves, and ModelError for what ONNX's own
    check lets through: names that stand for several values.
    """
    reasons: dict[str, None] = {}

    def tried(make: Callable[..., Any], of: Any, shown: str) -> Any:
        try:
            return make(of)
        except NotImplementedError as error:
            reasons[f"{shown}: {error}"] = None
            return None

    graph, opsets = model.graph, {one.domain: one.version for one in model.opset_import}
    constants = {one.name: tried(_array, one, f"tensor {one.name!r}") for one in graph.initializer}
    for sparse in graph.sparse_initializer:
        reasons[f"tensor {sparse.values.name!r}: it is sparse"] = None
    given = [one for one in graph.input if one.name not in constants]
    inputs, outputs = (
        [tried(_signature, one, f"{kind} {one.name!r}") for one in some]
        for kind, some in (("input", given), ("output", graph.output))
    )
    nodes = []
    for k, one in enumerate(graph.node):
        name = one.name or f"#{k}"
        line = line_of(one, opsets)
        if line is None:
            domain = f"{one.domain}." if one.domain else ""
            reasons[f"node {name!r}: no operator serves {domain}{one.op_type} of opset {opsets.get(one.domain)}"] = None
            continue
        shown = f"node {name!r} ({one.op_type})"
        if len([*filter(None, one.output)]) > line.most_outputs:
            reasons[f"{shown}: no operator gives more than {line.most_outputs} of its outputs"] = None
        mode = one.input[line.false] if 0 <= line.false < len(one.input) else ""
        if mode and (constants.get(mode) is None or constants[mode].any()):
            reasons[f"{shown}: input {mode!r} must be a constant that is false: models are not trained here"] = None
        attributes = tried(_attributes_of(line, opsets), one, shown)
        nodes.append(Node(name, line, tuple(one.input), tuple(one.output), attributes or {}))
    if reasons:
        raise UnsupportedError([*reasons])
    _check_names(inputs, constants, nodes, outputs)
    return Graph(tuple(inputs), tuple(outputs), constants, tuple(nodes))


def _check_names(inputs: Any, constants: Any, nodes: Any, outputs: Any) -> None:
    known = {one.name for one in inputs} | {*constants}
    for node in nodes:
        for name in node.inputs:
            if name and name not in known:
                raise ModelError(f"{node.shown} reads {name!r}, which nothing before it gives")
        for name in filter(None, node.outputs):
            if name in known:
                raise ModelError(f"{node.shown} gives {name!r}, which there is already")
            known.add(name)
    for one in outputs:
        if one.name not in known:
            raise ModelError(f"output {one.name!r} is given by no node")


def _signature(value: ValueInfoProto) -> Signature:
    if value.type.WhichOneof("value") != "tensor_type":
        raise NotImplementedError(f"a value of {value.type.WhichOneof('value') or 'no type'} is no tensor")
    tensor = value.type.tensor_type
    shape = None
    if tensor.HasField("shape"):
        shape = tuple(one.dim_value if one.HasField("dim_value") else one.dim_param or None for one in tensor.shape.dim)
    return Signature(value.name, dtype_of(tensor.elem_type), shape)


def _array(tensor: TensorProto) -> np.ndarray[Any, Any]:
    dtype_of(tensor.data_type)
    try:
        return numpy_helper.to_array(tensor)
    except ValueError as error:
        raise ModelError(f"tensor {tensor.name!r} contradicts itself: {error}") from None


def _attributes_of(line: Line, opsets: Mapping[str, int]) -> Callable[[NodeProto], dict[str, Any]]:
    """Return the function that returns the attributes that a node has, and those that it has by default."""

    def attributes(node: NodeProto) -> dict[str, Any]:
        found = {one.name: _value(one) for one in (*defaults_of(node, opsets), *node.attribute)}
        if line.check is not None:
            line.check(**found)
        return found

    return attributes


def _value(attribute: onnx.AttributeProto) -> Any:
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, TensorProto):
        return _array(value)
    if isinstance(value, int | float):
        return value
    values = [one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in value]
    if any(not isinstance(one, int | float | str) for one in values):
        raise NotImplementedError(f"attribute {attribute.name} is a {type(value).__name__} of what is no number")
    return values
