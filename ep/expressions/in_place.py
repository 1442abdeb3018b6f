"""Operands that are read where they are: matrices before a transposition, and elements before they are repeated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence, Set
from typing import Final

from ep.common.primitive.broadcast import broadcast_dims
from ep.expressions.operators import MAPS, TRANSPOSES
from ep.expressions.trace import Node
from ep.include.number_kind import COMPLEXES, FLOATS
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.structure import MatrixProduct

_OTHER: Final = {BlasTransposeType.N: BlasTransposeType.T, BlasTransposeType.T: BlasTransposeType.N}


class InPlace:
    """Rewrites values so that what they read is not written in another order, or several times, before.

    nodes: the values, with other operands and attributes than before; those that are not read any more are left.
    """

    def __init__(
        self, nodes: Sequence[Node], wanted: Set[int], results: Set[int], multiplies: Callable[[Node], bool]
    ) -> None:
        """wanted: the positions of the required values; results: of those that are returned. multiplies: whether a
        kernel computes a product."""
        self.nodes, self._multiplies = [*nodes], multiplies
        readers = Counter(one for node in nodes if node.position in wanted for one in {*node.inputs})
        self._read_once = {one for one, count in readers.items() if count == 1} - results
        for node in nodes:
            if node.position not in wanted:
                continue
            if node.joins is MatrixProduct and node.data_type not in COMPLEXES:
                self._read_matrices(node)
            elif node.joins in MAPS:
                self._read_repeated(node)
            elif _exchanges(node):
                self._multiply_exchanged(node)

    def _read_matrices(self, node: Node) -> None:
        """Have a product read matrices where they are: not after their last axes are exchanged, not after they are
        repeated along other axes, and not after casts of 16-bit types to float32.

        Of complex matrices, a product reads the conjugates then, so their axes are exchanged first.
        """
        inputs, attributes = [*node.inputs], dict(node.attributes)
        for k, name in enumerate(TRANSPOSES):
            while True:
                source = self.nodes[inputs[k]]
                changed = (*inputs[:k], *source.inputs, *inputs[k + 1 :])
                if _exchanges(source):
                    attributes[name] = _OTHER[attributes[name]]
                elif self._exchange_before(source):
                    continue
                elif not (
                    (_keeps_values(source, self.nodes) and self._multiplies(node._replace(inputs=changed)))
                    or self._repeats_matrices(node, source, changed)
                ):
                    break
                (inputs[k],) = source.inputs
        self.nodes[node.position] = node._replace(inputs=tuple(inputs), attributes=attributes)

    def _exchange_before(self, node: Node) -> bool:
        """If a value that is read once is a reshaped one of matrices with exchanged axes, reshape first, and exchange
        axes then. Return whether it is."""
        if node.operator is not None or not node.inputs or node.position not in self._read_once:
            return False
        before = self.nodes[node.inputs[0]]
        if before.position not in self._read_once or not _exchanges(before) or len(node.shape) < 2:
            return False
        if node.shape[-2:] != before.shape[-2:]:
            return False
        *others, rows, columns = node.shape
        axes = (*range(len(others)), len(others) + 1, len(others))
        self.nodes[before.position] = before._replace(operator=None, attributes={}, shape=(*others, columns, rows))
        self.nodes[node.position] = node._replace(operator=before.operator, attributes={"axes": axes})
        return True

    def _repeats_matrices(self, node: Node, source: Node, changed: tuple[int, ...]) -> bool:
        """Return whether an operand of a product repeats whole matrices, which the product does by itself."""
        if source.name != "expand" or len(self.nodes[source.inputs[0]].shape) < 2:
            return False
        if source.shape[-2:] != self.nodes[source.inputs[0]].shape[-2:]:
            return False
        return broadcast_dims(*(self.nodes[one].shape[:-2] for one in changed)) == node.shape[:-2]

    def _multiply_exchanged(self, node: Node) -> None:
        """Compute a product with exchanged axes, which nothing else reads, as the product of both operands in the other
        order, with exchanged axes: (a b)^T is b^T a^T."""
        product = self.nodes[node.inputs[0]]
        if product.joins is not MatrixProduct or product.data_type in COMPLEXES:
            return
        if product.position not in self._read_once:
            return
        if any(len(self.nodes[one].shape) < 2 for one in product.inputs):
            return
        transposes = [_OTHER[product.attributes[name]] for name in TRANSPOSES[::-1]]
        attributes = dict(zip(TRANSPOSES, transposes, strict=True))
        self.nodes[node.position] = product._replace(
            position=node.position, inputs=product.inputs[::-1], attributes=attributes, shape=node.shape
        )

    def _read_repeated(self, node: Node) -> None:
        """Have a map read elements before they are repeated, if it repeats them by itself."""
        inputs = [*node.inputs]
        for k in range(len(inputs)):
            while self.nodes[inputs[k]].name == "expand":
                changed = [*inputs[:k], *self.nodes[inputs[k]].inputs, *inputs[k + 1 :]]
                if broadcast_dims(*(self.nodes[one].shape for one in changed)) != node.shape:
                    break
                inputs = changed
        self.nodes[node.position] = node._replace(inputs=tuple(inputs))


def _keeps_values(node: Node, nodes: Sequence[Node]) -> bool:
    """Return whether a value is a cast of a floating type to itself, or of one of 16 bits to a wider one."""
    if node.name != "cast" or node.data_type not in FLOATS:
        return False
    read = nodes[node.inputs[0]].data_type
    return read is node.data_type or (read in FLOATS and read.itemsize == 2 < node.data_type.itemsize)


def _exchanges(node: Node) -> bool:
    """Return whether a value is another one with its last two axes exchanged."""
    if node.name != "permute" or len(node.shape) < 2:
        return False
    *others, row, column = range(len(node.shape))
    return bool(tuple(node.attributes["axes"]) == (*others, column, row))
