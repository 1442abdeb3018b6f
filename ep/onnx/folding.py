"""Computations when a model is loaded: constants of nodes, and normalisations after convolutions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ep.onnx.errors import ModelError
from ep.onnx.graph import Branch, Graph, Node
from ep.onnx.integer_products import with_integer_products
from ep.onnx.operators.shapes import constant

NDArray = np.ndarray[Any, Any]


def folded(graph: Graph) -> Graph:
    """Return a graph with the same results and fewer nodes.

    A BatchNormalization with constants is merged into the filters and the bias of a Conv with constants before it, if
    nothing else reads the result of the Conv, and the new ones are in the range of their type. Products of dequantized
    bytes become products of bytes. Constants that no node reads are removed, and zeros that inputs mean if they are
    omitted. Raises ModelError for constants that contradict
    each other.
    """
    constants = dict(graph.constants)
    for node in graph.nodes:
        if node.line.name == "Constant":
            constants[node.outputs[0]] = constant(**node.attributes)
    nodes_of_graph = with_integer_products(graph.nodes, constants, [one.name for one in graph.outputs])
    graph = graph._replace(nodes=_checked(nodes_of_graph, constants))
    readers = Counter(name for node in graph.nodes for name in node.inputs)
    readers.update(one.name for one in graph.outputs)
    nodes: list[Node | None] = [node if node.line.name != "Constant" else None for node in graph.nodes]
    given_by = {name: k for k, node in enumerate(nodes) if node is not None for name in node.outputs[:1]}
    for k, node in enumerate(graph.nodes):
        if node.line.name != "BatchNormalization" or readers[node.inputs[0]] != 1:
            continue
        place = given_by.get(node.inputs[0], -1)
        before = nodes[place] if place >= 0 else None
        if before is None or before.line.name != "Conv":
            continue
        read = [*before.inputs[1:], *node.inputs[1:]]
        if not all(name in constants or not name for name in read):
            continue
        each = {constants[name].shape for name in read[1:] if name}
        if each != {constants[read[0]].shape[:1]}:  # the nodes raise an error
            continue
        if (normed := _normed(before, node, constants)) is None:
            continue
        names = [f"{node.outputs[0]} {what}" for what in ("filters", "bias")]
        constants |= zip(names, normed, strict=True)
        nodes[place], nodes[k] = before._replace(inputs=(before.inputs[0], *names), outputs=node.outputs[:1]), None
        given_by[node.outputs[0]] = place
    left = tuple(node for node in nodes if node is not None)
    used = {name for node in left for name in node.inputs} | {one.name for one in graph.outputs}
    return graph._replace(constants={name: one for name, one in constants.items() if name in used}, nodes=left)


def _checked(nodes: Sequence[Node], constants: Mapping[str, NDArray]) -> tuple[Node, ...]:
    """Return nodes, also in the graphs of nodes, without constants that say what their absence does; raise ModelError
    for a node whose constants contradict each other."""
    found = []
    for node in nodes:
        if node.line.fits is not None:
            try:
                node.line.fits(*map(constants.get, node.inputs), **node.attributes)
            except (TypeError, ValueError) as error:
                raise ModelError(f"{node.shown}: {error}") from None
        read = [*node.inputs]
        for k in node.line.zeros:
            if k < len(read) and read[k] in constants and not constants[read[k]].any():
                read[k] = ""
        branches = {
            name: one._replace(nodes=_checked(one.nodes, constants))
            for name, one in node.attributes.items()
            if isinstance(one, Branch)
        }
        found.append(node._replace(inputs=tuple(read), attributes={**node.attributes, **branches}))
    return tuple(found)


def _normed(conv: Node, norm: Node, constants: Mapping[str, NDArray]) -> tuple[NDArray, NDArray] | None:
    """Return the filters and the bias of a convolution that includes its normalisation; None if some of them are not in
    the range of their type: the result may be in it."""
    filters = constants[conv.inputs[1]]
    scale, offset, mean, variance = (constants[name].astype(np.float64) for name in norm.inputs[1:5])
    bias = constants[conv.inputs[2]].astype(np.float64) if len(conv.inputs) > 2 and conv.inputs[2] else 0.0
    with np.errstate(all="ignore"):  # of variances below 0, NaN
        factor = scale / np.sqrt(variance + norm.attributes["epsilon"])
        wide = filters.astype(np.float64)
        each = factor.reshape(-1, *[1] * (wide.ndim - 1))
        found = (wide * each).astype(filters.dtype), ((bias - mean) * factor + offset).astype(filters.dtype)
    inner = tuple(range(1, wide.ndim))
    largest = [np.abs(one.astype(np.float64)).max(axis=inner, initial=0.0) for one in (found[0], wide)]
    least = float(np.finfo(filters.dtype if filters.dtype.kind == "f" else np.float32).tiny)  # bfloat16 has float32's
    below = [one < least for one in largest]  # they have lost bits
    is_lost = below[0] & ~below[1] & (factor != 0)
    fits = np.isfinite(largest[0]).all() and np.isfinite(found[1].astype(np.float64)).all() and not is_lost.any()
    return found if fits else None
