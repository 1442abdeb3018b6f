"""Programs of graphs: their inputs and results have names, and their results have memory of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ep.common.plans.stored_plan import Launches
from ep.common.progress import Progress
from ep.expressions.folding import FoldingTrace
from ep.expressions.joined_products import join_products
from ep.expressions.memory import Arena
from ep.expressions.partition import partitioned
from ep.expressions.program import Program
from ep.expressions.runner import Keep, Runner
from ep.expressions.trace import Node
from ep.include.arrays import Array, Arrays


class NamedProgram(Runner):
    """The program that computes values of a graph.

    given: the positions of its inputs, by name. given_there: of those that calls give on the other device, with names
    of their own, by the names of the inputs. results: the names of its results, in their order. held: the constant
    arrays, by position.
    """

    def __init__(
        self,
        trace: FoldingTrace,
        given: Mapping[str, Any],
        results: Mapping[str, Any],
        delivered: Sequence[str],
        arenas: list[Arena],
        *,
        round_each: bool = False,
        note: Callable[[int, Exception], None] | None = None,
        on_both: bool = False,
    ) -> None:
        """trace: has recorded the graph. given, results: the lazy arrays of inputs and results, by name.

        delivered: the names of the results that leave the graph, in the order in which `outputs` returns them: each
        gets memory that no input, no constant and no other of them has. round_each: as of `ep.fuse`. arenas, note: as
        of `Runner`, with positions in the trace. on_both: whether calls can give the inputs on each device.

        Raises LackingError for a graph that needs kernels which the device lacks, if there is no other device.
        """
        self.results: Sequence[str] = [*results]
        copies = _separate(trace, results, delivered)
        positions = [copies.get(name, one).node.position for name, one in results.items()]
        positions = positions if round_each else join_products(trace, positions)
        new_program = partial(Program, round_each=round_each)
        old = {name: one.node.position for name, one in given.items()}
        whole, places, origins, there = partitioned(trace, positions, new_program, {*old.values()} if on_both else ())
        self.held = whole.held
        program = new_program(whole, [*map(places.__getitem__, positions)], has_memory=True)
        read = program.lowered.inputs
        self.given = {name: places[one] for name, one in old.items() if one not in there or places[one] in read}
        self.given_there = {name: f"{name} there" for name, one in old.items() if one in there}
        self.given |= {self.given_there[name]: there[one] for name, one in old.items() if one in there}
        note_origin = note and (lambda value, error: note(origins[value], error))
        super().__init__(program, [*self.given.values()], arenas, note_origin, {*there.values()})
        self.num_folded, self.num_dropped = trace.num_folded, trace.num_dropped
        self._order = [self.results.index(name) for name in delivered if name in results]

    def kept_by(self, keep: Keep, at_once: bool) -> None:
        """Let a function keep the launches. at_once: whether that may be after the first run, so that a process with
        one run keeps its plan, too."""
        names, self._may_keep = {position: name for name, position in self.given.items()}, at_once

        def keep_named(recorded: Launches) -> None:
            inputs, results = [names[one] for one in recorded.inputs], [recorded.results[k] for k in self._order]
            keep and keep(recorded._replace(inputs=inputs, results=results))

        self.keep = keep and keep_named

    def outputs(self, base: Arrays, values: Mapping[str, Array], progress: Progress | None = None) -> list[Array]:
        """Return the results that leave the graph. values: the inputs, by name. progress: is told about launches."""
        found = self.computed(base, [*map(values.__getitem__, self.given)], progress)
        return [*map(found.__getitem__, self._order)]

    def run(self, base: Arrays, values: Mapping[str, Array], progress: Progress | None = None) -> list[Array]:
        """Return all results, as `outputs` does."""
        return self.computed(base, [*map(values.__getitem__, self.given)], progress)

    def calls(self) -> Iterator[tuple[Node, Sequence[Node]]]:
        """Yield the calls of operators, as `Program.calls` does."""
        return self.program.calls()

    def explain(self, constants: Mapping[int, str], computed: str) -> list[str]:
        """Return lines about the kernels, their bytes, the memory, and what was computed during planning.

        constants: the names of constant arrays, by position. computed: words on other values that planning computed.
        """
        memory: Any = self.program.renewed().memory
        names = {position: name for name, position in self.given.items()} | {**constants}
        return [
            self.program.explain(names),
            f"memory: {memory.num_bytes:,} bytes in one piece for {len(memory.offsets)} values; "
            f"those needed at once have {memory.most_live:,} at most",
            f"computed when planning: {self.num_folded} operators on constants{computed}; "
            f"left out: {self.num_dropped} copies and casts",
        ]


def _separate(trace: FoldingTrace, results: Mapping[str, Any], delivered: Iterable[str]) -> dict[str, Any]:
    """Return copies of the results whose memory would be that of an input, of a constant or of another result."""
    copies, taken = dict[str, Any](), set[int]()
    for name in delivered:
        if name not in results:
            continue
        lazy = results[name]
        root = lazy.node
        while root.operator is None and root.inputs:
            root = trace.nodes[root.inputs[0]]
        if root.constant is not None:  # a number is no array yet
            number = np.frombuffer(root.constant, root.dtype).reshape(root.shape)
            copies[name] = trace.reshape(trace.copied(trace.copy_from_host(number)), lazy.node.shape)
        elif root.operator is None or root.position in taken:
            copies[name] = trace.copied(lazy)
        taken.add(root.position)
    return copies
