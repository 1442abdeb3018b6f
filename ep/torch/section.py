"""Sections: the parts of a graph that one program of ep computes each. This module alone knows traces and programs."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch.fx import Node

from ep import ops
from ep.common.arrays.constants import CONSTANTS
from ep.common.arrays.on_device import arrays_on
from ep.common.plans.stored_plan import Origin, Workspace
from ep.common.plans.stored_plans import StoredPlans
from ep.expressions.array import LazyArray
from ep.expressions.folding import FoldingTrace
from ep.expressions.memory import Arenas
from ep.expressions.named_program import NamedProgram
from ep.expressions.runs import Runs
from ep.include.arrays import Arrays
from ep.torch.division import Part
from ep.torch.options import Options
from ep.torch.sizing import Sizing
from ep.torch.table import OPERATORS, Call
from ep.torch.tensors import DTYPES, Layout, NDArray, Number, tensors_in, values_in

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


_PARAMETER: Final = torch.nn.Parameter


class Section:
    """Some nodes of a graph, for inputs of certain sizes. Its plan is kept on disk."""

    def __init__(
        self,
        target: Target,
        part: Part,
        sizing: Sizing,
        numbers: Mapping[Node, Any],
        places: Mapping[Node, int],
        at_once: bool,
    ) -> None:
        """part: its nodes, inputs and results. sizing: of its values. numbers: those that are known now, by node.
        places: of all nodes among the values of a call. at_once: whether the first call keeps a new plan.

        Raises RefusedError.
        """
        self._target, self._base = target, arrays_on(target.options.device)
        self._made_of, self._at_once = (part, sizing, numbers), at_once
        self._readers = [_layout(node, sizing) for node in part.inputs]
        self._places = [places[node] for node in part.inputs]
        self._writers = [(places[node], _layout(node, sizing)) for node in part.results]
        self._known: dict[Any, tuple[torch.Tensor, Any, Any]] = {}  # parameters, by the key of an input
        self._copies = not self._base.takes_host_arrays
        digest, self._key = _identity(part, sizing, numbers, target.options)
        self._stored = StoredPlans(Origin(digest), "torch", target.options.device, target.workspaces)
        stored = self._stored.plan(self._key)
        if stored is None:
            self._planned()
        else:
            self._use([node.name for node in part.inputs], stored.outputs)

    def explain(self) -> list[str]:
        """Return lines about the kernels, their bytes and the memory."""
        return self._program().explain({}, "")

    def run(self, values: list[Any]) -> None:
        """Compute the results, and add them to the values of a call."""
        base, given, known = self._base, {}, self._known
        inputs, outputs = self._way
        for place, key, reader in inputs:
            value = values[place]
            if type(value) is _PARAMETER:
                state = value.data_ptr(), self._copies and value._version  # writes count, if they are not in the memory
                kept = known.get(key)
                if kept is not None and kept[0] is value and kept[1] == state:
                    given[key] = kept[2]
                    continue
                array = given[key] = self._on_device(reader.array(value))
                if self._copies or reader.is_view:
                    known[key] = value, state, array
            else:
                given[key] = self._on_device(reader.array(value))
        found = outputs(base, given)
        if found is None:  # the plan on disk cannot be used
            self._planned()
            return self.run(values)
        for (place, writer), array in zip(self._writers, found, strict=True):
            values[place] = writer.tensor(base.copy_to_host(array) if self._copies else array)
        return None

    def _on_device(self, array: NDArray) -> Any:
        return self._base.copy_from_host(array) if self._copies else array

    def _use(self, keys: Sequence[Any], outputs: Callable[[Arrays, Any], Sequence[Any] | None]) -> None:
        """Compute by a function of inputs, which have these keys."""
        self._way = [*zip(self._places, keys, self._readers, strict=True)], outputs

    def _planned(self) -> None:
        """Use a new plan, which is kept on disk."""
        program = self._program()
        keep = partial(self._stored.keep_plan, self._key) if self._stored.keeps else None
        self._use([*program.given.values()], Runs(program, self._target.arenas, keep, at_once=self._at_once).outputs)

    def _program(self) -> NamedProgram:
        """Return a new program. Raises RefusedError."""
        part, sizing, numbers = self._made_of
        trace = FoldingTrace(self._base.kept(), "a graph of PyTorch", {}, CONSTANTS)
        try:
            given, values = dict[str, Any](), dict[Node, Any]()
            for node, reader in zip(part.inputs, self._readers, strict=True):
                given[node.name] = trace.give(None, reader.shape, reader.dtype)
                values[node] = reader.in_axes(given[node.name])
            _record(trace, part.nodes, values, numbers, sizing)
            pairs = zip(part.results, self._writers, strict=True)
            made = {node.name: writer.in_memory(values[node]) for node, (_, writer) in pairs}
            return NamedProgram(trace, given, made, made, self._target.options.round_each)
        finally:
            trace.end()


def _layout(node: Node, sizing: Sizing) -> Layout:
    """Return the layout of a node's value."""
    said, sizes = node.meta["val"], sizing.of(node)
    if not sizes:
        return Number(np.float64 if isinstance(said, float | torch.SymFloat) else np.int64)
    return Layout(DTYPES[said.dtype], *sizes[0])


