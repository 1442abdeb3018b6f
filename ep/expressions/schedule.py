"""The schedule of a trace: which values are computed together in kernels, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ep.expressions.group import Group, Strided
from ep.expressions.grouping import Grouping
from ep.expressions.in_place import InPlace
from ep.expressions.operators import CHOICES, ROW_OPS
from ep.expressions.recomputing import move_to_readers
from ep.expressions.rules import Rules
from ep.expressions.structures import StructureOf
from ep.expressions.trace import Node, Trace
from ep.expressions.views import with_views
from ep.include.arrays import Arrays
from ep.include.primitive.structure import ChoiceOp, MatrixProduct, MaxPool, SegmentSum


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
        if isinstance(base, Arrays):
            products = Rules(base, self.nodes)
            self.nodes = InPlace(
                self.nodes, self._needed(), {*self.results}, lambda node: not products.why_no_product(node)
            ).nodes
        self._wanted = self._needed()
        self.views = {node.position for node in self.nodes if node.operator is None and node.inputs}
        self.strided = dict[int, Strided]()
        if isinstance(base, Arrays) and base.has_views:
            joins = Rules(base, self.nodes, self.views)
            self.nodes, self.strided = with_views(
                self.nodes, self._wanted, {*self.results}, lambda node: not joins.why_alone(node)
            )
            self._wanted = self._needed()
            self.views |= self.strided.keys()
        rules = self._rules = Rules(base, self.nodes, self.views)
        grouping = Grouping(self.nodes, self._wanted, self.views, rules.why_alone)
        wanted, whole = [node for node in self.nodes if node.position in self._wanted], {*self.results}
        for node in wanted:
            if rules.adds_columns(node) and grouping.add_columns(node):
                continue
            if rules.reduces_any(node):
                grouping.compute_as_read(node, whole)
                grouping.compute_after(node)
                continue
            is_sum = node.joins is SegmentSum and not rules.why_no_segments(node)
            if is_sum and grouping.compute_as_read(node, whole):
                grouping.compute_after(node)
        for node in wanted:
            if not rules.why_no_product(node) and not grouping.compute_on_product(node) and self._converts(node):
                grouping.compute_product(node)
        for node in wanted:
            if node.joins is MaxPool and not rules.why_no_pool(node):
                grouping.reduce_windows(node, whole, lambda one: not rules.why_no_product(one))
        self.groups = move_to_readers(self.nodes, grouping.ordered(), whole)
        for group in self.groups:
            if not group.why and len(group.values) == 1 and self._is_alone(group, trace):
                group.why = "no other operator is computed with it"
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

    def _is_alone(self, group: Group, trace: Trace) -> bool:
        """Return whether a kernel of one value is that of its operator."""
        node = self.nodes[group.values[0]]
        if node.joins is ChoiceOp or node.joins in ROW_OPS:
            return True
        # the kernel of the operator has forms for each op, and may already be on disk
        return trace.gives_buffers and group.product is None and self.strided.keys().isdisjoint(node.inputs)

    def is_view(self, group: Group) -> bool:
        """Return whether the result of a group may be in the memory of an operand."""
        return group.values[0] in self.views

    def is_gather(self, position: int) -> bool:
        """Return whether a value consists of rows of another one, chosen by indices."""
        return self.nodes[position].joins in CHOICES

    def is_pooled(self, position: int) -> bool:
        """Return whether a value consists of largest elements of windows."""
        return self.nodes[position].joins is MaxPool

    def _converts(self, node: Node) -> bool:
        """Return whether a kernel of a product converts its matrices as it reads them."""
        is_product = node.joins is MatrixProduct
        return is_product and any(self.nodes[one].data_type is not node.data_type for one in node.inputs)

    def _read_elsewhere(self) -> set[int]:
        """Return the values that groups other than their own read, and the required values."""
        read = set(self.results)
        for group in self.groups:
            inside = set(group.values)
            read.update(one for value in group.values for one in self.nodes[value].inputs if one not in inside)
        return read

    def _complete(self, group: Group, elsewhere: set[int]) -> None:
        """Find the operands, the results and the structure of a group; elsewhere: the values that other groups read."""
        inside = set(group.values)
        group.sources = list(
            dict.fromkeys(one for value in group.values for one in self.nodes[value].inputs if one not in inside)
        )
        if group.why:
            group.results = group.values
            return
        group.results = [value for value in group.values if value in elsewhere and value not in group.again]
        group.sources = [one for one in group.sources if self.nodes[one].constant is None]
        StructureOf(self.nodes, group, self._round_each)

    def cuts(self, group: Group) -> Mapping[int, str]:
        """Return the values of other kernels that a kernel reads, each with the reason why it does not compute it."""
        found = {}
        for source in group.sources:
            node = self.nodes[source]
            if not group.why and node.operator is not None and not self._rules.why_alone(node):
                same = node.shape == group.shape
                found[source] = "the kernel before is full, or waits for less" if same else f"its shape is {node.shape}"
                if group.product is not None and source in self.nodes[group.product].inputs:
                    found[source] = "the product reads all of it"
        return found
