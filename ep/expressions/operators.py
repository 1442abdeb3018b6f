"""The operators that kernels join: their ops, and what a kernel needs to know of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ep.expressions.trace import Node
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import RowOp
from ep.include.primitive.unary_op import UnaryOp
from ep.ops.names import function_name

MAPS: Final[dict[str, UnaryOp | BinaryOp | None]] = {
    **{function_name(op): op for op in (*UnaryOp, *BinaryOp)},
    "cast": UnaryOp.kCast,
    "where": None,
}
"""The op of each elementwise operator; None for Where."""

ROW_OPS: Final[dict[str, ReduceOp | RowOp]] = {
    **{op.name.removeprefix("k").lower(): op for op in ReduceOp},
    "softmax": RowOp.kSoftmax,
    "log_softmax": RowOp.kLogSoftmax,
    "softmax_grad": RowOp.kSoftmaxBackward,
    "log_softmax_grad": RowOp.kLogSoftmaxBackward,
}
"""The op of each operator that reads whole rows."""

GATHER: Final = "gather"
"""The operator that chooses rows of an array, or elements of its rows."""
PAD: Final = "pad"
CHOICES: Final = GATHER, PAD
"""The operators whose results are rows of an array, or zeros."""
SEGMENT_SUMS: Final = "segment_sum", "gather_grad"
"""The operators that add up rows by the segments that indices assign to them."""
PRODUCT: Final = "matmul"
"""The operator of products of matrices, on which maps are computed."""
CONVOLUTION: Final = "conv"
"""The operator of convolutions, on which maps are computed, too."""
MAX_POOL: Final = "max_pool"
"""The operator whose windows a kernel of a convolution reduces."""
SPLIT: Final = "split"
"""The operator whose results are parts of an array, which kernels read where they are."""
TRANSPOSES: Final = "transpose_x1", "transpose_x2"
"""The attributes of a product."""


def chooses_elements(node: Node, nodes: Sequence[Node]) -> bool:
    """Return whether a gather takes one element of each row, by an index for each row."""
    if node.name != GATHER or node.inputs[0] == node.inputs[1]:
        return False
    shape, last = nodes[node.inputs[0]].shape, node.attributes["axis"]
    of_rows = shape[:-1], (*shape[:-1], 1)
    return last == node.attributes["batch_dims"] == len(shape) - 1 and node.shape in of_rows


def axes_of_rows(node: Node, nodes: Sequence[Node]) -> tuple[int, ...]:
    """Return the axes of the operand of a sum of segments along which its rows are."""
    axis, num_axes = node.attributes["axis"], len(nodes[node.inputs[1]].shape)
    return tuple(range(axis, axis + num_axes - node.attributes.get("batch_dims", 0)))
