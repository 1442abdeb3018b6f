"""Sums of products of narrow matrices, as one product of joined matrices: A B + C D is [A C] times B over D.

The gradient of a weight that each step of a recurrent network uses is such a sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from ep.common.arrays.operators import FUNCTIONS
from ep.expressions.operators import TRANSPOSES
from ep.expressions.trace import Trace
from ep.include.arrays import Arrays
from ep.include.data_type import DataType
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.structure import MatrixProduct

_LEAST: Final = 4
"""The fewest products that are joined."""
_TIMES: Final = 4
"""How many times as many elements a product must have as its operands: these are copied then."""

_Side = tuple[int, bool]
"""A matrix by its position, and whether its axes are exchanged in the product."""


def join_products(trace: Trace, results: Sequence[int], after: int = -1) -> list[int]:
    """Record sums of products of narrow matrices as one product each; return what replaces the results.

    results: the positions of values of the trace. after: the position from which on sums are replaced.
    """
    made = _Sums(trace, results, after).recorded() if isinstance(trace.base, Arrays) else {}
    return [made.get(one, one) for one in results]


class _Sums:
    """The sums of products that some results are computed from.

    sums: by position, the operands of the products, and the positions of other addends.
    """

    def __init__(self, trace: Trace, results: Sequence[int], after: int) -> None:
        self._trace, self._nodes, self._used = trace, [*trace.nodes], set[int]()
        self._readers, todo = Counter(results), [*results]
        while todo:
            if (one := todo.pop()) not in self._used:
                self._used.add(one)
                self._readers.update(self._nodes[one].inputs)
                todo += self._nodes[one].inputs
        self.sums: dict[int, tuple[list[tuple[_Side, _Side]], list[int]]] = {}
        seen = set[int]()
        for position in sorted(self._used, reverse=True):
            if position in seen or position <= after or not self._is_sum(position):
                continue
            products, others, todo = list[tuple[_Side, _Side]](), list[int](), [*self._nodes[position].inputs]
            while todo:
                one = todo.pop()
                if product := self._product(one):
                    products.append(product)
                elif self._is_sum(one) and self._readers[one] == 1:
                    seen.add(one)
                    todo += self._nodes[one].inputs
                else:
                    others.append(one)
            if len(products) >= _LEAST:
                self.sums[position] = products, others

    def _is_sum(self, position: int) -> bool:
        """Return whether a value is the sum of two matrices of its shape, which are not rounded to 16 bits."""
        node = self._nodes[position]
        is_wide = node.data_type in (DataType.kFloat, DataType.kDouble) and len(node.shape) == 2
        return is_wide and node.name == "add" and all(self._nodes[one].shape == node.shape for one in node.inputs)

    def _product(self, position: int) -> tuple[_Side, _Side] | None:
        """Return the operands of the product of narrow matrices that a value is; None if it is none, or if something
        else reads it."""
        source, is_exchanged = self._before_exchange(position)
        node, between = self._nodes[source], position
        while between != source and self._readers[between] == 1:
            (between,) = self._nodes[between].inputs
        if node.joins is not MatrixProduct or between != source or self._readers[source] > 1 or len(node.shape) != 2:
            return None
        transposes = [node.attributes[name] is BlasTransposeType.T for name in TRANSPOSES]
        first, second = (self._before_exchange(*each) for each in zip(node.inputs, transposes, strict=True))
        if len(self._nodes[first[0]].shape) != 2 or len(self._nodes[second[0]].shape) != 2:
            return None
        rows, columns = node.shape
        inner = self._nodes[first[0]].shape[not first[1]]
        if _TIMES * inner * (rows + columns) > rows * columns:
            return None
        return ((second[0], not second[1]), (first[0], not first[1])) if is_exchanged else (first, second)

    def _before_exchange(self, position: int, is_exchanged: bool = False) -> _Side:
        """Return the matrix whose axes are exchanged in a value, and whether they are."""
        node = self._nodes[position]
        while node.name == "permute" and node.attributes["axes"] == (1, 0):
            position, is_exchanged = node.inputs[0], not is_exchanged
            node = self._nodes[position]
        return position, is_exchanged

    def recorded(self) -> dict[int, int]:
        """Record the sums, and what is computed from them; return what replaces values, by position."""
        made, trace = dict[int, int](), self._trace

        def array(position: int) -> Any:
            return trace.array(made.get(position, position))

        def side(sides: Sequence[_Side], axis: int) -> tuple[Any, bool]:
            if len({is_exchanged for _, is_exchanged in sides}) > 1:
                axes = (1, 0)
                arrays = [
                    FUNCTIONS["permute"](array(one), axes) if exchanged else array(one) for one, exchanged in sides
                ]
                return FUNCTIONS["concat"](arrays, axis), False
            is_exchanged = sides[0][1]
            return FUNCTIONS["concat"]([array(one) for one, _ in sides], axis ^ is_exchanged), is_exchanged

        for position in sorted(self._used) if self.sums else ():
            node = self._nodes[position]
            if position in self.sums:
                products, others = self.sums[position]
                pairs = (side(some, axis) for some, axis in zip(zip(*products, strict=True), (1, 0), strict=True))
                (first, of_first), (second, of_second) = pairs
                total = FUNCTIONS["matmul"](first, second, of_first, of_second)
                for one in others:
                    total = FUNCTIONS["add"](total, array(one))
                made[position] = total.node.position
            elif position not in made and not made.keys().isdisjoint(node.inputs):
                again = trace.again(node, tuple(made.get(one, one) for one in node.inputs))
                for before, now in zip(trace.results_of(node), again, strict=True):
                    made[before.node.position] = now.node.position
        return made
