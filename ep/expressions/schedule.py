"""The schedule of a trace: which values are computed together in kernels, and in which order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

import numpy as np

from ep.expressions import samples
from ep.expressions.explanation import Explanation, Part
from ep.expressions.grouping import (
    CHOICES,
    CONVOLUTION,
    GATHER,
    MAPS,
    PAD,
    PRODUCT,
    ROW_OPS,
    SEGMENT_SUMS,
    Group,
    Grouping,
    View,
    axes_of_rows,
    chooses_elements,
)
from ep.expressions.structures import StructureOf
from ep.expressions.trace import Node, Trace
from ep.expressions.views import operands_of_gather, padded_axes, read_indices, with_matrices, with_views
from ep.include.arrays import Arrays
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.primitive import ExpressionFactory, NewPrimitive
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.reduce_op import TRUTHS, ReduceOp
from ep.include.primitive.structure import (
    ChoiceOp,
    Structure,
    kMaxRow,
)

_LEAST_ROW: Final = 16
"""The fewest elements of the rows that kernels choose: an index of a shorter one costs more than its elements."""
_LEAST_ADDED_ROW: Final = 32
"""The fewest elements of rows that are computed as they are added up."""
_FEW_WINDOWS: Final = 48
"""With fewer windows, convolutions are computed by other products: of whole batches, or of few columns."""


class Schedule:
    """The steps of a trace.

    groups: in order. views: the positions of values that are views of others. strided: those that only kernels read,
    and how. last_read: for each value, the last group that reads it or a view of it; for a result, and for an array of
    which a result is a view, the number of groups.
    """

    def __init__(self, trace: Trace, results: Iterable[int], round_each: bool) -> None:
        """results: the positions of the required values."""
        self.nodes, self.results = trace.nodes, list(dict.fromkeys(results))
        self._round_each = round_each
        base = trace.base
        device_type = base.device_type if isinstance(base, Arrays) else None
        self._device_type = device_type
        self._has_maps, self._has_reductions = (
            _has_kernels(device_type, kind) for kind in (samples.MAP, samples.REDUCTION)
        )
        self._place, self._has_views = base.place, isinstance(base, Arrays) and base.has_views
        if isinstance(base, Arrays):
            self.nodes = with_matrices(self.nodes, lambda node: not self._why_no_product(node))
        self._wanted = self._needed()
        self.views = {node.position for node in self.nodes if node.operator is None and node.inputs}
        self.strided = dict[int, View]()
        if self._has_views:
            self.nodes, self.strided = with_views(
                self.nodes, self._wanted, {*self.results}, lambda node: not self.why_alone(node)
            )
            self._wanted = self._needed()
            self.views |= self.strided.keys()
        grouping = Grouping(self.nodes, self._wanted, self.views, self.why_alone)
        for node in self.nodes:
            adds = node.position in self._wanted and self._operator(node) in SEGMENT_SUMS
            if node.position in self._wanted and self._reduces_any(node):
                grouping.compute_as_read(node, set(self.results))
                grouping.compute_after(node)
            elif adds and not self._why_no_segments(node) and grouping.compute_as_read(node, set(self.results)):
                grouping.compute_after(node)
        for node in self.nodes:
            if node.position not in self._wanted or self._why_no_product(node):
                continue
            if not grouping.compute_on_product(node) and self._converts(node):
                grouping.compute_product(node)
        self.groups = grouping.ordered()
        if trace.gives_buffers:  # the kernel of the operator has forms for each op, and may already be on disk
            for group in self.groups:
                if not group.why and len(group.values) == 1 and group.product is None:
                    read = self.nodes[group.values[0]].inputs
                    group.why = "" if self.strided.keys() & {*read} else "no other operator is computed with it"
        elsewhere = self._read_elsewhere()
        for group in self.groups:
            self._complete(group, elsewhere)
        self.last_read = self._last_read()

    def _needed(self) -> set[int]:
        """Return the values that results depend on."""
        needed, todo = set(self.results), list(self.results)
        while todo:
            for position in self.nodes[todo.pop()].inputs:
                if position not in needed:
                    needed.add(position)
                    todo.append(position)
        return needed

    def _last_read(self) -> dict[int, int]:
        found = dict.fromkeys(self.results, len(self.groups))
        for k, group in reversed([*enumerate(self.groups)]):
            last = found.get(group.values[0], k) if self.is_view(group) else k
            for source in group.sources:
                found[source] = max(found.get(source, k), last)
        return found

    def is_view(self, group: Group) -> bool:
        """Return whether the result of a group may be in the memory of an operand."""
        return group.values[0] in self.views

    def is_gather(self, position: int) -> bool:
        """Return whether a value consists of rows of another one, chosen by indices."""
        return self._operator(self.nodes[position]) in CHOICES

    def why_alone(self, node: Node) -> str:
        """Return the reason why a value is not part of a map kernel; an empty text if it is."""
        if node.position in self.views or node.operator is None:
            return "nothing is written: it is read where it is"
        name = node.operator.name
        if name in (PRODUCT, CONVOLUTION):
            return self._why_no_product(node) or "no map alone reads it, or it is read before that"
        if name == GATHER:
            return self._why_no_gather(node)
        if name == PAD:
            return self._why_no_pad(node)
        if name in SEGMENT_SUMS:
            return self._why_no_segments(node) or "no kernel computes maps that it alone reads"
        if name not in MAPS and name not in ROW_OPS:
            return f"{name} is not a map: no kernel joins it yet"
        if len(node.shape) > kMaxNumDims:
            return f"it has more than {kMaxNumDims} axes"
        if not self._has_maps:
            return f"{self._place} has no Expression: operators are computed one by one"
        return self._why_no_row(node) if name in ROW_OPS else ""

    def _why_no_gather(self, node: Node) -> str:
        """Return why no kernel reads the rows that a gather chooses where they are; empty if one does."""
        params, indices = (self.nodes[one] for one in node.inputs)
        op = ChoiceOp.kElement if chooses_elements(node, self.nodes) else ChoiceOp.kRow
        elements, (_, read) = (
            math.prod(params.shape[node.attributes["axis"] + 1 :]),
            operands_of_gather(node, self.nodes),
        )
        if not self._has_views or not _has_kernels(
            self._device_type, samples.gathers(op, node.data_type, read.data_type)
        ):
            return f"{self._place} chooses no {'rows' if op is ChoiceOp.kRow else 'elements of rows'} in other kernels"
        if not node.attributes["size"] or indices.constant is not None:
            return "its index is a number, or there are no rows"
        if op is ChoiceOp.kElement:
            return "" if params.shape[-1] <= kMaxRow else f"rows have {kMaxRow} elements at most in a kernel"
        if elements < _LEAST_ROW:
            return f"its rows have {elements} elements; a kernel reads {_LEAST_ROW} at least"
        return f"it has more than {kMaxNumDims - 1} axes" if len(node.shape) >= kMaxNumDims else ""

    def _why_no_pad(self, node: Node) -> str:
        """Return why no kernel reads the rows that a pad keeps where they are; empty if one does."""
        axes, of_row = padded_axes(node), samples.gathers(ChoiceOp.kRow, node.data_type, DataType.kInt64)
        if not self._has_views or not _has_kernels(self._device_type, of_row):
            return f"{self._place} chooses no rows in other kernels"
        value = np.array(node.attributes["constant_values"], node.data_type.dtype)
        if len(axes) != 1 or 0 in node.shape or 0 in self.nodes[node.inputs[0]].shape or any(value.tobytes()):
            return "it pads several axes, or with another number than 0"
        elements = math.prod(node.shape[axes[0] + 1 :])
        if elements < _LEAST_ROW:
            return f"its rows have {elements} elements; a kernel reads {_LEAST_ROW} at least"
        return f"it has more than {kMaxNumDims - 1} axes" if len(node.shape) >= kMaxNumDims else ""

    def _why_no_segments(self, node: Node) -> str:
        """Return why no kernel computes the elements whose segments a value is the sums of; empty if one may."""
        data, indices = (self.nodes[one] for one in node.inputs)
        rows = axes_of_rows(node, self.nodes)
        if not _has_kernels(self._device_type, samples.adds(node.data_type, read_indices(node, self.nodes).data_type)):
            return f"{self._place} computes no elements as it adds up segments"
        if indices.constant is not None or not rows or 0 in data.shape or 0 in node.shape or node.attributes["offset"]:
            return "its index is a number, or it has no rows or is a piece of others"
        elements = math.prod(data.shape[rows[-1] + 1 :])
        if elements < _LEAST_ADDED_ROW:
            return f"its rows have {elements} elements; a kernel adds up {_LEAST_ADDED_ROW} at least"
        return f"it has more than {kMaxNumDims} axes" if max(len(data.shape), len(node.shape)) > kMaxNumDims else ""

    def _why_no_product(self, node: Node) -> str:
        """Return why no kernel computes maps on a value, a product of matrices; empty if one may."""
        if self._operator(node) == CONVOLUTION:
            return self._why_no_convolution(node)
        if self._operator(node) != PRODUCT:
            return "it is not a product"
        one, other = (self.nodes[position] for position in node.inputs)
        if len(one.shape) < 2 or len(other.shape) < 2:
            return "it is a product of a vector"
        if len(node.shape) > kMaxNumDims:
            return f"it has more than {kMaxNumDims} axes"
        if not _has_kernels(self._device_type, samples.products(node.data_type, (one.data_type, other.data_type))):
            return f"{self._place} computes no maps on a product"
        return ""

    def _converts(self, node: Node) -> bool:
        """Return whether a kernel of a product converts its matrices as it reads them."""
        is_product = self._operator(node) == PRODUCT
        return is_product and any(self.nodes[one].data_type is not node.data_type for one in node.inputs)

    def _why_no_convolution(self, node: Node) -> str:
        """Return why no kernel computes maps on a convolution; empty if one may."""
        filters, windows = node.shape[1] // node.attributes["groups"], math.prod(node.shape[2:])
        if node.attributes["is_depthwise"]:
            return "each channel has its own filters: it is no product"
        if filters == 1 or windows < _FEW_WINDOWS:
            return "it has one filter, or few windows: its product has a kernel of its own"
        if not _has_kernels(self._device_type, samples.convolutions(node.data_type, len(node.shape) - 2)):
            return f"{self._place} computes no maps on a convolution"
        return ""

    def _reduces_any(self, node: Node) -> bool:
        """Whether a value is reduced in a way that row kernels do not support, but a reduce kernel does."""
        op = ROW_OPS.get(self._operator(node))
        if not isinstance(op, ReduceOp) or not self._has_reductions or not self._why_no_row(node):
            return False
        shape, axes = self.nodes[node.inputs[0]].shape, node.attributes["axes"]
        goes = any(shape[axis] != 1 for axis in axes)
        return goes and 0 not in shape and len(shape) <= kMaxNumDims and not node.attributes.get("is_piece")

    def _why_no_row(self, node: Node) -> str:
        """Return the reason why an operator on whole rows is not part of a row kernel; an empty text if it is."""
        shape, given = self.nodes[node.inputs[0]].shape, node.attributes
        axes = given["axes"] if "axes" in given else (given["axis"],)
        if axes != (len(shape) - 1,):
            return "only what goes along the last axis is computed by rows"
        if not 0 < shape[-1] <= kMaxRow:
            return f"rows have 1 to {kMaxRow} elements in a kernel, these have {shape[-1]}"
        if len(shape) > kMaxNumDims or given.get("is_piece"):
            return f"it has more than {kMaxNumDims} axes, or is a piece of others"
        name, read = self._operator(node), self.nodes[node.inputs[0]].data_type
        if _has_kernels(
            self._device_type, samples.rows(ROW_OPS[name], read if ROW_OPS[name] in TRUTHS else node.data_type)
        ):
            return ""
        return f"{self._place} computes no {name} of {read.name} by rows"

    def _operator(self, node: Node) -> str:
        return "" if node.operator is None else node.operator.name

    def _read_elsewhere(self) -> set[int]:
        """Return the values that groups other than their own read, and the required values."""
        of = {value: k for k, group in enumerate(self.groups) for value in group.values}
        read = ((one, k) for value, k in of.items() for one in self.nodes[value].inputs)
        return {one for one, k in read if of.get(one) != k} | set(self.results)

    def _complete(self, group: Group, elsewhere: set[int]) -> None:
        """Find the operands, the results and the structure of a group; elsewhere: the values that other groups read."""
        inside = set(group.values)
        group.sources = list(
            dict.fromkeys(one for value in group.values for one in self.nodes[value].inputs if one not in inside)
        )
        if group.why:
            group.results = group.values
            return
        group.results = [value for value in group.values if value in elsewhere]
        group.sources = [one for one in group.sources if self.nodes[one].constant is None]
        StructureOf(self.nodes, group, self._round_each)

    def explain(self, names: Mapping[int, str]) -> Explanation:
        """Return a description of each step, as text and for a drawing; names: those of inputs, by position."""
        return Explanation([self._part(group) for group in self.groups], self.nodes, self.results, names)

    def _part(self, group: Group) -> Part:
        read, written = (sum(_bytes(self.nodes[one]) for one in some) for some in (group.sources, group.results))
        for value in group.values if not group.why else ():
            if self.is_gather(value) and self.nodes[value].inputs[0] in group.sources:  # not all rows are read
                read -= max(_bytes(self.nodes[self.nodes[value].inputs[0]]) - _bytes(self.nodes[value]), 0)
        if group.why:
            return Part(group, "view", 0, 0, {}) if self.is_view(group) else Part(group, "operator", read, written, {})
        has_rows = group.structure is not None and group.structure.has_rows
        cuts = {}
        for source in group.sources:
            node = self.nodes[source]
            if node.operator is not None and not self.why_alone(node):
                same = node.shape == group.shape
                cuts[source] = "the kernel before is full, or waits for less" if same else f"its shape is {node.shape}"
                if group.product is not None and source in self.nodes[group.product].inputs:
                    cuts[source] = "the product reads all of it"
        kind = "reduce kernel" if group.gone else "row kernel" if has_rows else "map kernel"
        kind = kind if group.product is None else "product kernel"
        return Part(group, kind, read, written, cuts)


def _bytes(node: Node) -> int:
    size = node.data_type.itemsize
    for one in node.shape:
        size *= one
    return size


@cache
def _has_kernels(device_type: DeviceType | None, sample: Structure) -> bool:
    return device_type is not None and NewPrimitive(ExpressionFactory, device_type, sample) is not None
