"""Programs of graphs: their inputs and results have names, and their results have memory of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ep.common.plans.stored_plan import Launches
from ep.expressions.folding import FoldingTrace
from ep.expressions.joined_products import join_products
from ep.expressions.memory import Arena
from ep.expressions.program import Program
from ep.expressions.runs import Whole
from ep.include.arrays import Array, Arrays


class NamedProgram:
    """The program that computes values of a graph.

    program: the steps. given: the positions of its inputs, by name. results: the names of its results, in their order.
    """

    def __init__(
        self,
        trace: FoldingTrace,
        given: Mapping[str, Any],
        results: Mapping[str, Any],
        delivered: Iterable[str],
        round_each: bool = False,
    ) -> None:
        """trace: has recorded the graph. given, results: the lazy arrays of inputs and results, by name.

        delivered: the names of the results that leave the graph: each gets memory that no input, no constant and no
        other of them has. round_each: as of `ep.fuse`.
        """
        self.given = {name: one.node.position for name, one in given.items()}
        self.results: Sequence[str] = [*results]
        copies = _separate(trace, results, delivered)
        positions = [copies.get(name, one).node.position for name, one in results.items()]
        positions = positions if round_each else join_products(trace, positions)
        self.program = Program(trace, positions, round_each, has_memory=True)
        self.num_folded, self.num_dropped = trace.num_folded, trace.num_dropped

    @property
    def whole(self) -> Whole:
        """The program, which gives all results."""
        return Whole(self.program, [*self.given], range(len(self.results)))

    @property
    def holds(self) -> Mapping[Any, int]:
        """As for `BoundedCache`."""
        return self.program.holds

    def outputs(
        self, base: Arrays, values: Mapping[str, Array], arena: Arena, launched: Callable[[], None] | None = None
    ) -> list[Array]:
        """Compute the results, not by `repeated` of the program. values: the inputs, by name. launched: is called after
        each launch."""
        given = {position: values[name] for name, position in self.given.items()}
        return self.program.run(base, given, {}, arena, launched)

    def is_recorded(self, arena: Arena) -> bool:
        """Return whether the launches in an arena are known: then later runs do not change them."""
        return arena.repetition(self.program).recorded is not None

    def launches(self, arena: Arena, wanted: Sequence[str] | None = None) -> Launches | None:
        """Return the launches that compute results, all of them for None, recorded in an arena; None if there are none,
        or if they have no image."""
        recorded, wanted = arena.repetition(self.program).recorded, self.results if wanted is None else wanted
        image = recorded and {*wanted} <= {*self.results} and recorded.repeat.image()
        if not recorded or not image:
            return None
        names = {position: name for name, position in self.given.items()}
        results = dict(zip(self.results, recorded.results, strict=True))
        inputs, given = [names[one] for one in recorded.inputs], [results[name] for name in wanted]
        return Launches(image, inputs, recorded.written, given, self.program.lowered.constants)

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
