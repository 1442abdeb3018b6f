"""Functions in models: their calls are replaced by the nodes of the functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import onnx
from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
    helper,
    inliner,
)
from onnx.checker import ValidationError
from onnx.shape_inference import InferenceError

from ep.onnx.errors import ModelError
from ep.onnx.table import line_of, opset_of

_MOST_ROUNDS: Final = 16
"""Functions consist of other functions, each of simpler operators."""


def inlined(model: ModelProto) -> ModelProto:
    """Return the model with calls of functions replaced by their nodes: its own functions, and those that ONNX
    defines. Raises ModelError for functions and types that contradict each other."""
    if not model.functions and not _wanted(model):
        return model
    bare = without_tensors(model)
    try:
        if model.functions:
            bare = inliner.inline_local_functions(bare)
        bare = _with_nodes_of_functions(bare)
        if _wanted(bare):  # few functions of ONNX depend on sizes
            del bare.graph.input[:]
            bare.graph.input.extend(_inputs(model))
            bare = _with_nodes_of_functions(bare)
    except (InferenceError, ValidationError, RuntimeError) as error:
        raise ModelError(f"calls of functions contradict the functions or the types: {error}") from None
    found = ModelProto()
    found.CopyFrom(model)
    for several, new in (
        (found.functions, ()),
        (found.graph.node, bare.graph.node),
        (found.opset_import, bare.opset_import),
    ):
        del several[:]
        several.extend(new)
    return found


def is_typed(value: ValueInfoProto) -> bool:
    """Return whether a value has a type: all but tensors have one if they are named at all."""
    kind = value.type.WhichOneof("value")
    return bool(kind and (kind != "tensor_type" or value.type.tensor_type.elem_type != TensorProto.UNDEFINED))


def check_typed(values: Iterable[ValueInfoProto]) -> None:
    """Raise ModelError, which names all values that have no type."""
    if unknown := [one.name for one in values if not is_typed(one)]:
        raise ModelError(f"the model does not give the type of {', '.join(map(repr, unknown))}")


def has_shape(value: ValueInfoProto) -> bool:
    """Return whether a value has a shape, or needs none."""
    return bool(value.type.WhichOneof("value") != "tensor_type" or value.type.tensor_type.HasField("shape"))


def outputs_of(model: ModelProto) -> list[ValueInfoProto]:
    """Return the outputs of a model; ONNX infers the types of those that have none, but not their shapes."""
    outputs = [*model.graph.output]
    if all(map(is_typed, outputs)):
        return outputs
    bare = without_tensors(model)
    for value in (*bare.graph.input, *bare.graph.output):  # ONNX infers no types where it does not like shapes
        if is_typed(value):
            value.type.CopyFrom(_of_any_shape(value.type))
        else:
            value.ClearField("type")
    types = types_of(bare)
    for k, one in enumerate(outputs):
        if not is_typed(one) and one.name in types:
            outputs[k] = ValueInfoProto(name=one.name, type=_of_any_shape(types[one.name]))
            if one.type.tensor_type.HasField("shape"):
                outputs[k].type.tensor_type.shape.CopyFrom(one.type.tensor_type.shape)
    return outputs


def types_of(model: ModelProto) -> dict[str, TypeProto]:
    """Return the types of the values of a graph that ONNX infers, or that are those of inputs by the text of an
    operator: ONNX infers none for some outputs, such as the second one of Attention. Raises ModelError for types that
    contradict each other."""
    opsets = _opsets(model)
    while True:
        try:
            graph = onnx.shape_inference.infer_shapes(model).graph
        except (InferenceError, ValidationError, RuntimeError) as error:
            raise ModelError(f"the types of outputs cannot be inferred: {error}") from None
        types = {one.name: one.type for one in (*graph.input, *graph.value_info, *graph.output) if is_typed(one)}
        told = dict[str, TypeProto]()
        for node in graph.node:
            schema = schema_of(node, opsets)
            if schema:
                given = zip(node.input, schema.inputs, strict=False)
                known = {one.type_str: types[name] for name, one in given if name in types and one.is_homogeneous}
                results = zip(node.output, schema.outputs, strict=False)
                told |= {name: known[one.type_str] for name, one in results if name and one.type_str in known}
        new = [ValueInfoProto(name=name, type=_of_any_shape(one)) for name, one in told.items() if name not in types]
        if not new:
            return types
        model.graph.value_info.extend(new)


def _of_any_shape(kind: TypeProto) -> TypeProto:
    found = TypeProto()
    found.CopyFrom(kind)
    if found.HasField("tensor_type"):
        found.tensor_type.ClearField("shape")
    return found


def graphs_of(graph: GraphProto) -> Iterator[GraphProto]:
    """Yield a graph, and those that its nodes have."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for one in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from graphs_of(one)


