"""The structure of a group: the computation of its kernel, independent of sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.common.primitive.broadcast import Dims
from ep.expressions.group import Access, Group, Indices, Range
from ep.expressions.operators import TRANSPOSES
from ep.expressions.trace import Node
from ep.expressions.views import operands_of_gather, operands_of_pad, read_indices
from ep.include.data_type import DataType
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.op_definition import Gives
from ep.include.primitive.op_table import OPS
from ep.include.primitive.reduce_op import TRUTHS, ReduceOp
from ep.include.primitive.structure import (
    ChoiceOp,
    ColumnOp,
    Constant,
    Convolution,
    MatrixProduct,
    MaxPool,
    RowOp,
    SegmentSum,
    Step,
    Structure,
)
from ep.include.primitive.unary_op import UnaryOp
from ep.include.primitive.where import Where
from ep.ops.names import parameter_name


class StructureOf:
    """Determines the structure of a group and the operands of its launch, and stores them in the group."""

    def __init__(self, nodes: Sequence[Node], group: Group, round_each: bool) -> None:
        self._nodes, self._group, self._round_each = nodes, group, round_each
        self._inside = set(group.values)
        matrices: list[tuple[int, Access]] = []  # which a product reads
        if group.product is not None:
            matrices = [(one, None) for one in nodes[group.product].inputs]
        reads: dict[tuple[int, Access], bool] = {}  # and whether it has one element per row
        self._reads = {value: self._read_by(nodes[value]) for value in group.values if value != group.product}
        for value, read_by in self._reads.items():
            op, by_rows = self._op(nodes[value]), self._is_map_of_rows(value)
            for place, read in enumerate(read_by):
                if read[0] not in self._inside:
                    has_elements = place == 0 and op is ChoiceOp.kElement
                    reads[read] = reads.get(read, False) or (by_rows and not has_elements)
        is_constant = {read: nodes[read[0]].constant is not None for read in reads}
        others = [read for read in reads if not is_constant[read]]
        constants = [read for read in reads if is_constant[read]]
        group.reads = [*matrices, *others]
        self._numbers: dict[tuple[int, Access], int] = {
            read: k for k, read in enumerate((*others, *constants), len(matrices))
        }
        self._num_read, self._steps = len(group.reads) + len(constants), list[Step]()
        self._unrounded: dict[int, int] = {}  # the rounded value of each, -1 if there is none yet
        for value in group.values:
            self._numbers[value, None] = self._add_node(nodes[value])
        group.structure = Structure(
            tuple(
                how.data_type if isinstance(how, Indices | Range) else nodes[one].data_type for one, how in group.reads
            ),
            tuple(Constant(nodes[one].data_type, nodes[one].constant or b"") for one, _ in constants),
            tuple(self._steps),
            tuple(self._numbers[one, None] for one in group.results),
            tuple(k for k, read in enumerate(others) if reads[read]),
        )

    def _read_by(self, node: Node) -> list[tuple[int, Access]]:
        """Return the positions of the operands of a value's step, and how each is read."""
        op, inputs = self._op(node), node.inputs
        how: list[Access]
        if node.joins is ChoiceOp.kRow:  # rows, and a range in place of indices
            inputs, how = inputs * 2, [*operands_of_pad(node, self._nodes)]
        elif op is ChoiceOp.kElement:
            how = [None, read_indices(node, self._nodes)._replace(shape=self._group.reduced_shape)]
        elif op is ChoiceOp.kRow:
            how = [*operands_of_gather(node, self._nodes)]
        elif isinstance(op, SegmentSum):
            how = [None, read_indices(node, self._nodes)]
        else:
            how = [self._shape_of(one, node) for one in inputs]
        return [*zip(inputs, how, strict=True)]

    def _shape_of(self, position: int, node: Node) -> Dims | None:
        """Return the shape in which an operand of a map is read, if not in its own.

        An operand from another group gets the axes that the group removes, if the results of its reduction lack them.
        """
        shape, num_axes, group = self._nodes[position].shape, len(node.shape), self._group
        if not shape or position in self._inside or not self._is_map_of_rows(node.position):
            return None
        if group.segments or num_axes == len(group.shape):
            return None
        sizes = iter((*[1] * (num_axes - len(shape)), *shape))
        return tuple(1 if axis in group.removed else next(sizes) for axis in range(len(group.shape)))

    def _is_map_of_rows(self, value: int) -> bool:
        """Return whether a value is computed element by element from values with one element per row."""
        return value in self._group.reduced and not isinstance(self._op(self._nodes[value]), ReduceOp | SegmentSum)

    def _op(self, node: Node) -> Any:
        joins = node.joins
        if node.position in self._group.columns:
            return ColumnOp.kSum
        if joins is ChoiceOp:
            return ChoiceOp.kElement if node.position in self._group.reduced else ChoiceOp.kRow
        if joins is SegmentSum:
            batch, axis = node.attributes.get("batch_dims", 0), node.attributes["axis"]
            return SegmentSum(batch, axis - batch, len(self._group.gone))
        if joins is MaxPool:
            return pool_of(node)
        return None if joins is Where else joins

    def _add(self, step: Step) -> int:
        self._steps.append(step)
        return self._num_read + len(self._steps) - 1

    def _rounded(self, value: int, data_type: DataType) -> int:
        if value in self._unrounded and self._unrounded[value] < 0:
            self._unrounded[value] = self._add(Step(UnaryOp.kCast, (value,), data_type))
        return self._unrounded.get(value, value)

    def _add_node(self, node: Node) -> int:
        if node.position == self._group.product:
            return self._add_rounding(product_of(node), [0, 1], node)
        op, types = self._op(node), [self._nodes[one].data_type for one in node.inputs]
        operands = [self._numbers[read] for read in self._reads[node.position]]
        is_row = isinstance(op, ReduceOp | RowOp)
        converts = is_row and op not in TRUTHS and types[0] is not node.data_type
        truths = op in TRUTHS or (
            not is_row and op in OPS and op is not UnaryOp.kCast and OPS[op].gives is Gives.BOOLEAN
        )
        if op is UnaryOp.kCast or converts or truths:
            operands = [self._rounded(one, data_type) for one, data_type in zip(operands, types, strict=True)]
        if converts:
            operands = [self._add(Step(UnaryOp.kCast, tuple(operands), node.data_type))]
        row = () if op is UnaryOp.kCast or op not in OPS else OPS[op].attributes
        return self._add_rounding(op, operands, node, tuple(node.attributes[parameter_name(one)] for one in row))

    def _add_rounding(self, op: Any, operands: Sequence[int], node: Node, attributes: tuple[float, ...] = ()) -> int:
        """Add the step of a node, which is rounded later where its type has 16 bits."""
        is_half = node.data_type in (DataType.kFloat16, DataType.kBFloat16)
        exact = not is_half or self._round_each or op is UnaryOp.kCast or isinstance(op, ChoiceOp)
        number = self._add(Step(op, tuple(operands), node.data_type, attributes, exact))
        if not exact:
            self._unrounded[number] = -1
        return number


def product_of(node: Node) -> MatrixProduct | Convolution:
    """Return the op of a matmul or a convolution."""
    if node.joins is Convolution:
        return Convolution(*(node.attributes[name] for name in Convolution._fields))
    transposes = (node.attributes[name] is BlasTransposeType.T for name in TRANSPOSES)
    return MatrixProduct(*transposes)


def pool_of(node: Node) -> MaxPool:
    """Return the op of a max_pool."""
    return MaxPool(*(node.attributes[name] for name in MaxPool._fields))
