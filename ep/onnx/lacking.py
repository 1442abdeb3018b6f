"""What a device lacks for a model: also for the nodes that follow from data, whose sizes are assumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np
from onnx import TypeProto

from ep.include.errors import LackingError
from ep.onnx.constants import ModelConstants
from ep.onnx.graph import Branch, Node
from ep.onnx.inputs import OF_SIZES, Sized
from ep.onnx.planned import Planned, in_place_of
from ep.onnx.types import dtype_of

_ASSUMED: Final = 64
"""The size of an axis that depends on data."""


def lacking(
    known: ModelConstants,
    types: Callable[[], Mapping[str, TypeProto]],
    nodes: Sequence[Node],
    fixed: Mapping[str, Any],
    given: Mapping[str, Any],
    wanted: Sequence[str],
) -> Iterator[LackingError]:
    """Yield an error for each part of a graph that needs kernels which the device lacks.

    types: returns those of values, by name, as ONNX has them. The others: as of `Planned`, which has the errors of the
    first part. It ends before a node whose results have no known number of axes, or where assumed sizes do not fit.
    """
    is_first = True
    while True:
        found = list[LackingError]()
        try:
            planned = Planned(known, nodes, fixed, given, wanted, lacking=found)
        except OF_SIZES:
            if is_first:
                raise
            return
        yield from found
        node, is_first, fixed = planned.cut, False, planned.fixed
        if node is None:
            return
        given = {name: given.get(name) or planned.sized(name) for name in planned.read_later}
        wanted = [name for name in wanted if name not in planned.results]
        branches = [one for one in node.attributes.values() if isinstance(one, Branch)]
        if node.line.first_state is None and branches:
            *others, last = branches
            for branch in others:
                inner = lacking(known, types, in_place_of(node, branch), fixed, given, node.outputs)
                with suppress(*OF_SIZES):
                    yield from inner
            nodes = [*in_place_of(node, last), *planned.rest]
            continue
        if node.line.of_data is not None:  # planned without the data
            read = tuple("" if k in node.line.host else name for k, name in enumerate(node.inputs))
            nodes = [node._replace(line=node.line._replace(host=()), inputs=read), *planned.rest]
            continue
        for body in branches:
            if of_step := _of_step(node, body, planned, given):
                with suppress(*OF_SIZES):
                    yield from lacking(known, types, body.nodes, fixed, {**given, **of_step}, body.outputs)
        kinds = types()
        results = {name: _assumed(kinds[name]) if name in kinds else None for name in node.outputs if name}
        if not all(results.values()):
            return
        nodes, given, wanted = planned.rest, {**given, **results}, [name for name in wanted if name not in results]


def _of_step(node: Node, body: Branch, planned: Planned, known: Mapping[str, Any]) -> dict[str, Sized]:
    """Return what a step of a loop gets, by name; nothing if that depends on data. known: the values with sizes."""

    def sized(name: str) -> Sized | None:
        return Sized.of(known[name]) if name in known else planned.sized(name)

    told = [Sized((), np.dtype(np.int64)), Sized((), np.dtype(bool))][: node.line.first_state]  # those of Loop
    given = [one for name in node.inputs[len(told) : len(body.inputs)] if (one := sized(name)) is not None]
    if num_scanned := node.attributes.get("num_scan_inputs", 0):
        axes = node.attributes.get("scan_input_axes") or [0] * num_scanned
        for k, axis in enumerate(axes, len(given) - num_scanned):
            given[k] = Sized(tuple(np.delete(given[k].shape, axis).tolist()), given[k].dtype)
    is_known = len(told) + len(given) == len(body.inputs)
    return dict(zip(body.inputs, [*told, *given], strict=True)) if is_known else {}


def _assumed(kind: TypeProto) -> Sized | None:
    """Return sizes of a type; None for an unknown number of axes."""
    tensor = kind.tensor_type
    if not tensor.HasField("shape"):
        return None
    shape = tuple(one.dim_value if one.HasField("dim_value") else _ASSUMED for one in tensor.shape.dim)
    with suppress(NotImplementedError):
        return Sized(shape, dtype_of(tensor.elem_type))
    return None
