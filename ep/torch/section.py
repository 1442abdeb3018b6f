"""Sections: the parts of a graph that one program of ep computes each. This module alone knows traces and programs."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.fx import Node

from ep import ops
from ep.common.arrays.constants import CONSTANTS
from ep.common.arrays.on_device import arrays_on
from ep.common.plans.stored_plan import Launches, Origin, Workspace
from ep.common.plans.stored_plans import StoredPlans
from ep.expressions.array import LazyArray
from ep.expressions.folding import FoldingTrace, Folds
from ep.expressions.memory import Arenas
from ep.expressions.named_program import NamedProgram
from ep.expressions.runs import Runs
from ep.include.arrays import Arrays
from ep.torch.division import Part, whole_of
from ep.torch.options import Options
from ep.torch.sizing import Sizing
from ep.torch.table import OPERATORS, AtenCall
from ep.torch.tensors import DTYPES, Layout, values_in

Values = dict[Node, Any]
"""Lazy arrays, and lists of them, by node."""


class RefusedError(Exception):
    """Raised for a section with nodes that `ep` does not compute. reasons: the error of each."""

    def __init__(self, reasons: dict[Node, Exception]) -> None:
        super().__init__(reasons)
        self.reasons = reasons


class Target(NamedTuple):
    """How the graphs of a program are computed, and where: arenas for new plans, workspaces for those from the disk."""

    options: Options
    arenas: Arenas
    workspaces: list[Workspace]

    def stored(self) -> StoredPlans:
        """Return the plans on disk of a graph without a digest, which has none; others are like it."""
        return StoredPlans(Origin(""), "torch", self.options.device, self.workspaces)


class Section:
    """Some nodes of a graph, for inputs of certain sizes. Its plan is kept on disk.

    readers, writers: the layouts of the inputs, and those of the results.
    """

    def __init__(self, target: Target, stored: StoredPlans, part: Part, sizing: Sizing, at_once: bool) -> None:
        """stored: the plans on disk of any graph. part: the nodes, inputs and results. sizing: of its values. at_once:
        whether the first call keeps a new plan.

        Raises RefusedError.
        """
        self._target, self._base = target, arrays_on(target.options.device)
        self._made_of, self._at_once = (part, sizing), at_once
        self.readers, self.writers = (
            [_layout(self._base, node, sizing) for node in some] for some in (part.inputs, part.results)
        )
        digest, self._key = _identity(part, sizing, target.options)
        self._stored = stored.with_origin(Origin(digest))
        self._plan = self._stored.plan(self._key, self._runs)

    @property
    def holds(self) -> Mapping[Any, int]:
        """As for `BoundedCache`."""
        found: Mapping[Any, int] = self._plan.holds
        return found

    def explain(self) -> list[str]:
        """Return lines about the kernels, their bytes and the memory."""
        return self._program().explain({}, "")

    def run(self, given: Mapping[str, Any]) -> Sequence[Any]:
        """Return the results for the inputs, by the names of their nodes, as arrays of the device."""
        found: Sequence[Any] = self._plan.outputs(self._base, given)
        return found

    def _runs(self, keep: Callable[[Launches], None] | None) -> Runs:
        """Return the runs of a new plan. keep: keeps its launches."""
        return Runs(self._program(), self._target.arenas, keep, at_once=self._at_once)

    def _program(self) -> NamedProgram:
        """Return a new program. Raises RefusedError."""
        part, sizing = self._made_of
        trace = FoldingTrace(self._base.kept(), "a graph of PyTorch", Folds(), CONSTANTS)
        try:
            given, values = dict[str, Any](), dict[Node, Any]()
            for node, reader in zip(part.inputs, self.readers, strict=True):
                given[node.name] = trace.give(None, reader.shape, reader.dtype)
                values[node] = reader.in_axes(given[node.name])
            _record(trace, part.nodes, values, sizing)
            pairs = zip(part.results, self.writers, strict=True)
            made = {node.name: writer.in_memory(values[node]) for node, writer in pairs}
            return NamedProgram(trace, given, made, made, self._target.options.round_each)
        finally:
            trace.end()


def _layout(base: Arrays, node: Node, sizing: Sizing) -> Layout:
    """Return the layout of a node's value."""
    said, sizes = node.meta["val"], sizing.of(node)
    if not sizes:  # a number that PyTorch computes
        return Layout(
            base, np.float64 if isinstance(said, float | torch.SymFloat) else np.int64, (), (), is_number=True
        )
    return Layout(base, DTYPES[said.dtype], *sizes[0])


def _identity(part: Part, sizing: Sizing, options: Options) -> tuple[str, str]:
    """Return the digest of what a part computes, and the sizes that it computes it for. Both are the same in all
    processes, and together all that its plan follows from. The digest is empty if a call has an object of which the
    text says an address."""
    nodes, numbers = [*part.inputs, *part.nodes], sizing.numbers
    said = [(node.name, [getattr(one, "dtype", type(one)) for one in values_in(node.meta["val"])]) for node in nodes]
    calls = [(str(node.target), node.args, node.kwargs) for node in part.nodes]
    read = [{one.args[1] for one in node.users if one.target is operator.getitem} for node in part.nodes]
    text = repr((options.round_each, torch.get_default_dtype(), said, calls, [*map(sorted, read)], part.results))
    known = {one for node in part.nodes for one in node.all_input_nodes if one in numbers}
    sizes = [sizing.of(node) for node in nodes], sorted((one.name, numbers[one]) for one in known)
    return "" if " at 0x" in text else hashlib.sha256(text.encode()).hexdigest(), repr(sizes)


def _record(trace: FoldingTrace, nodes: Iterable[Node], values: Values, sizing: Sizing) -> None:
    """Record nodes, and add their lazy arrays to the values. Raises RefusedError for all that cannot be recorded."""
    refused: dict[Node, Exception] = {}

    def value_of(argument: Any) -> Any:
        if not isinstance(argument, Node):
            return argument
        return sizing.numbers[argument] if argument in sizing.numbers else values[argument]

    for node in nodes:
        said, sizes = values_in(node.meta["val"]), iter(sizing.of(node) or ())
        shapes = [next(sizes)[0] if isinstance(one, torch.Tensor) else None for one in said]
        call = AtenCall(trace, node, next(shape for shape in shapes if shape is not None))
        try:
            found = values_in(OPERATORS[node.target](call, call.arguments(value_of)))
            made = [_typed(*each) for each in zip(found, said, shapes, strict=True)]
        except Exception as error:
            refused[whole_of(node) or node] = error
            # so that the nodes that read the result are tried, too
            made = [
                None if shape is None else trace.give(None, shape, DTYPES.get(one.dtype, np.dtype(np.float32)))
                for one, shape in zip(said, shapes, strict=True)
            ]
        values[node] = made if isinstance(node.meta["val"], tuple | list) else made[0]
    if refused:
        raise RefusedError(refused)


def _typed(found: Any, said: Any, shape: tuple[int, ...] | None) -> Any:
    """Return a result in the type and the shape that PyTorch says; None stands for one that nothing reads. Raises
    TypeError for one of another shape, but for axes of one element."""
    if found is None or shape is None:
        return None
    if not isinstance(found, LazyArray) or _long(found.shape) != _long(shape):
        raise TypeError(f"the result is {found!r}; it must be an array of shape {shape}")
    found = found if found.dtype == DTYPES[said.dtype] else ops.cast(found, DTYPES[said.dtype])
    return found if tuple(found.shape) == shape else found.reshape(shape)


def _long(shape: Sequence[int]) -> list[int]:
    return [size for size in shape if size != 1]
