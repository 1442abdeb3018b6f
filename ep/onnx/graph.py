"""The nodes of a model, each with its entry of the table of operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from ep.onnx.errors import ModelError, UnsupportedError
from ep.onnx.inlining import check_typed, defaults_of, outputs_of, schema_of
from ep.onnx.inputs import ValueInfo
from ep.onnx.labels import Labels
from ep.onnx.operators.line import Line, check_arguments, check_common
from ep.onnx.table import OPERATORS, line_of
from ep.onnx.texts import places_of, with_texts
from ep.onnx.types import dtype_of


class Node(NamedTuple):
    """A call of an operator. inputs: the names of values, "" for omitted inputs."""

    name: str
    line: Line
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]

    @property
    def shown(self) -> str:
        """The name of the node in errors."""
        return f"node {self.name!r} ({self.line.name})"


class Branch(NamedTuple):
    """The graph of a node: nodes that replace a node that selects them, or that are computed for each step of a loop.

    outputs, inputs: the names of their results, and of what each step gets. results: the type and the shape of each
    output, None for unknown ones.
    """

    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    results: tuple[tuple[np.dtype[Any] | None, tuple[Any, ...] | None], ...] = ()


class Graph(NamedTuple):
    """A model. constants: the tensors in the model, by name; those of branches have unique names. texts: what outputs
    stand for that are strings or maps."""

    inputs: tuple[ValueInfo, ...]
    outputs: tuple[ValueInfo, ...]
    constants: Mapping[str, np.ndarray[Any, Any]]
    nodes: tuple[Node, ...]
    texts: Mapping[str, Labels] = MappingProxyType({})


def graph_of(model: ModelProto) -> Graph:
    """Return the graph of a checked model.

    Raises UnsupportedError, which names all unsupported nodes and types, and ModelError for a name with several values,
    which ONNX's own check accepts.
    """
    reader = _Reader({one.domain: one.version for one in model.opset_import})
    reader.read_constants(model.graph, "")
    given = [one for one in model.graph.input if one.name not in reader.constants]
    results = outputs_of(model)
    check_typed((*given, *results))
    inputs = [reader.tried(_signature, one, f"input {one.name!r}") for one in given]
    names = {one.name: one.name for one in given} | {name: name for name in reader.constants}
    nodes = reader.nodes(model.graph, "", names)
    outputs = [reader.tried(reader.output, one, f"output {one.name!r}") for one in results]
    if reader.reasons:
        raise UnsupportedError([*reader.reasons], reader.operators)
    known = {one.name for one in inputs} | {*reader.constants}
    _check_names(known, nodes, [one.name for one in outputs])
    texts = {one.name: reader.texts[one.name] for one in outputs if one.name in reader.texts}
    return Graph(tuple(inputs), tuple(outputs), reader.constants, tuple(nodes), texts)


class _Reader:
    """Reads the nodes of a graph and of its branches. reasons: the unsupported parts, in the order of the model.
    operators: the reasons of nodes, by their operators. texts: what values stand for that are strings or maps, by
    name."""

    def __init__(self, opsets: Mapping[str, int]) -> None:
        self.opsets = opsets
        self.reasons: dict[str, None] = {}
        self.operators: dict[str, list[str]] = {}
        self.constants: dict[str, np.ndarray[Any, Any]] = {}
        self.texts: dict[str, Labels] = {}
        self._prefixes: set[str] = set()

    def tried(self, make: Callable[..., Any], of: Any, shown: str, operator: str = "") -> Any:
        """Return the result of `make`; record the reason and return None if something is unsupported.

        operator: that of the node that something is of, if it is of one.
        """
        try:
            return make(of)
        except NotImplementedError as error:
            self._refuse(shown, operator, str(error))
            return None

    def _refuse(self, shown: str, operator: str, why: str) -> None:
        self.reasons[f"{shown}: {why}"] = None
        if operator and why not in (told := self.operators.setdefault(operator, [])):
            told.append(why)

    def output(self, value: ValueInfoProto) -> ValueInfo:
        """Return the signature of an output; NotImplementedError for one that is no array of a DataType."""
        labels = self.texts.get(value.name)
        return _signature(value) if labels is None else ValueInfo(value.name, labels.dtype, shape_of(value))

    def read_constants(self, graph: GraphProto, prefix: str) -> None:
        """Add the tensors of a graph to the constants."""
        for one in graph.initializer:
            if prefix + one.name in self.constants:
                raise ModelError(f"tensor {one.name!r} has the name {prefix + one.name!r}, which there is already")
            found = self.tried(_array, one, f"tensor {one.name!r}")
            if one.data_type == TensorProto.STRING:
                found, self.texts[prefix + one.name] = places_of(found)
            self.constants[prefix + one.name] = found
        for sparse in graph.sparse_initializer:
            self.reasons[f"tensor {sparse.values.name!r}: it is sparse"] = None

    def nodes(self, graph: GraphProto, prefix: str, names: dict[str, str]) -> list[Node]:
        """Return the nodes of a graph. prefix: of the names of its values. names: those of all values that it sees."""
        found = []
        for k, one in enumerate(graph.node):
            name = one.name or f"#{k}"
            line, shown, operator = line_of(one, self.opsets), f"node {name!r} ({one.op_type})", operator_of(one)
            if line is None:
                why = f"no operator serves {operator} of opset {self.opsets.get(one.domain)}"
                self._refuse(f"node {name!r}", operator, why)
                continue
            for why in self._unsupported(one, line, names):
                self._refuse(shown, operator, why)
            _check_inputs(shown, one, line, self.opsets)
            branches = {
                each.name: self._branch(each.g, self._unused(f"{prefix}{name}.{each.name}"), names)
                for each in one.attribute
                if each.type == onnx.AttributeProto.GRAPH
            }
            for branch in branches.values():
                _check_body(shown, line, one, branch)
            read = [names.get(each, each) if each else "" for each in one.input]
            read += dict.fromkeys(each for branch in branches.values() for each in _read_by(branch))
            made = [prefix + each if each else "" for each in one.output]
            names.update({each: prefix + each for each in one.output if each and each not in names})
            attributes = self.tried(partial(_attributes, line=line, opsets=self.opsets), one, shown, operator)
            if attributes is not None:
                node = Node(name, line, tuple(read), tuple(made), {**attributes, **branches})
                found.append(self.tried(self._with_texts, node, shown, operator) or node)
        return found

    def _unsupported(self, node: NodeProto, line: Line, names: Mapping[str, str]) -> Iterator[str]:
        """Yield what the implementation of a node does not do of it."""
        if len([*filter(None, node.output)]) > line.most_outputs:
            yield f"no operator gives more than {line.most_outputs} of its outputs"
        mode = node.input[line.false] if 0 <= line.false < len(node.input) else ""
        held = self.constants.get(names.get(mode, ""))
        if mode and (held is None or held.any()):
            yield f"input {mode!r} must be a constant that is false: models are not trained here"

    def _with_texts(self, node: Node) -> Node:
        branches = [one for one in node.attributes.values() if isinstance(one, Branch)]
        if any(name in self.texts for one in branches for name in one.outputs):
            raise NotImplementedError("its graph gives strings or maps")
        found: Node = with_texts(node, self.texts, OPERATORS["Identity"][0])
        return found

    def _unused(self, prefix: str) -> str:
        """Return a prefix for the names of a graph: several nodes may have the same name."""
        number, found = 1, f"{prefix}."
        while found in self._prefixes:
            number, found = number + 1, f"{prefix}#{number + 1}."
        self._prefixes.add(found)
        return found

    def _branch(self, graph: GraphProto, prefix: str, outer: Mapping[str, str]) -> Branch:
        given = {one.name: prefix + one.name for one in (*graph.initializer, *graph.input)}
        own = {*given} | {name for node in graph.node for name in node.output if name}
        if hidden := own & {*outer}:
            raise ModelError(f"graph {graph.name!r} of a node gives {min(hidden)!r}, which there is already")
        self.read_constants(graph, prefix)
        for one in graph.input:  # each step gives it: what the graph has for it counts only without a value
            self.constants.pop(given[one.name], None)
        names = {**outer, **given}
        nodes = self.nodes(graph, prefix, names)
        outputs, results = [names.get(one.name, one.name) for one in graph.output], map(_result, graph.output)
        return Branch(tuple(nodes), tuple(outputs), tuple(given[one.name] for one in graph.input), tuple(results))


def operator_of(node: NodeProto) -> str:
    """Return the name of a node's operator, with its domain unless it is one of ONNX's own."""
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


def _read_by(branch: Branch) -> list[str]:
    """Return the names of the values that a branch reads and does not give."""
    made = {*branch.inputs} | {name for node in branch.nodes for name in node.outputs}
    read = [name for node in branch.nodes for name in node.inputs]
    return [*dict.fromkeys(name for name in (*read, *branch.outputs) if name and name not in made)]


def _check_inputs(shown: str, node: NodeProto, line: Line, opsets: Mapping[str, int]) -> None:
    """Raise ModelError for a node that omits one of several inputs of one kind, which ONNX's own check accepts, or of
    another domain, whose operators ONNX does not check, for inputs and attributes that its operator has not."""
    schema = schema_of(node, opsets)
    if schema is None:
        check_arguments(shown, node, line)
    elif "" in node.input:
        *others, last = schema.inputs
        variadic = last.option == onnx.defs.OpSchema.FormalParameterOption.Variadic
        if variadic and "" in (several := [*node.input[len(others) :]]):
            raise ModelError(
                f"{shown} omits input {len(others) + several.index('')}, one of {last.name}; it needs each"
            )


def _check_body(shown: str, line: Line, node: NodeProto, branch: Branch) -> None:
    """Raise ModelError for a graph that has other numbers of inputs and outputs than its node needs."""
    wanted, told = 0 if line.first_state is None else len(node.input), 0
    if len(branch.inputs) != wanted:
        raise ModelError(f"{shown} has a graph of {len(branch.inputs)} inputs; it must have {wanted}")
    if line.first_state is not None:
        counts = [one.i for one in node.attribute if one.name == "num_scan_inputs"]
        if not all(1 <= one <= wanted for one in counts):
            raise ModelError(f"{shown} has num_scan_inputs {counts[0]}; it must be 1 to {wanted}, as it has inputs")
        scanned = sum(counts)
        states, told = wanted - line.first_state - scanned, line.first_state // 2  # a step of Loop has a condition
        if not 0 <= states <= len(branch.outputs) - told:
            raise ModelError(f"{shown} has {states} states and a graph of {len(branch.outputs)} outputs")
    if len(node.output) > len(branch.outputs) - told:
        raise ModelError(f"{shown} has {len(node.output)} outputs and a graph of {len(branch.outputs)}")


def _check_names(known: set[str], nodes: Sequence[Node], outputs: Sequence[str]) -> None:
    for node in nodes:
        for name in node.inputs:
            if name and name not in known:
                raise ModelError(f"{node.shown} reads {name!r}, which nothing before it gives")
        for branch in node.attributes.values():
            if isinstance(branch, Branch):
                if twice := known & {*branch.inputs}:
                    raise ModelError(f"a graph of {node.shown} has an input {min(twice)!r}, which there is already")
                _check_names({*known, *branch.inputs}, branch.nodes, branch.outputs)
        for name in filter(None, node.outputs):
            if name in known:
                raise ModelError(f"{node.shown} gives {name!r}, which there is already")
            known.add(name)
    for name in outputs:
        if name not in known:
            raise ModelError(f"output {name!r} is given by no node")


def _signature(value: ValueInfoProto) -> ValueInfo:
    if value.type.WhichOneof("value") != "tensor_type":
        raise NotImplementedError(f"a value of {value.type.WhichOneof('value') or 'no type'} is not a tensor")
    return ValueInfo(value.name, dtype_of(value.type.tensor_type.elem_type), shape_of(value))


def shape_of(value: ValueInfoProto) -> tuple[int | str | None, ...] | None:
    """Return the shape of a tensor, as a ValueInfo has it."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return tuple(
        (one.dim_value if one.dim_value >= 0 else None)
        if one.HasField("dim_value")
        else one.dim_param.strip("?") or None
        for one in tensor.shape.dim
    )  # some have -1 or "?" for a size that is free