def _identity(part: Part, sizing: Sizing, numbers: Mapping[Node, Any], options: Options) -> tuple[str, str]:
    """Return the digest of what a part computes, and the sizes that it computes it for. Both are the same in all
    processes, and together all that its plan follows from. The digest is empty if a call has an object of which the
    text says an address."""
    nodes = [*part.inputs, *part.nodes]
    said = [(node.name, [getattr(one, "dtype", type(one)) for one in values_in(node.meta["val"])]) for node in nodes]
    calls = [(str(node.target), node.args, node.kwargs) for node in part.nodes]
    read = [{one.args[1] for one in node.users if one.target is operator.getitem} for node in part.nodes]
    text = repr((options.round_each, torch.get_default_dtype(), said, calls, [*map(sorted, read)], part.results))
    known = {one for node in part.nodes for one in node.all_input_nodes if one in numbers}
    sizes = [sizing.of(node) for node in nodes], sorted((one.name, numbers[one]) for one in known)
    return "" if " at 0x" in text else hashlib.sha256(text.encode()).hexdigest(), repr(sizes)


def _record(
    trace: FoldingTrace, nodes: Iterable[Node], values: Values, numbers: Mapping[Node, Any], sizing: Sizing
) -> None:
    """Record nodes, and add their lazy arrays to the values. Raises RefusedError for all that cannot be recorded."""
    refused: dict[Node, Exception] = {}

    def value_of(argument: Any) -> Any:
        if not isinstance(argument, Node):
            return argument
        return numbers[argument] if argument in numbers else values[argument]

    for node in nodes:
        said = node.meta["val"]
        shapes = [shape for shape, _ in sizing.of(node) or ()]
        call = Call(trace, node, shapes[0])
        try:
            found = OPERATORS[node.target](call, call.arguments(value_of))
            found = _typed(found, said, iter(shapes))
        except Exception as error:
            refused[node.args[0] if node.target is operator.getitem else node] = error
            # so that the nodes that read the result are tried, too
            dtypes = [DTYPES.get(tensor.dtype, np.dtype(np.float32)) for tensor in tensors_in(said)]
            stand_ins = [trace.give(None, *one) for one in zip(shapes, dtypes, strict=True)]
            found = stand_ins[0] if isinstance(said, torch.Tensor) else stand_ins
        values[node] = found
    if refused:
        raise RefusedError(refused)


def _typed(found: Any, said: Any, shapes: Iterator[tuple[int, ...]]) -> Any:
    """Return results in the types that PyTorch says; None stands for one that nothing reads. Raises an error for one of
    another shape."""
    if isinstance(said, tuple | list):
        return [_typed(one, other, shapes) for one, other in zip(found, said, strict=True)]
    shape = next(shapes) if isinstance(said, torch.Tensor) else None
    if found is None or shape is None:
        return None
    if not isinstance(found, LazyArray) or tuple(found.shape) != shape:
        raise TypeError(f"the result is {found!r}; it must be an array of shape {shape}")
    dtype = DTYPES[said.dtype]
    return found if found.dtype == dtype else ops.cast(found, dtype)
