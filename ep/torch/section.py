"""Sections: the parts of a graph that one program of ep computes each. This module alone knows traces and programs."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.fx import Graph, Node

from ep import ops
from ep.common.arrays.constants import CONSTANTS
from ep.common.arrays.on_device import arrays_beside, arrays_on
from ep.common.plans.stored_plan import Origin
from ep.common.plans.stored_plans import StoredPlans
from ep.expressions.array import LazyArray
from ep.expressions.folding import FoldingTrace, Folds
from ep.expressions.memory import Arena
from ep.expressions.named_program import NamedProgram
from ep.expressions.runner import Keep
from ep.include.arrays import Arrays
from ep.include.device_type import DeviceType
from ep.torch.division import Part, whole_of
from ep.torch.table import OPERATORS, AtenCall
from ep.torch.tensors import DTYPES, Layout, values_in


class RefusedError(Exception):
    """Raised for a section with nodes that `ep` does not compute. reasons: the error of each, by name."""

    def __init__(self, reasons: dict[str, Exception]) -> None:
        super().__init__(reasons)
        self.reasons = reasons


class Options(NamedTuple):
    """The options of a compiled model.

    device: the device that computes. otherwise: the device that computes what the first one has no kernel for, or None.
    strict: whether a step that PyTorch computes is an error. round_each: whether each operator rounds its result to its
    type, as PyTorch does, also inside of a kernel.
    """

    device: DeviceType = DeviceType.kCPU
    otherwise: DeviceType | None = None
    strict: bool = False
    round_each: bool = False

    @property
    def needs_all(self) -> bool:
        """Whether a kernel that the device lacks is an error: on the CPU, PyTorch computes what needs it."""
        return self.device is not DeviceType.kCPU and self.otherwise is None


class Target(NamedTuple):
    """How the graphs of a program are computed, and where: arenas for new plans, and the plans on disk of any graph."""

    options: Options
    arenas: list[Arena]
    stored: StoredPlans


class Section:
    """Some nodes of a graph for certain sizes. Its plan is kept on disk."""

    def __init__(self, target: Target, part: Part, at_once: bool) -> None:
        """at_once: whether the first call keeps a new plan. Raises RefusedError."""
        self._target, self._base, self._part, self._at_once = target, arrays_on(target.options.device), part, at_once
        some = part.inputs, part.results
        self._readers, self._writers = ({node: _layout(self._base, node) for node in nodes} for nodes in some)
        digest, key = _identity(part, target.options)
        self._plan = target.stored.with_origin(Origin(digest)).plan(key, self._program)

    @property
    def holds(self) -> Mapping[Any, int]:
        """As for `BoundedCache`."""
        found: Mapping[Any, int] = self._plan.holds
        return found

    def explain(self) -> list[str]:
        """Return lines about the kernels, their bytes and the memory."""
        return self._program().explain({}, "")

    def add(self, graph: Graph, value_of: Callable[[Node], Any]) -> dict[Node, Node]:
        """Add the computation to another graph; return the nodes of its results there. value_of: of an input."""
        layouts = {node.name: (node, layout) for node, layout in self._readers.items()}
        there = getattr(self._plan, "given_there", None)  # a plan from the disk has none
        other = arrays_beside(self._base, self._target.options.otherwise) if there else None
        if there and other is not None:
            layouts |= {there[name]: (layouts[name][0], _layout(other, layouts[name][0])) for name in there}
            layouts = {name: layouts[name] for name in self._plan.given}
        read = {
            name: layout.add_array(graph, value_of(node), node.meta["kind"]) for name, (node, layout) in layouts.items()
        }
        found = graph.call_function(self.run, (read,))
        arrays = [graph.call_function(operator.getitem, (found, k)) for k in range(len(self._writers))]
        written = zip(self._writers.items(), arrays, strict=True)
        return {node: layout.add_tensor(graph, array) for (node, layout), array in written}

    def run(self, given: Mapping[str, Any]) -> Sequence[Any]:
        """Return the results for the inputs, by the names of their nodes, as arrays of the device."""
        found: Sequence[Any] = self._plan.outputs(self._base, given)
        return found

    def _program(self, keep: Keep = None) -> NamedProgram:
        """Return a new program. keep: keeps its launches. Raises RefusedError, and LackingError."""
        options, base = self._target.options, self._base.kept()
        trace = FoldingTrace(
            *(base, "a graph of PyTorch", Folds(), CONSTANTS),
            otherwise=arrays_beside(base, options.otherwise),
            notes_lacking=True,
        )
        try:
            given = {node: trace.give(None, reader.shape, reader.dtype) for node, reader in self._readers.items()}
            values: dict[Node, Any] = {node: self._readers[node].in_axes(one) for node, one in given.items()}
            _record(trace, self._part.nodes, values)
            made = {node.name: writer.in_memory(values[node]) for node, writer in self._writers.items()}
            named = {node.name: one for node, one in given.items()}
            arenas = self._target.arenas
            program = NamedProgram(trace, named, made, [*made], arenas, round_each=options.round_each, on_both=True)
            program.kept_by(keep, self._at_once)
            return program
        finally:
            trace.end()


def _layout(base: Arrays, node: Node) -> Layout:
    """Return the layout of a node's value."""
    said, sizes = node.meta["val"], node.meta["sizes"]
    if isinstance(said, torch.Tensor):
        return Layout(base, DTYPES[said.dtype], *sizes[0])
    dtype = np.float64 if isinstance(said, float | torch.SymFloat) else np.int64  # a number that PyTorch computes
    return Layout(base, dtype, (), (), is_number=True)


