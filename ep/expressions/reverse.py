"""Gradients of a trace: the rules of operators, applied from the loss backwards."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

import numpy as np

from ep.common.arrays.operators import FUNCTIONS
from ep.expressions.array import LazyArray
from ep.expressions.joined_products import join_products
from ep.expressions.trace import Node, Trace
from ep.include.data_type import DataType
from ep.include.primitive.op_definition import INEXACT
from ep.ops.declare.gradient import Backward
from ep.ops.gradients import of_inputs


def gradients(loss: LazyArray, by: Sequence[LazyArray]) -> list[LazyArray]:
    """Return the gradients of a loss, an array of one element, with respect to aliases that were made before it.

    They are recorded in the trace, too. They are zeros for aliases that the loss does not depend on.
    """
    trace, last = loss.trace, loss.node.position
    sources = {one.node.position for one in by}
    depends = _dependent(trace, sources, last, INEXACT)
    found = {last: _full(1, loss)}
    for node in reversed(trace.nodes[min(sources) : last + 1]):
        if node.position not in depends or node.position in sources or node.result:
            continue
        results = trace.results_of(node)
        of_results = [found.get(one.node.position) for one in results]
        if all(one is None for one in of_results):
            continue
        inputs, rule = trace.rules.get(node.position, (node.inputs, None))
        slopes = _of_inputs(trace, node, results, of_results) if rule is None else rule(of_results[0])
        for one, gradient in zip(inputs, slopes, strict=True):
            if one in depends and gradient is not None:
                before = found.get(one)
                found[one] = gradient if before is None else FUNCTIONS["add"](before, gradient)
    made = [found[one.node.position] if one.node.position in found else _full(0, one) for one in by]
    return [trace.array(one) for one in join_products(trace, [one.node.position for one in made], last)]


def inlined(arrays: Sequence[LazyArray], aliases: Sequence[LazyArray]) -> list[LazyArray]:
    """Return the same arrays, computed from the values that aliases stand for."""
    trace = aliases[0].trace
    instead = {one.node.position: one.node.inputs[0] for one in aliases}
    depends = _dependent(trace, instead, len(trace.nodes), [*DataType])
    wanted, todo = set(instead), [one.node.position for one in arrays]
    while todo:
        position = todo.pop()
        if position in depends and position not in wanted:
            wanted.add(position)
            todo += trace.nodes[position].inputs
    for position in sorted(wanted - instead.keys()):
        node = trace.nodes[position]
        if position not in instead:  # another result of a call that was recorded again
            results = trace.again(node, tuple(instead.get(one, one) for one in node.inputs))
            for before, now in zip(trace.results_of(node), results, strict=True):
                instead[before.node.position] = now.node.position
    positions = (one.node.position for one in arrays)
    return [trace.array(instead.get(position, position)) for position in positions]


def _dependent(trace: Trace, sources: Iterable[int], last: int, types: Container[DataType]) -> set[int]:
    """Return the values up to the last one that depend on given values through values of some types.

    The given values are included.
    """
    found = set(sources)
    for node in trace.nodes[min(found) : last + 1]:
        if node.data_type in types and not found.isdisjoint(node.inputs):
            found.add(node.position)
    return found


def _of_inputs(trace: Trace, node: Node, results: list[Any], of_results: list[Any]) -> list[Any]:
    """Return the gradients with respect to the inputs of the call that computes a value.

    The gradients with respect to its results are None where there are none.
    """
    inputs = [trace.array(one) for one in node.inputs]
    if node.operator is None:
        return [trace.reshape(of_results[0], inputs[0].shape)]
    filled = [_full(0, one) if dy is None else dy for one, dy in zip(results, of_results, strict=True)]
    many = node.operator.many
    output = results if many else results[0]
    return of_inputs(node.operator, Backward(inputs, node.attributes, filled if many else filled[0], lambda: output))


def _full(number: int, like: LazyArray) -> Any:
    """Return an array of one number, of the shape and type of another."""
    return FUNCTIONS["expand"](like.trace.number(np.asarray(number, like.dtype)), like.shape)