def _result(value: ValueInfoProto) -> tuple[np.dtype[Any] | None, tuple[Any, ...] | None]:
    try:
        return _signature(value)[1:]
    except NotImplementedError:
        return None, None


def _array(tensor: TensorProto) -> np.ndarray[Any, Any]:
    if tensor.data_type != TensorProto.STRING:
        dtype_of(tensor.data_type)
    try:
        return numpy_helper.to_array(tensor)
    except ValueError as error:
        raise ModelError(f"tensor {tensor.name!r} contradicts itself: {error}") from None


def _attributes(node: NodeProto, line: Line, opsets: Mapping[str, int]) -> dict[str, Any]:
    """Return the attributes that a node has, and those that it has by default, but for graphs."""
    every = (*defaults_of(node, opsets), *node.attribute)
    found = {one.name: _value(one) for one in every if one.type != onnx.AttributeProto.GRAPH}
    check_common(**found)
    if line.check is not None:
        line.check(**found)
    if line.prepare is None:
        return found
    try:
        return line.prepare(found)
    except ValueError as error:
        raise ModelError(f"node {node.name!r} ({line.name}): {error}") from None


def _value(attribute: onnx.AttributeProto) -> Any:
    if attribute.type == onnx.AttributeProto.UNDEFINED:  # ONNX does not check the nodes of functions
        raise ModelError(f"attribute {attribute.name!r} of a node has no type")
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, TensorProto):
        return _array(value)
    if isinstance(value, int | float):
        return value
    values = [one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in value]
    if any(not isinstance(one, int | float | str) for one in values):
        raise NotImplementedError(f"attribute {attribute.name} is a {type(value).__name__} of what is not a number")
    return values
