"""Sections: the parts of a graph that one program of ep computes each. This module alone knows traces and programs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import torch
from torch.fx import Node

from ep import ops
from ep.common.arrays.constants import CONSTANTS
from ep.expressions.array import LazyArray
from ep.expressions.folding import FoldingTrace
from ep.expressions.memory import Arenas
from ep.expressions.named_program import NamedProgram
from ep.include.arrays import Arrays
from ep.torch.division import Part
from ep.torch.options import Options
from ep.torch.sizing import Sizes, Sizing
from ep.torch.table import OPERATORS, Call
from ep.torch.tensors import DTYPES, Layout, NDArray, as_array, as_tensor, layout_of, tensors_in

Values = dict[Node, Any]
"""Lazy arrays, and lists of them, by node."""


class RefusedError(Exception):
    """Raised for a section with nodes that `ep` does not compute. reasons: the error of each."""

    def __init__(self, reasons: dict[Node, Exception]) -> None:
        super().__init__(reasons)
        self.reasons = reasons


class Section:
    """Some nodes of a graph, for inputs of certain sizes."""

    def __init__(
        self,
        base: Arrays,
        arenas: Arenas,
        options: Options,
        part: Part,
        sizing: Sizing,
        numbers: Mapping[Node, Any],
        places: Mapping[Node, int],
    ) -> None:
        """base: the arrays of the device. arenas: the memory that the sections of a graph share.

        part: its nodes, inputs and results. sizing: of its values. numbers: those that are known now, by node.
        places: of all nodes among the values of a call.

        Raises RefusedError.
        """
        self._base, self._arenas = base, arenas
        trace = FoldingTrace(base.kept(), "a graph of PyTorch", {}, CONSTANTS)
        try:
            readers = {node: _Reader(trace, node, _first(sizing, node)) for node in part.inputs}
            values = {node: reader.value for node, reader in readers.items()}
            _record(trace, part.nodes, values, numbers, sizing)
            writers = {node: _Writer(values[node], _first(sizing, node)) for node in part.results}
            given = {node.name: reader.given for node, reader in readers.items()}
            made = {node.name: writer.value for node, writer in writers.items()}
            self._program = NamedProgram(trace, given, made, made, options.round_each)
        finally:
            trace.end()
        positions = [self._program.given[node.name] for node in part.inputs]
        self._inputs = [*zip(map(places.__getitem__, part.inputs), positions, readers.values(), strict=True)]
        self._outputs = [(places[node], writer) for node, writer in writers.items()]
        self._known: dict[int, tuple[torch.Tensor, Any, Any]] = {}  # parameters, by position
        self._copies = not base.takes_host_arrays

    def explain(self) -> list[str]:
        """Return lines about the kernels, their bytes and the memory."""
        return self._program.explain({}, "")

    def run(self, values: list[Any]) -> None:
        """Compute the results, and add them to the values of a call."""
        base, given, known = self._base, {}, self._known
        for place, position, reader in self._inputs:
            value = values[place]
            if type(value) is _PARAMETER:
                state = value.data_ptr(), self._copies and value._version  # writes count, if they are not in the memory
                kept = known.get(position)
                if kept is not None and kept[0] is value and kept[1] == state:
                    given[position] = kept[2]
                    continue
                array = given[position] = self._on_device(reader.array(value))
                if self._copies or reader.is_view:
                    known[position] = value, state, array
            else:
                given[position] = self._on_device(reader.array(value))
        arena = self._arenas.taken(base)
        found = self._program.program.run(base, given, {}, arena)
        self._arenas.append(arena)
        for (place, writer), array in zip(self._outputs, found, strict=True):
            values[place] = writer.tensor(base.copy_to_host(array) if self._copies else array)

    def _on_device(self, array: NDArray) -> Any:
        return self._base.copy_from_host(array) if self._copies else array


_PARAMETER: Final = torch.nn.Parameter


def _first(sizing: Sizing, node: Node) -> Sizes | None:
    """Return the sizes of a node's tensor; None for a number."""
    return next(iter(sizing.of(node) or ()), None)


class _Reader:
    """An input of a section. given: its lazy array, in the order of memory. value: in the order of its axes.

    array: returns the elements of a tensor, or a number, in the order of memory.
    """

    is_view = True
    """Whether the array has the memory of the tensor."""

    def __init__(self, trace: FoldingTrace, node: Node, sizes: Sizes | None) -> None:
        """sizes: None for a number."""
        said = node.meta["val"]
        if sizes is None:
            dtype = np.dtype(np.float64 if isinstance(said, float | torch.SymFloat) else np.int64)
            self.array: Callable[[Any], NDArray] = lambda number: np.asarray(number, dtype)
            self.given = self.value = trace.give(None, (), dtype)
            return
        shape, layout = sizes[0], layout_of(*sizes)
        is_ordered = layout.is_dense and not layout.is_contiguous
        self.is_view = layout.is_dense
        narrow = [1 if is_ordered and k in layout.expanded else size for k, size in enumerate(shape)]
        order = layout.order if is_ordered else range(len(shape))
        self.given = self.value = trace.give(None, tuple(narrow[k] for k in order), DTYPES[said.dtype])
        self.array = partial(_in_order, layout) if is_ordered else _contiguous
        if is_ordered:
            self.value = ops.permute(self.given, np.argsort(layout.order).tolist())
            self.value = ops.expand(self.value, shape) if layout.expanded else self.value


def _contiguous(tensor: torch.Tensor) -> NDArray:
    """Return the elements of a tensor. They are copied if there are gaps."""
    array = as_array(tensor)
    return array if array.flags.c_contiguous else array.copy()


def _in_order(layout: Layout, tensor: torch.Tensor) -> NDArray:
    """Return the elements of a tensor in the order of memory."""
    for axis in layout.expanded:
        tensor = tensor.narrow(axis, 0, 1)
    return _contiguous(tensor.permute(layout.order))


class _Writer:
    """A result of a section. value: its lazy array, in the order of memory."""

    def __init__(self, value: Any, sizes: Sizes | None) -> None:
        assert sizes is not None
        self._shape, self._strides = shape, _ = sizes
        layout = layout_of(*sizes)
        self._has_gaps, self._is_contiguous = not layout.is_dense, layout.is_contiguous
        if layout.is_dense and not layout.is_contiguous:
            first = [slice(0, 1) if k in layout.expanded else slice(None) for k in range(len(shape))]
            value = ops.slice(value, *first) if layout.expanded else value
            value = ops.permute(value, layout.order)
        self.value = value

    def tensor(self, array: NDArray) -> torch.Tensor:
        """Return an array as a tensor with the strides that PyTorch's own would have."""
        tensor = as_tensor(array)
        if self._is_contiguous and tensor.stride() == self._strides:
            return tensor
        if not self._has_gaps:
            return tensor.as_strided(self._shape, self._strides)
        made = torch.empty_strided(self._shape, self._strides, dtype=tensor.dtype)
        expanded = [k for k, stride in enumerate(self._strides) if stride == 0 and self._shape[k] > 1]
        target = made
        for axis in expanded:
            target, tensor = target.narrow(axis, 0, 1), tensor.narrow(axis, 0, 1)
        target.copy_(tensor)
        return made


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
