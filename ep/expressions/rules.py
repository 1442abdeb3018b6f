"""What the kernels of a device compute, and why other values are computed by their operators alone."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from functools import cache
from typing import Final

import numpy as np

from ep.expressions import samples
from ep.expressions.operators import MAPS, ROW_OPS, axes_of_rows, chooses_elements
from ep.expressions.structures import pool_of
from ep.expressions.trace import Node
from ep.expressions.views import operands_of_gather, padded_axes, read_indices
from ep.include.arrays import Arrays, Operands
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.primitive import ExpressionFactory, NewPrimitive
from ep.include.primitive.primitive import kMaxNumDims
from ep.include.primitive.reduce_op import TRUTHS, ReduceOp
from ep.include.primitive.structure import (
    ChoiceOp,
    Convolution,
    MatrixProduct,
    MaxPool,
    SegmentSum,
    Structure,
    kMaxRow,
)

_LEAST_ROW: Final = 16
"""The fewest elements of the rows that kernels choose: an index of a shorter one costs more than its elements."""
_LEAST_ADDED_ROW: Final = 32
"""The fewest elements of rows that are computed as they are added up."""
_FEW_WINDOWS: Final = 48
"""With fewer windows, convolutions are computed by other products: of whole batches, or of few columns."""

_MOST_STEP: Final = 4
"""The longest stride along rows with which one filter reads windows in place."""
_LEAST_POOLED: Final = 2**17
"""The fewest elements whose windows are reduced as they are computed: fewer stay in the caches in any case."""


class Rules:
    """The rules for the nodes of a trace. The reasons are texts for `explain`."""

    def __init__(self, base: Operands, nodes: Sequence[Node], views: Set[int] = frozenset()) -> None:
        """base: the operands of the device. views: the positions of values that are views of others."""
        self._nodes, self._views, self._place = nodes, views, base.place
        self._device_type = base.device_type if isinstance(base, Arrays) else None
        self._has_views = isinstance(base, Arrays) and base.has_views
        self._kinds: dict[int, bool] = {}  # whether the device has kernels of a kind, by the id of the sample

    def why_alone(self, node: Node) -> str:
        """Return the reason why a value is not part of a map kernel; an empty text if it is."""
        if node.position in self._views or node.operator is None:
            return "nothing is written: it is read where it is"
        joins = node.joins
        if joins in (MatrixProduct, Convolution):
            return self.why_no_product(node) or "it is not read by just one map"
        if joins is ChoiceOp:
            return self._why_no_gather(node)
        if joins is ChoiceOp.kRow:
            return self._why_no_pad(node)
        if joins is MaxPool:
            return self.why_no_pool(node) or "it does not read a convolution that nothing else reads"
        if joins is SegmentSum:
            return self.why_no_segments(node) or "it does not read a map that nothing else reads"
        if joins not in MAPS and joins not in ROW_OPS:
            return f"{node.name} is not a map: no kernel joins it yet"
        if len(node.shape) > kMaxNumDims:
            return f"it has more than {kMaxNumDims} axes"
        if not self._computes(samples.MAP):
            return f"{self._place} has no Expression: operators are computed one by one"
        return self._why_no_row(node) if joins in ROW_OPS else ""

    def _why_no_gather(self, node: Node) -> str:
        """Return why no kernel reads the rows that a gather chooses where they are; empty if one does."""
        params, indices = (self._nodes[one] for one in node.inputs)
        op = ChoiceOp.kElement if chooses_elements(node, self._nodes) else ChoiceOp.kRow
        elements = math.prod(params.shape[node.attributes["axis"] + 1 :])
        _, read = operands_of_gather(node, self._nodes)
        if not self._has_views or not self._computes(samples.gathers(op, node.data_type, read.data_type)):
            return f"{self._place} chooses no {'rows' if op is ChoiceOp.kRow else 'elements of rows'} in other kernels"
        if not node.attributes["size"] or indices.constant is not None:
            return "its index is a number, or there are no rows"
        if op is ChoiceOp.kElement:
            return "" if params.shape[-1] <= kMaxRow else f"rows have {kMaxRow} elements at most in a kernel"
        return _why_no_rows(node, elements)

    def _why_no_pad(self, node: Node) -> str:
        """Return why no kernel reads the rows that a pad keeps where they are; empty if one does."""
        axes, of_row = padded_axes(node), samples.gathers(ChoiceOp.kRow, node.data_type, DataType.kInt64)
        if not self._has_views or not self._computes(of_row):
            return f"{self._place} chooses no rows in other kernels"
        value = np.array(node.attributes["constant_values"], node.dtype)
        if len(axes) != 1 or 0 in node.shape or 0 in self._nodes[node.inputs[0]].shape or any(value.tobytes()):
            return "it pads several axes, or with another number than 0"
        return _why_no_rows(node, math.prod(node.shape[axes[0] + 1 :]))

    def why_no_segments(self, node: Node) -> str:
        """Return why no kernel computes the elements whose segments a value is the sums of; empty if one may."""
        data, indices = (self._nodes[one] for one in node.inputs)
        rows = axes_of_rows(node, self._nodes)
        if not self._computes(samples.adds(node.data_type, read_indices(node, self._nodes).data_type)):
            return f"{self._place} computes no elements as it adds up segments"
        if indices.constant is not None or not rows or 0 in data.shape or 0 in node.shape or node.attributes["offset"]:
            return "its index is a number, or it has no rows or is a piece of others"
        elements = math.prod(data.shape[rows[-1] + 1 :])
        if elements < _LEAST_ADDED_ROW:
            return f"its rows have {elements} elements; a kernel adds up {_LEAST_ADDED_ROW} at least"
        return f"it has more than {kMaxNumDims} axes" if max(len(data.shape), len(node.shape)) > kMaxNumDims else ""

    def why_no_product(self, node: Node) -> str:
        """Return why no kernel computes maps on a value, a product of matrices; empty if one may."""
        if node.joins is Convolution:
            return self._why_no_convolution(node)
        if node.joins is not MatrixProduct:
            return "it is not a product"
        one, other = (self._nodes[position] for position in node.inputs)
        if len(one.shape) < 2 or len(other.shape) < 2:
            return "it is a product of a vector"
        if len(node.shape) > kMaxNumDims:
            return f"it has more than {kMaxNumDims} axes"
        if not self._computes(samples.products(node.data_type, (one.data_type, other.data_type))):
            return f"{self._place} computes no maps on a product"
        return ""

    def _why_no_convolution(self, node: Node) -> str:
        """Return why no kernel computes maps on a convolution; empty if one may."""
        filters, windows = node.shape[1] // node.attributes["groups"], math.prod(node.shape[2:])
        if not node.attributes["is_depthwise"]:
            if windows < _FEW_WINDOWS:
                return "it has few windows: its product has a kernel of its own"
            if filters == 1 and node.attributes["strides"][-1] > _MOST_STEP:
                return "it has one filter, and windows that are far apart: its product has a kernel of its own"
        x, w = (self._nodes[position].data_type for position in node.inputs)
        if not self._computes(samples.convolutions(node.data_type, (x, w), len(node.shape) - 2)):
            return f"{self._place} computes no maps on a convolution"
        return ""

    def why_no_pool(self, node: Node) -> str:
        """Return why no kernel of a convolution reduces the windows of a max_pool; empty if one may."""
        elements = math.prod(self._nodes[node.inputs[0]].shape)
        if elements < _LEAST_POOLED or 0 in node.shape:
            return f"it reads {elements} elements; a kernel of a convolution reduces {_LEAST_POOLED} at least"
        if not self._computes(samples.pools(node.data_type, pool_of(node))):
            return f"{self._place} reduces no such windows as it computes a convolution"
        return ""

    def reduces_any(self, node: Node) -> bool:
        """Whether a value is reduced in a way that row kernels do not support, but a reduce kernel does."""
        if not isinstance(node.joins, ReduceOp) or not self._computes(samples.REDUCTION) or not self._why_no_row(node):
            return False
        shape, axes = self._nodes[node.inputs[0]].shape, node.attributes["axes"]
        goes = any(shape[axis] != 1 for axis in axes)
        return goes and 0 not in shape and len(shape) <= kMaxNumDims and not node.attributes.get("is_piece")

    def adds_columns(self, node: Node) -> bool:
        """Whether a value is a sum of columns, which a kernel of rows of the device adds up beside others."""
        if node.joins is not ReduceOp.kSum:
            return False
        read = self._nodes[node.inputs[0]]
        if node.attributes["axes"] != (*range(len(read.shape) - 1),) or node.attributes.get("is_piece"):
            return False
        fits = 0 not in read.shape and 1 < len(read.shape) <= kMaxNumDims
        fits = fits and _LEAST_ADDED_ROW <= read.shape[-1] <= kMaxRow and read.data_type is node.data_type
        return fits and self._computes(samples.columns(node.data_type))

    def _why_no_row(self, node: Node) -> str:
        """Return the reason why an operator on whole rows is not part of a row kernel; an empty text if it is."""
        shape, given = self._nodes[node.inputs[0]].shape, node.attributes
        axes = given["axes"] if "axes" in given else (given["axis"],)
        if axes != (len(shape) - 1,):
            return "only what goes along the last axis is computed by rows"
        if not 0 < shape[-1] <= kMaxRow:
            return f"rows have 1 to {kMaxRow} elements in a kernel, these have {shape[-1]}"
        if len(shape) > kMaxNumDims or given.get("is_piece"):
            return f"it has more than {kMaxNumDims} axes, or is a piece of others"
        op, read = node.joins, self._nodes[node.inputs[0]].data_type
        if self._computes(samples.rows(op, read if op in TRUTHS else node.data_type)):
            return ""
        return f"{self._place} computes no {node.name} of {read.name} by rows"

    def _computes(self, sample: Structure) -> bool:
        """Return whether the device has kernels of the kind of a structure, which `samples` keeps."""
        has = self._kinds.get(id(sample))  # the hash of a structure takes longer than anything else here
        if has is None:
            has = self._kinds[id(sample)] = _has_kernels(self._device_type, sample)
        return has


def _why_no_rows(node: Node, elements: int) -> str:
    """Return why no kernel reads rows of so many elements in place of a value; empty if one does."""
    if elements < _LEAST_ROW:
        return f"its rows have {elements} elements; a kernel reads {_LEAST_ROW} at least"
    return f"it has more than {kMaxNumDims - 1} axes" if len(node.shape) >= kMaxNumDims else ""


@cache
def _has_kernels(device_type: DeviceType | None, sample: Structure) -> bool:
    return device_type is not None and NewPrimitive(ExpressionFactory, device_type, sample) is not None
