"""Reading a file: it gives a checked model, in whose graph functions are expanded. No code of a model is run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
from onnx import GraphProto, ModelProto, TensorProto
from onnx.external_data_helper import load_external_data_for_model, uses_external_data

from ep.onnx.errors import ModelError, UnsupportedError
from ep.onnx.inlining import graphs_of, has_shape, inlined, is_typed
from ep.onnx.source import Source
from ep.onnx.table import DOMAINS

OLDEST_OPSET = 7


def read(source: Source) -> tuple[ModelProto, bool]:
    """Return the model of a source as `checked` does, with functions expanded; UnsupportedError for another opset."""
    model, is_whole = checked(source)
    if reasons := unsupported_opsets(model):
        raise UnsupportedError(reasons)
    return inlined(model), is_whole


def checked(source: Source) -> tuple[ModelProto, bool]:
    """Return the checked model of a source, and whether no tensor of it is in another file; raises ModelError.

    Tensors in other files must be in the folder of the model, or in folders below it. An error begins with the path, if
    there is one.
    """
    try:
        return _checked(source)
    except ModelError as error:
        raise error if source.path is None else ModelError(f"{source.path}: {error}") from None


def _checked(source: Source) -> tuple[ModelProto, bool]:
    is_whole = True
    if not source.is_file:
        model: Any = source.model
        if not isinstance(model, ModelProto):
            raise TypeError(f"source must be a path, bytes or a ModelProto, not {type(model).__qualname__}")
    else:
        contents = source.contents()
        try:
            model = onnx.load_model_from_string(contents)
        except Exception as error:  # errors of protobuf, which have no common class
            raise ModelError(f"it is not an ONNX model: {error}") from None
        is_whole = not _load_tensors(model, None if source.path is None else source.path.parent)
    try:
        onnx.checker.check_model(_complete(model))
    except (onnx.checker.ValidationError, ValueError) as error:  # ValueError: of names that are not text
        raise ModelError(f"it is not a valid ONNX model: {error}") from None
    if any(isinstance(name, bytes) for name in _names(model)):
        raise ModelError("it is not a valid ONNX model: a name is not text")
    return model, is_whole


def unsupported_opsets(model: ModelProto) -> list[str]:
    """Return a line for each opset of ONNX's operators that is too old or too new."""
    newest = onnx.defs.onnx_opset_version()
    return [
        f"the model has opset {one.version}; it must have one of {OLDEST_OPSET} to {newest}"
        for one in model.opset_import
        if one.domain in DOMAINS and not OLDEST_OPSET <= one.version <= newest
    ]


def _complete(model: ModelProto) -> ModelProto:
    """Return what ONNX's check accepts: a copy with placeholders if inputs or outputs lack a type or a shape."""

    def lacking(one: ModelProto) -> list[Any]:
        values = (*one.graph.input, *one.graph.output)
        return [value for value in values if not (is_typed(value) and has_shape(value))]

    if not lacking(model):
        return model
    found = ModelProto()
    found.CopyFrom(model)
    for value in lacking(found):
        value.type.tensor_type.shape.SetInParent()
        if not is_typed(value):
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    return found


def _load_tensors(model: ModelProto, folder: Path | None) -> int:
    """Read the tensors that are in other files, and return their number."""
    elsewhere = [tensor for tensor in _tensors(model) if uses_external_data(tensor)]
    for tensor in elsewhere:
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
    return len(elsewhere)


def _tensors(model: ModelProto) -> list[TensorProto]:
    found = list[TensorProto]()
    for graph in graphs_of(model.graph):
        found += graph.initializer
        for node in graph.node:
            found += [one for given in node.attribute for one in ([given.t] if given.HasField("t") else given.tensors)]
    return found


def _names(model: ModelProto) -> Iterator[Any]:
    """Yield the names in a model; protobuf has bytes for those that are not UTF-8."""
    graphs = [*graphs_of(model.graph)]
    for one in model.functions:
        yield from (one.domain, one.name, *one.input, *one.output, *one.attribute)
        yield from (default.name for default in one.attribute_proto)
        graphs += graphs_of(GraphProto(node=one.node))
    for graph in graphs:
        for node in graph.node:
            yield from (node.name, *node.input, *node.output, *(one.name for one in node.attribute))
        for value in (*graph.input, *graph.output):
            yield from (value.name, *(one.dim_param for one in value.type.tensor_type.shape.dim))
        yield from (one.name for one in graph.initializer)
