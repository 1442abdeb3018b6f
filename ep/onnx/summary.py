"""What a file of a model has, also of a model that is not served: its inputs and outputs, opsets, and operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import NamedTuple

from onnx import ModelProto, TensorProto, ValueInfoProto

from ep.onnx.errors import UnsupportedError
from ep.onnx.graph import graph_of, operator_of, shape_of
from ep.onnx.inlining import graphs_of, inlined, outputs_of
from ep.onnx.reading import checked, unsupported_opsets
from ep.onnx.source import Source
from ep.onnx.types import dtype_of


class Value(NamedTuple):
    """An input or an output. type: its dtype, or ONNX's word for what is no DataType. shape: as a ValueInfo has it."""

    name: str
    type: str
    shape: tuple[int | str | None, ...] | None


class Outline(NamedTuple):
    """What a model has.

    opsets: by the domain of operators. operators: the number of nodes of each, also in the graphs of nodes, the most
    frequent first. reasons: a line for each part that is not served. missing: what is not served of nodes, by their
    operators.
    """

    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    opsets: Mapping[str, int]
    operators: Mapping[str, int]
    reasons: tuple[str, ...]
    missing: Mapping[str, Sequence[str]]


def outline(source: str | PathLike[str] | bytes | ModelProto) -> Outline:
    """Return what a model has, whether it is served or not; nothing is computed.

    source: as for `load`. Raises TypeError for another source, ModelError for an invalid model, and OSError.
    """
    model, _ = checked(Source(source))
    outputs, reasons, missing = [*model.graph.output], unsupported_opsets(model), dict[str, Sequence[str]]()
    if not reasons:
        try:
            whole = inlined(model)
            outputs = outputs_of(whole)
            graph_of(whole)
        except UnsupportedError as error:
            reasons, missing = error.reasons, error.operators
    held = {one.name for one in model.graph.initializer}
    nodes = [node for graph in graphs_of(model.graph) for node in graph.node]
    counts = Counter(map(operator_of, nodes))
    return Outline(
        tuple(_value(one) for one in model.graph.input if one.name not in held),
        tuple(map(_value, outputs)),
        {one.domain or "ai.onnx": one.version for one in model.opset_import},
        dict(counts.most_common()),
        tuple(reasons),
        missing,
    )


def _value(value: ValueInfoProto) -> Value:
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        return Value(value.name, (kind or "no type").removesuffix("_type"), None)
    number = value.type.tensor_type.elem_type
    try:
        name = str(dtype_of(number))
    except NotImplementedError:
        name = TensorProto.DataType.Name(number).lower()
    return Value(value.name, name, shape_of(value))