def _identity(part: Part, options: Options) -> tuple[str, str]:
    """Return the digest of what a part computes, and the sizes that it computes it for. Both are the same in all
    processes, and together all that its plan follows from. The digest is empty if a call has an object of which the
    text says an address."""
    nodes, traced = [*part.inputs, *part.nodes], [node.meta["traced"] for node in part.nodes]
    said = [(node.name, [getattr(one, "dtype", type(one)) for one in values_in(node.meta["val"])]) for node in nodes]
    calls = [(str(node.target), node.args, node.kwargs) for node in traced]
    read = [sorted({one.args[1] for one in node.users if one.target is operator.getitem}) for node in part.nodes]
    text = repr((options.round_each, torch.get_default_dtype(), said, calls, read, part.results))
    sizes = [node.meta["sizes"] for node in nodes], [(node.args, node.kwargs) for node in part.nodes]
    return "" if " at 0x" in text else hashlib.sha256(text.encode()).hexdigest(), repr(sizes)


def _record(trace: FoldingTrace, nodes: Sequence[Node], values: dict[Node, Any]) -> None:
    """Record nodes, and add their lazy arrays to the values. Raises RefusedError for all that cannot be recorded."""
    refused: dict[str, Exception] = {}
    for node in nodes:
        said, sizes = values_in(node.meta["val"]), node.meta["sizes"]
        try:
            found = values_in(OPERATORS[node.target](AtenCall(trace, node, values)))
            made = [_typed(*each) for each in zip(found, said, sizes, strict=True)]
        except Exception as error:
            refused[(whole_of(node) or node).name] = error
            # so that the nodes that read the result are tried, too
            made = [
                trace.give(None, size[0], DTYPES.get(one.dtype, np.dtype(np.float32))) if size else None
                for one, size in zip(said, sizes, strict=True)
            ]
        values[node] = made if isinstance(node.meta["val"], tuple | list) else made[0]
    if refused:
        raise RefusedError(refused)


def _typed(found: Any, said: Any, sizes: Sequence[Any]) -> Any:
    """Return a result in the type and the shape that PyTorch says; None stands for one that nothing reads. Raises
    TypeError for one of another shape, but for axes of one element."""
    if found is None or not sizes:
        return None
    shape, dtype = sizes[0], DTYPES[said.dtype]
    if not isinstance(found, LazyArray) or [k for k in found.shape if k != 1] != [k for k in shape if k != 1]:
        raise TypeError(f"the result is {found!r}; it must be an array of shape {shape}")
    found = found if found.dtype == dtype else ops.cast(found, dtype)
    return found if tuple(found.shape) == shape else found.reshape(shape)
