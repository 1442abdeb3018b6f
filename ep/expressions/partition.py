"""The partition of a trace between two devices: the second one computes what the first one has no kernels for.

The first device runs the program. Operators that the second one computes are joined to subgraphs, as few as their order
allows; each is one step of the program, with a program of its own. Arrays are copied at the borders only, each at most
once in each direction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

from ep.common.arrays.on_device import moved
from ep.expressions.foreign import Subgraph, Transfer
from ep.expressions.runner import Runner
from ep.expressions.trace import Node, Trace
from ep.include.arrays import Array, Arrays
from ep.include.errors import LackingError


class Partitioned(NamedTuple):
    """A trace whose steps are those of one device, and subgraphs.

    positions: the new positions of values, by the old ones. origins: the old ones, by the new ones; for a step that is
    no operator, that of its first operator. given_there: the new positions of inputs that calls give on the other
    device, by the old ones.
    """

    trace: Trace
    positions: Mapping[int, int] | range
    origins: Mapping[int, int] | range
    given_there: Mapping[int, int] = MappingProxyType({})


def partitioned(
    trace: Trace, results: Sequence[int], new_program: Callable[..., Any], on_both: Collection[int] = ()
) -> Partitioned:
    """Return the partition of a trace: the trace itself if its device has all kernels for the results.

    results: the positions of the required values. new_program: returns a program, as `Program` does. on_both: the
    positions of inputs that a call can give on each device, so that they are not copied.

    Raises LackingError, which lists all that the device lacks, if there is no other device.
    """
    nodes = trace.needed([*results, *trace.given]) if trace.lacking else []
    lacking = [trace.lacking[one.position] for one in nodes if one.position in trace.lacking]
    if not lacking:
        return Partitioned(trace, range(len(trace.nodes)), range(len(trace.nodes)))
    if trace.otherwise is None:
        base: Any = trace.base
        raise LackingError(base.device_type.tag, lacking)
    return _Partition(trace, trace.otherwise, nodes, results, new_program, on_both).found()


class _Partition:
    """The making of a partition. Even levels are computed by the first device, odd ones by the other."""

    def __init__(
        self,
        trace: Trace,
        other: Arrays,
        nodes: Sequence[Node],
        results: Sequence[int],
        new_program: Any,
        on_both: Collection[int],
    ) -> None:
        self._trace, self._other, self._new_program = trace, other, new_program
        self._base: Any = trace.base
        self._results, self._levels = {*results}, dict[int, int]()
        self._whole = trace.emptied(trace.base)
        self._here, self._there = dict[int, Node](), dict[int, Node]()  # by old position
        self._origins, self._on_both, self._given_there = dict[int, int](), on_both, dict[int, int]()
        self._readers: dict[int, set[int]] = defaultdict(set)  # the levels that read a value
        self._constants = dict[int, Array]()
        by_level: dict[int, list[Node]] = defaultdict(list)
        for node in nodes:
            level = self._levels[node.position] = self._level(node)
            by_level[level].append(node)
            for one in node.inputs:
                self._readers[one].add(level)
        for level in sorted(by_level):
            self._add_subgraph(level, by_level[level]) if level % 2 else self._add(by_level[level])

    def found(self) -> Partitioned:
        """Return the partition."""
        positions = {one: self._read_here(one).position for one in {*self._results, *self._here}}
        return Partitioned(self._whole, positions, self._origins, self._given_there)

    def _level(self, node: Node) -> int:
        """Return the least level in which a value can be computed. Views are where what they view is."""
        levels = [self._levels[one] for one in node.inputs]
        if node.operator is None:
            return max(levels, default=0)
        is_foreign = node.position - node.result in self._trace.lacking
        return max((level + (level % 2 != is_foreign) for level in levels), default=int(is_foreign))

    def _add(self, nodes: Sequence[Node]) -> None:
        """Add values that the first device computes."""
        for node in nodes:
            if node.result or node.position in self._here:
                continue
            if node.inputs or node.operator is not None:
                taken = self._whole.take(node, [self._read_here(one) for one in node.inputs])
            elif node.position in self._trace.held and not self._is_read_here(node.position):
                continue
            else:
                taken = [self._whole.take_input(self._trace, node)]
            for result, made in enumerate(taken):
                position = node.position + result
                self._here[position], self._origins[made.position] = made, node.position
                trace, number = self._trace, node.position
                is_constant = node.constant is not None or number in trace.held or number in trace.sizes
                if not is_constant and any(level % 2 for level in self._readers[position]):
                    self._read_there(position)  # the copy is queued before what is computed next

    def _is_read_here(self, position: int) -> bool:
        return position in self._results or any(level % 2 == 0 for level in self._readers[position])

    def _add_subgraph(self, level: int, nodes: Sequence[Node]) -> None:
        """Add values that the other device computes, as one step."""
        inside = dict.fromkeys(node.position for node in nodes)  # in the order of the trace
        part, inner, given = self._trace.emptied(self._other), dict[int, Node](), list[int]()
        part.gives_buffers = True
        for one in dict.fromkeys(source for node in nodes for source in node.inputs if source not in inside):
            inner[one] = self._taken(part, self._trace.nodes[one])
            if inner[one].position in part.given:
                given.append(one)
        for node in nodes:
            if not node.result:
                taken = part.take(node, [inner[one] for one in node.inputs])
                inner |= {node.position + result: made for result, made in enumerate(taken)}
        results = [one for one in inside if one in self._results or self._readers[one] - {level}]
        lacking = [self._trace.lacking[one] for one in inside if one in self._trace.lacking]
        reasons = dict.fromkeys(chain.from_iterable(one.reasons for one in lacking))
        program = self._new_program(part, [inner[one].position for one in results], has_memory=True)
        step = Subgraph(self._other, Runner(program, [inner[one].position for one in given]), [*reasons])
        described = [(inner[one].shape, inner[one].data_type) for one in results]
        made = self._whole.add_step(step, [self._read_there(one) for one in given], described)
        self._there |= dict(zip(results, made, strict=True))
        self._origins |= {one.position: nodes[0].position for one in made}

    def _taken(self, part: Trace, node: Node) -> Node:
        """Return an operand of a subgraph in its trace: a constant, or an array that each call gives."""
        held = self._trace.held.get(node.position)
        if held is not None:
            if node.position not in self._constants:
                self._constants[node.position] = moved(held, self._base, self._other)
            found: Node = part.hold(self._constants[node.position]).node
        elif node.constant is not None or node.position in self._trace.sizes:
            found = part.take_input(self._trace, node)
        else:
            found = part.give(None, node.shape, node.dtype).node
        return found

    def _read_here(self, position: int) -> Node:
        """Return a value on the first device. It is copied there if the other one has computed it."""
        return self._moved(position, self._here, self._there, (self._other, self._base))

    def _read_there(self, position: int) -> Node:
        """Return a value on the other device. It is copied there if the first one has computed it."""
        if position in self._on_both and position not in self._there:
            node = self._trace.nodes[position]
            self._there[position] = made = self._whole.give(None, node.shape, node.dtype).node
            self._given_there[position], self._origins[made.position] = made.position, position
        return self._moved(position, self._there, self._here, (self._base, self._other))

    def _moved(
        self, position: int, known: dict[int, Node], others: Mapping[int, Node], devices: tuple[Arrays, Arrays]
    ) -> Node:
        found = known.get(position)
        if found is None:
            source = others[position]
            step = Transfer(*devices, reads_here=devices[0] is self._base)
            (found,) = self._whole.add_step(step, [source], [(source.shape, source.data_type)])
            known[position], self._origins[found.position] = found, position
        return found
