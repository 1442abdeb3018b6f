"""The division of a trace into groups of values that are computed together, and their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from heapq import heapify, heappop, heappush
from typing import Final

from ep.common.primitive.broadcast import Dims
from ep.expressions.foreign import Subgraph
from ep.expressions.group import Group
from ep.expressions.operators import CHOICES, MAPS, ROW_OPS, axes_of_rows, chooses_elements
from ep.expressions.trace import Node
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import Convolution, MatrixProduct, SegmentSum

_PRODUCTS: Final = MatrixProduct, Convolution
_OF_ROWS: Final = ROW_OPS.union(CHOICES)


class Grouping:
    """Assigns values to groups, in the order of the trace: each to the first possible stage.

    A group has one stage and one shape. It contains values of this shape, and values that are reduced along its last
    axis. How a value is computed decides which of the two it is, never its size.
    """

    def __init__(
        self, nodes: Sequence[Node], wanted: Set[int], views: Set[int], why_alone: Callable[[Node], str]
    ) -> None:
        """views: the positions of values that are views of others.

        why_alone: returns the reason why a value is not part of a kernel; an empty text if it is.
        """
        self._nodes = nodes
        self._stages: dict[int, int] = {}
        self._kernels: dict[tuple[int, Dims], Group] = {}
        self._parts: list[Group] = []  # of kernels
        self._calls: dict[int, Group] = {}  # groups of operators alone, by the first result
        self._of: dict[int, Group] = {}
        self._read: dict[int, set[int]] = {}  # by the id of the group
        for node in nodes:
            if node.position not in wanted or not node.inputs:
                continue
            why = why_alone(node)
            if not why and chooses_elements(node, nodes) and not self._is_element(node.inputs[0]):
                why = "no kernel computes the rows of which it takes elements"
            if why:
                first = -1 if node.position in views else 0
                if isinstance(node.operator, Subgraph):
                    first = max(self._stages.values(), default=0)
                self._compute_alone(node, why, first)
            elif node.joins in _OF_ROWS or not self._join_reduced(node):
                self._join(node)
        self._readers: dict[int, set[int]] = {}
        for group in (*self._kernels.values(), *self._calls.values()):
            for value in group.values:
                for one in nodes[value].inputs:
                    self._readers.setdefault(one, set()).add(value)
        for group in self._kernels.values():
            chosen = [one for one in group.values if nodes[one].joins in CHOICES and one not in group.reduced]
            for value in chosen:
                if not self._readers.get(value, set()).intersection(group.values):
                    group.values.remove(value)
                    del self._of[value]
                    why = "no kernel that reads it has the same shape"
                    self._calls[value] = Group([value], stage=group.stage, turn=value, why=why)

    def ordered(self) -> list[Group]:
        """Return all groups, in the order in which they are computed."""
        groups = (*self._kernels.values(), *self._parts, *self._calls.values())
        found = [group for group in groups if group.values]
        return sorted(found, key=lambda group: (group.stage, group.turn))

    def _is_element(self, position: int) -> bool:
        """Return whether a kernel computes a value for each of its elements."""
        group = self._of.get(position)
        return group is not None and position not in group.reduced

    def compute_as_read(self, node: Node, results: Set[int]) -> bool:
        """Make a separate reduction compute its elements as it reads them, if nothing else reads these."""
        read, *others = node.inputs
        before = self._of.get(read)
        if before is None or self._nodes[read].shape != before.shape:
            return False
        cone, todo = {read}, [read]
        while todo:
            more = {one for one in self._nodes[todo.pop()].inputs if self._of.get(one) is before} - cone
            todo += more
            cone |= more
        if any(self._nodes[one].joins in ROW_OPS or one in before.reduced or one in results for one in cone):
            return False
        if not cone.isdisjoint(others):
            return False
        if any(not self._readers[one] <= cone | {node.position} for one in cone):
            return False
        before.values = [one for one in before.values if one not in cone]
        self._reduce(node, cone)
        return True

    def add_columns(self, node: Node) -> bool:
        """Have a kernel of rows that reads or computes what a value is the sums of the columns of add them up."""
        (read,) = node.inputs
        readers = self._readers.get(node.position, set())
        for group in self._kernels.values():
            has_rows = any(self._nodes[one].joins in ROW_OPS and one not in group.columns for one in group.values)
            is_here = read in group.elements or (self._of.get(read) is group and read not in group.reduced)
            if not has_rows or not is_here or group.shape != self._nodes[read].shape:
                continue
            if group.gone or group.product is not None or not group.takes(self._read[id(group)]):
                continue
            if all(self._is_after(one, group) for one in readers):
                self._calls.pop(node.position).values = []
                self._of[node.position], self._stages[node.position] = group, group.stage
                group.values.append(node.position)
                group.columns.add(node.position)
                return True
        return False

    def _is_after(self, position: int, group: Group) -> bool:
        """Return whether a value is computed by a group after this one."""
        other = self._of.get(position) or self._calls[position - self._nodes[position].result]
        return (other.stage, other.turn) > (group.stage, group.turn)

    def compute_after(self, node: Node) -> None:
        """Make the kernel of a separate reduction compute the maps of its results that need nothing later."""
        group = self._calls[node.position]
        todo = [*self._readers.get(node.position, ())]
        heapify(todo)
        while todo:
            value = heappop(todo)
            before = self._of.get(value)
            if before is None or before is group or self._nodes[value].shape != node.shape:
                continue
            if before.gone or value in before.reduced or self._nodes[value].joins not in MAPS:
                continue
            outside = {one for one in self._nodes[value].inputs if self._of.get(one) is not group} - {node.position}
            sources = (self._read[id(group)] if group.gone else {*node.inputs}) | outside
            if not all(self._is_before(one, group) for one in outside) or not group.takes(sources):
                continue
            if not group.gone:
                self._reduce(node, set())
            before.values.remove(value)
            self._add(self._nodes[value], group, sources)
            group.reduced.add(value)
            for one in self._readers.get(value, ()):
                heappush(todo, one)

    def _reduce(self, node: Node, cone: Set[int]) -> None:
        """Make a kernel of a separate reduction; cone: the values that it computes as it reads them."""
        group, read = self._calls[node.position], node.inputs[0]
        group.values, group.reduced, group.why = [*sorted(cone), node.position], {node.position}, ""
        group.shape = self._nodes[read].shape
        if node.joins is SegmentSum:
            group.gone, group.segments = axes_of_rows(node, self._nodes), node.shape
        else:
            group.gone = node.attributes["axes"]
        self._of.update(dict.fromkeys(group.values, group))
        self._read[id(group)] = {one for value in group.values for one in self._nodes[value].inputs} - cone

    def _is_before(self, position: int, group: Group) -> bool:
        """Return whether a value is given, or computed by a group before this one."""
        other = self._of.get(position) or self._calls.get(position - self._nodes[position].result)
        return other is None or (other.stage, other.turn) < (group.stage, group.turn)

    def compute_on_product(self, node: Node) -> bool:
        """Have the maps that read a product first be computed on it, where nothing else needs it before them."""
        readers = self._readers.get(node.position, set())
        groups = {id(group): group for one in readers if (group := self._of.get(one)) is not None}
        group = min(groups.values(), key=lambda group: group.stage, default=None)
        if group is None or group.why or group.product is not None or group.shape != node.shape or group.gone:
            return False
        values = {*group.values}
        if not self._are_maps(values, group) or self._reads_product(values - readers):
            values = self._connected(readers & values, group)
            if not self._are_maps(values, group):
                return False
        sources = self._sources(values)
        for one in readers:
            other = self._of.get(one)
            if other is not group and self._stages[one] < group.stage + (other is not None):
                return False
        if len(values) < len(group.values):  # the others have nothing to do with the product, but with another one
            group.values = [one for one in group.values if one not in values]
            self._read[id(group)] = self._sources({*group.values})
            group = Group(sorted(values), shape=group.shape, stage=group.stage)
            self._parts.append(group)
            self._of.update(dict.fromkeys(values, group))
        self._read[id(group)] = sources
        alone = self._calls.pop(node.position)
        alone.values = []
        self._stages[node.position], self._of[node.position] = group.stage, group
        group.values.insert(0, node.position)
        group.product = node.position
        return True

    def _are_maps(self, values: Set[int], group: Group) -> bool:
        """Return whether the kernel of a product may compute values of a group."""
        if values & group.reduced or any(self._nodes[one].joins in _OF_ROWS for one in values):
            return False
        return Group([*values]).takes(self._sources(values))

    def _reads_product(self, values: Set[int]) -> bool:
        """Return whether some values read a product that has no kernel with maps yet."""
        return any(one in self._calls and self._nodes[one].joins in _PRODUCTS for one in self._sources(values))

    def _connected(self, first: Set[int], group: Group) -> set[int]:
        """Return the values of a group that read each other, directly or not, from some of them on."""
        found, todo = {*first}, [*first]
        while todo:
            one = todo.pop()
            near = self._readers.get(one, set()).union(self._nodes[one].inputs).intersection(group.values) - found
            found |= near
            todo += near
        return found

    def _sources(self, values: Set[int]) -> set[int]:
        """Return what values read of others."""
        return {one for value in values for one in self._nodes[value].inputs}.difference(values)

    def compute_product(self, node: Node) -> None:
        """Make a kernel of a product alone."""
        group = self._calls[node.position]
        group.why, group.shape, group.product = "", node.shape, node.position

    def reduce_windows(self, node: Node, results: Set[int], may_compute: Callable[[Node], bool]) -> bool:
        """Have the kernel of a convolution reduce the windows of its values, if nothing else reads these.

        may_compute: returns whether there is a kernel of a convolution alone.
        """
        (read,) = node.inputs
        group = self._of.get(read) or self._calls.get(read)
        if group is None or (group.why and not may_compute(self._nodes[read])):
            return False
        product = read if group.why else group.product
        if product is None or self._nodes[product].joins is not Convolution or group.reduced:
            return False
        if self._nodes[product].attributes["is_depthwise"] or self._nodes[product].data_type is not node.data_type:
            return False
        inside = {*group.values}
        if any(one in results or not self._readers[one] <= inside for one in inside - {read}):
            return False
        if read in results or self._readers[read] != {node.position}:
            return False
        if group.why:
            self.compute_product(self._nodes[read])
        del self._calls[node.position]
        self._stages[node.position], self._of[node.position] = group.stage, group
        group.values.append(node.position)
        return True

    def _compute_alone(self, node: Node, why: str, first: int) -> None:
        """Put a value into its own group; first: the first possible stage."""
        stage = self._stages[node.position] = max(first, *(self._stages.get(one, -1) for one in node.inputs))
        call = self._calls.get(node.position - node.result)
        if call is None:
            call = self._calls[node.position - node.result] = Group(why=why, stage=stage, turn=node.position)
        call.values.append(node.position)

    def _join_reduced(self, node: Node) -> bool:
        """Put a value into the group of the rows that it is computed from, if possible."""
        for one in node.inputs:
            group = self._of.get(one)
            if group is None or not self._is_reduced(one, group, node.shape):
                continue
            outside = {other for other in node.inputs if self._of.get(other) is not group}
            inside = (other for other in node.inputs if other not in outside)
            fits = all(self._is_reduced(other, group, node.shape) for other in inside)
            fits &= node.shape != group.shape or not outside & group.elements  # rows with one element
            sources = self._read[id(group)] | outside
            if fits and group.takes(sources) and all(self._stages.get(one, -1) < group.stage for one in outside):
                self._add(node, group, sources)
                group.reduced.add(node.position)
                return True
        return False

    def _is_reduced(self, position: int, group: Group, shape: Dims) -> bool:
        return position in group.reduced and self._nodes[position].shape == shape

    def _join(self, node: Node) -> None:
        """Put a value with elements, or with one element per row, into the first possible group."""
        op, gathers = node.joins, node.joins in CHOICES
        of_rows = op in ROW_OPS or (gathers and chooses_elements(node, self._nodes))
        shape = self._nodes[node.inputs[0]].shape if of_rows else node.shape

        def meets(one: int) -> bool:
            group = self._of.get(one)
            if group is None or group.shape != shape or (gathers and not (of_rows and one == node.inputs[0])):
                return False
            return one not in group.reduced or (not of_rows and self._nodes[one].shape == (*shape[:-1], 1))

        stage = max(self._stages.get(one, -1) + (not meets(one)) for one in node.inputs)
        while True:
            group = self._kernels.setdefault((stage, shape), Group(shape=shape, stage=stage))
            outside = {one for one in node.inputs if self._of.get(one) is not group}
            sources = self._read.get(id(group), set()) | outside
            if group.takes(sources):
                break
            stage += 1
        self._add(node, group, sources)
        group.elements |= outside
        if isinstance(op, ReduceOp) or (gathers and of_rows):
            group.reduced.add(node.position)

    def _add(self, node: Node, group: Group, sources: set[int]) -> None:
        group.values.append(node.position)
        self._of[node.position], self._stages[node.position] = group, group.stage
        self._read[id(group)] = sources
