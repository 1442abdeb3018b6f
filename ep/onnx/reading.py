"""Reading a file: it returns a checked model in whose graph functions are expanded. No code of a model is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, inliner
from onnx.external_data_helper import load_external_data_for_model, uses_external_data

from ep.onnx.errors import ModelError, UnsupportedError
from ep.onnx.table import DOMAINS, line_of

OLDEST_OPSET = 7
_MOST_ROUNDS = 16  # functions consist of other functions, each of simpler operators


def read(source: str | PathLike[str] | bytes | ModelProto) -> ModelProto:
    """Return the checked model of a path, of the contents of a file, or of a ModelProto; raises ModelError.

    Tensors in other files must be in the folder of the model, or in folders below it.
    """
    if isinstance(source, ModelProto):
        model = source
    else:
        try:
            contents = source if isinstance(source, bytes) else Path(source).read_bytes()
            model = onnx.load_model_from_string(contents)
        except OSError:
            raise
        except Exception as error:  # errors of protobuf, which have no common class
            raise ModelError(f"it is not an ONNX model: {error}") from None
        _load_tensors(model, None if isinstance(source, bytes) else Path(source).parent)
    try:
        onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, ValueError) as error:  # ValueError: of names that are not text
        raise ModelError(f"it is not a valid ONNX model: {error}") from None
    if any(isinstance(name, bytes) for graph in _graphs(model.graph) for name in _names(graph)):
        raise ModelError("it is not a valid ONNX model: a name is not text")
    for one in model.opset_import:
        newest = onnx.defs.onnx_opset_version()
        if one.domain in DOMAINS and not OLDEST_OPSET <= one.version <= newest:
            raise UnsupportedError(
                [f"the model has opset {one.version}; it must have one of {OLDEST_OPSET} to {newest}"]
            )
    return _inlined(model)


def _load_tensors(model: ModelProto, folder: Path | None) -> None:
    """Read the tensors that are in other files."""
    for tensor in _tensors(model):
        if not uses_external_data(tensor):
            continue
        place = {one.key: one.value for one in tensor.external_data}
        if folder is None:
            raise ModelError(
                f"tensor {tensor.name} is in a file, {place.get('location')!r}: load the model by its path"
            )
        path = (folder / place.get("location", "")).resolve()
        if not path.is_relative_to(folder.resolve()) or not path.is_file():
            raise ModelError(
                f"tensor {tensor.name} is in {str(path)!r}, which is not a file in the folder of the model"
            )
        offset, length = (int(place[key]) if place.get(key, "").isdigit() else 0 for key in ("offset", "length"))
        if offset + length > path.stat().st_size:
            raise ModelError(f"tensor {tensor.name} ends behind the end of {str(path)!r}")
    if folder is not None:
        try:
            load_external_data_for_model(model, str(folder))
        except (onnx.checker.ValidationError, ValueError, OSError) as error:
            raise ModelError(f"a tensor in another file cannot be read: {error}") from None


def _tensors(model: ModelProto) -> list[TensorProto]:
    found = list[TensorProto]()
    for graph in _graphs(model.graph):
        found += graph.initializer
        for node in graph.node:
            found += [one for given in node.attribute for one in ([given.t] if given.HasField("t") else given.tensors)]
    return found


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """Yield a graph, and those that its nodes have."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for one in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from _graphs(one)


def _names(graph: GraphProto) -> Iterator[Any]:
    """Yield the names in a graph; protobuf has bytes for those that are not UTF-8."""
    for node in graph.node:
        yield from (node.name, *node.input, *node.output, *(one.name for one in node.attribute))
    for value in (*graph.input, *graph.output):
        yield from (value.name, *(one.dim_param for one in value.type.tensor_type.shape.dim))
    yield from (one.name for one in graph.initializer)


def _inlined(model: ModelProto) -> ModelProto:
    """Return the model with calls of functions replaced by their nodes: its own functions, and those that ONNX
    defines."""
    if model.functions:
        model = inliner.inline_local_functions(model)
    kept = set[tuple[str, str]]()
    for _ in range(_MOST_ROUNDS):
        opsets = {one.domain: one.version for one in model.opset_import}
        wanted = {
            (node.domain, node.op_type)
            for graph in _graphs(model.graph)
            for node in graph.node
            if line_of(node, opsets) is None and _has_function(node.op_type, node.domain, opsets)
        } - kept
        if not wanted:
            break
        for node in (node for graph in _graphs(model.graph) for node in graph.node):
            if (node.domain, node.op_type) in wanted:  # functions of ONNX do not always get defaults
                given = {one.name for one in node.attribute}
                node.attribute.extend(one for one in defaults_of(node, opsets) if one.name not in given)
        for one in sorted(wanted):
            try:
                model = inliner.inline_selected_functions(model, [one], inline_schema_functions=True)
            except (RuntimeError, ValueError):  # ONNX infers no type for an omitted input: the node is kept
                kept.add(one)
    return model


def defaults_of(node: NodeProto, opsets: Mapping[str, int]) -> list[AttributeProto]:
    """Return the default attributes of a node."""
    schema = onnx.defs.get_schema(node.op_type, opsets.get(node.domain) or opsets.get("", 0), node.domain)
    return [one.default_value for one in schema.attributes.values() if one.default_value.type]


def _has_function(name: str, domain: str, opsets: dict[str, int]) -> bool:
    try:
        schema: Any = onnx.defs.get_schema(name, opsets.get(domain, 0), domain)
    except (onnx.defs.SchemaError, TypeError):  # TypeError: of a version that is not a 32-bit number
        return False
    return bool(schema.has_function or schema.has_context_dependent_function)
