"""What a kernel needs to know of the operators that it joins, by `joins` of their declarations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ep.expressions.trace import Node
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import ChoiceOp, RowOp
from ep.include.primitive.unary_op import UnaryOp
from ep.include.primitive.where import Where

MAPS: Final[frozenset[Any]] = frozenset([*UnaryOp, *BinaryOp, Where])
"""What elementwise operators join as."""
ROW_OPS: Final[frozenset[Any]] = frozenset([*ReduceOp, *RowOp])
"""What operators that read whole rows join as."""
CHOICES: Final = ChoiceOp, ChoiceOp.kRow
"""What operators join as whose results are rows or elements of an array, or zeros: by indices, and rows in order."""
TRANSPOSES: Final = "transpose_x1", "transpose_x2"
"""The attributes of a product."""


def chooses_elements(node: Node, nodes: Sequence[Node]) -> bool:
    """Return whether a gather takes one element of each row, by an index for each row."""
    if node.joins is not ChoiceOp or node.inputs[0] == node.inputs[1]:
        return False
    shape, last = nodes[node.inputs[0]].shape, node.attributes["axis"]
    of_rows = shape[:-1], (*shape[:-1], 1)
    return last == node.attributes["batch_dims"] == len(shape) - 1 and node.shape in of_rows


def axes_of_rows(node: Node, nodes: Sequence[Node]) -> tuple[int, ...]:
    """Return the axes of the operand of a sum of segments along which its rows are."""
    axis, num_axes = node.attributes["axis"], len(nodes[node.inputs[1]].shape)
    return tuple(range(axis, axis + num_axes - node.attributes.get("batch_dims", 0)))