def _with_nodes_of_functions(model: ModelProto) -> ModelProto:
    """Return a model with calls of ONNX's functions replaced, except of those whose types ONNX cannot infer."""
    kept = set[tuple[str, str]]()
    for _ in range(_MOST_ROUNDS):
        wanted = _wanted(model) - kept
        if not wanted:
            break
        opsets = _opsets(model)
        for node in (node for graph in graphs_of(model.graph) for node in graph.node):
            if (node.domain, node.op_type) in wanted:  # functions of ONNX do not always get defaults
                given = {one.name for one in node.attribute}
                node.attribute.extend(one for one in defaults_of(node, opsets) if one.name not in given)
        for one in sorted(wanted):
            try:
                model = inliner.inline_selected_functions(model, [one], inline_schema_functions=True)
            except (RuntimeError, ValueError):  # ONNX does not infer all types, or the node does not fit the function
                kept.add(one)
    return model


def _wanted(model: ModelProto) -> set[tuple[str, str]]:
    """Return the domains and the names of the operators that ONNX has functions for, and the table has not."""
    opsets = _opsets(model)
    return {
        (node.domain, node.op_type)
        for graph in graphs_of(model.graph)
        for node in graph.node
        if line_of(node, opsets) is None and _has_function(node, opsets)
    }


def without_tensors(model: ModelProto) -> ModelProto:
    """Return a model with the same nodes, whose tensors are inputs, and whose inputs and outputs have free sizes.

    ONNX infers types before it replaces calls. From sizes that contradict each other it infers negative ones, and then
    an assertion of its C++ code may end the process. Most functions need only types, and no tensor is copied. An input
    without a type is refused: its C++ code for some operators reads it.
    """
    check_typed(model.graph.input)
    graph = GraphProto(name="model", node=model.graph.node)
    graph.input.extend(map(_of_free_sizes, _inputs(model)))
    graph.output.extend(map(_of_free_sizes, model.graph.output))
    for one in graphs_of(graph):  # ONNX asks for a type of omitted inputs, too, and then does not read it
        one.value_info.add(name="").type.SetInParent()
    return ModelProto(
        ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions, graph=graph
    )


def _inputs(model: ModelProto) -> list[ValueInfoProto]:
    """Return the inputs of a model, and its tensors as inputs."""
    names = {one.name for one in model.graph.input}
    tensors = [one for one in model.graph.initializer if one.name not in names]
    return [*model.graph.input, *(helper.make_tensor_value_info(one.name, one.data_type, one.dims) for one in tensors)]


def _of_free_sizes(value: ValueInfoProto) -> ValueInfoProto:
    found = ValueInfoProto()
    found.CopyFrom(value)
    for one in found.type.tensor_type.shape.dim if found.type.HasField("tensor_type") else ():
        one.Clear()
    return found


def _opsets(model: ModelProto) -> dict[str, int]:
    return {one.domain: one.version for one in model.opset_import}


def defaults_of(node: NodeProto, opsets: Mapping[str, int]) -> list[AttributeProto]:
    """Return the default attributes of a node, none for an operator that ONNX does not define."""
    schema = schema_of(node, opsets)
    return [one.default_value for one in schema.attributes.values() if one.default_value.type] if schema else []


def _has_function(node: NodeProto, opsets: Mapping[str, int]) -> bool:
    schema = schema_of(node, opsets)
    return bool(schema and (schema.has_function or schema.has_context_dependent_function))


def schema_of(node: NodeProto, opsets: Mapping[str, int]) -> Any:
    """Return ONNX's definition of the operator of a node; None if there is none."""
    try:
        return onnx.defs.get_schema(node.op_type, opset_of(node, opsets), node.domain)
    except (onnx.defs.SchemaError, TypeError):  # TypeError: of a version that is not a 32-bit number
        return None
