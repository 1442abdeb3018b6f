"""The part of a plan that one program computes: its nodes are traced, and what depends only on shapes is computed."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from ep.common.progress import Progress
from ep.expressions.array import LazyArray
from ep.expressions.named_program import NamedProgram
from ep.include.errors import LackingError
from ep.onnx.calls import tell_node
from ep.onnx.constants import ModelConstants, NDArray
from ep.onnx.graph import Branch, Node
from ep.onnx.inputs import Sized
from ep.onnx.table import OPERATORS

Owner: TypeAlias = tuple[int, str, str, str]
_DONE: Final = Branch((), ())
"""The replacement of a node that has nothing left to compute."""
_SILENT: Final = Progress(lambda done, known: None)


class Planned:
    """The nodes of a model that one program computes.

    fixed: the values that depend only on shapes, on the host. named: computes all other values. results: the names of
    its results. read_later: those that `rest` reads.
    cut: the node that the program ends before: it needs data on the host, or arrays; None if it ends with the model.
    rest: the nodes after it.
    """

    def __init__(
        self,
        known: ModelConstants,
        nodes: Sequence[Node],
        fixed: Mapping[str, NDArray],
        given: Mapping[str, Any],
        wanted: Sequence[str],
        progress: Progress | None = None,
        *,
        lacking: list[LackingError] | None = None,
    ) -> None:
        """Plan nodes, in their order.

        fixed: the known values. given: the inputs, each with `shape` and `dtype`. wanted: the names of outputs.
        progress: is told about each planned node. lacking: gets an error that lists all kernels which the device lacks;
        there is no program then. Without the list, the error is raised.

        Raises the errors of operators for invalid sizes, with a note that names the node.
        """
        self.known, self.wanted = known, wanted
        known.note(nodes)
        self.fixed = dict(fixed)
        self.cut: Node | None = None
        # the first value of each node, the node, its input of indices, and its operator
        self._owners: list[Owner] = []
        self._values: dict[str, Any] = {}
        trace = self._trace = known.trace()
        try:
            lazy = {name: self._give(name, one) for name, one in given.items()}
            left = self._traced(nodes, progress or _SILENT)
            self.rest = left[1:]
            read = {name for node in left for name in node.inputs}
            self.results = [name for name in self._values if name in wanted or (name in read and name not in given)]
            self._sizes = {name: Sized.of(self._values[name]) for name in self.results}
            self.read_later = [name for name in read if name in self._values]
            results = {name: self._values[name] for name in self.results}
            note = partial(_note, self._owners)
            try:
                self.named = NamedProgram(trace, lazy, results, wanted, known.arenas, note=note)
            except LackingError as error:
                error.operators = self._lacking(error.reasons)
                if lacking is None:
                    raise
                lacking.append(error)
                return
            held = {id(one): position for position, one in self.named.held.items()}
            self._constants = {held[id(one)]: name for name, one in known.on_device() if id(one) in held}
            known.release({id(one) for one in trace.held.values()} - held.keys())  # only the other device reads them
        finally:
            trace.end()
            self._values.clear()

    def explain(self) -> str:
        """Return a text about the kernels, their bytes, the memory, and the values computed during planning."""
        lines = self.named.explain(self._constants, f", {len(self.fixed)} values that follow from shapes")
        if self.cut is not None:
            lines.append(f"then {self.cut.shown}, which is computed by itself; what follows is planned by its results")
        return "\n".join(filter(None, lines))

    def value(self, name: str) -> NDArray:
        """Return a value that depends only on shapes, or a constant."""
        return self.fixed[name] if name in self.fixed else self.known.constant(name)

    def sized(self, name: str) -> Sized | None:
        """Return the shape and the type of an output; None if they depend on data."""
        if name in self._sizes:
            return self._sizes[name]
        return Sized.of(self.value(name)) if name in self.fixed or name in self.known.constants else None

    def _lacking(self, reasons: Collection[str]) -> dict[str, list[str]]:
        """Return what the device has no kernels for, by the operators of the nodes that need them. reasons: those of
        values that the results need."""
        found: dict[str, dict[str, None]] = {}
        for value, why in self._trace.lacking.items():
            told = {one: None for one in map(str, why.reasons) if one in reasons}
            if told:
                found.setdefault(_owner(self._owners, value)[3], {}).update(told)
        return {name: [*told] for name, told in found.items()}

    @property
    def is_whole(self) -> bool:
        """Whether the program gives all outputs."""
        return self.cut is None and {*self.wanted} <= {*self.results}

    def _traced(self, nodes: Sequence[Node], progress: Progress) -> list[Node]:
        """Trace the nodes that outputs depend on, as far as possible; return the rest, from the cut on."""
        rest = deque(_needed(nodes, self.wanted))
        progress.expect(len(rest))
        while rest:
            branch = self._add(rest[0])
            if branch is None:
                self.cut = rest[0]
                progress.expect(1 - len(rest))  # its own step follows this plan
                break
            node = rest.popleft()
            progress.step()
            if branch.nodes or branch.outputs:
                self.known.note(branch.nodes)
                before, rest = len(rest), deque(_needed([*in_place_of(node, branch), *rest], self.wanted))
                progress.expect(len(rest) - before)
        return [*rest]

    def _give(self, name: str, one: Any) -> Any:
        lazy = self._values[name] = self._trace.give(None, tuple(one.shape), np.dtype(one.dtype))
        return lazy

    def _add(self, node: Node) -> Branch | None:
        """Note a node, or compute what follows from shapes; return what takes its place, None if only data say that."""
        line, constants = node.line, self.known.constants
        names = [name for name in node.inputs if name]
        if all(name in constants for name in filter(None, node.outputs)):
            self.fixed.update({name: constants[name] for name in node.outputs if name})
            return _DONE
        of_constants = all(name in constants for name in names) and not line.of_shape
        known = [name in self.fixed or name in constants for name in names]
        is_fixed = all(known)
        host = [name for k, name in enumerate(node.inputs) if name and k in line.host]
        told = not line.apart and all(name in self.fixed or name in constants for name in host)
        if not (told or is_fixed or line.of_shape) or line.first_state is not None:
            return None
        arrays: list[Any] = []
        for k, name in enumerate(node.inputs):
            if not name:
                arrays.append(None)
            elif is_fixed or k in line.host:
                arrays.append(self.value(name))
            elif line.of_shape:
                arrays.append(Sized.of(self._values[name] if name in self._values else self.value(name)))
            else:
                arrays.append(self._lazy(name))
        self._owners.append((len(self._trace.nodes), node.shown, line.indices, line.full_name))
        results = self.known.call(node, arrays, (self._values, self.fixed))
        if isinstance(results, Branch):
            return results
        for name, result in zip(node.outputs, results, strict=False):
            if not name:
                continue
            if isinstance(result, LazyArray):
                self._values[name] = result
                continue
            self.fixed[name] = self.known.shared(np.asarray(result))
            if of_constants:
                constants[name] = self.fixed[name]
        return _DONE

    def _lazy(self, name: str) -> Any:
        """Return a value in the form for traced operators."""
        found = self._values.get(name)
        if found is None:
            if name in self.known.constants:
                return self._trace.hold(self.known.placed(name))
            found = self._trace.copy_from_host(self.fixed[name])
        return found


def _note(owners: Sequence[Owner], value: int, error: Exception) -> None:
    """Add the node whose launch raised an error. owners: as of Planned. value: a position that the launch computes."""
    tell_node(error, *_owner(owners, value)[1:3])


def _owner(owners: Sequence[Owner], value: int) -> Owner:
    """Return the entry of the node that a value is of."""
    place = bisect_right(owners, value, key=lambda one: one[0])
    return owners[max(place - 1, 0)]


def _needed(nodes: Sequence[Node], wanted: Sequence[str]) -> list[Node]:
    """Return the nodes that outputs depend on."""
    names, found = {*wanted}, []
    for node in reversed(nodes):
        if not names.isdisjoint(node.outputs):
            found.append(node)
            names.update(filter(None, node.inputs))
    return found[::-1]


def in_place_of(node: Node, branch: Branch) -> list[Node]:
    """Return the nodes of a branch, and those that give its outputs the names of the node's."""
    same = OPERATORS["Identity"][0]
    pairs = zip(branch.outputs, node.outputs, strict=False)
    return [*branch.nodes, *(Node(node.name, same, (inner,), (outer,), {}) for inner, outer in pairs if outer)]
