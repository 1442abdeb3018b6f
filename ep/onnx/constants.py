"""What the plans of one model share: its constants, and what its values are computed from."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from ep.common.arrays.constants import CONSTANTS
from ep.common.arrays.on_device import arrays_beside, arrays_on
from ep.expressions.folding import FoldingTrace, Folds
from ep.expressions.memory import Arena
from ep.include.arrays import Array
from ep.include.device_type import DeviceType
from ep.onnx.calls import called, described
from ep.onnx.graph import Graph, Node

NDArray = np.ndarray[Any, Any]
_HOST: Final = DeviceType.kCPU
_LEAST: Final = 2**12
"""The fewest bytes of a value on the host of which equal ones share memory."""


class ModelConstants:
    """constants: those of the model, and values computed from them, on the host. inputs: the names of the model's.
    made_of: the names that each value is computed from, by name. arenas: those that no thread uses now. otherwise: the
    Arrays of the device that computes what the first one has no kernel for, or None.
    """

    def __init__(self, graph: Graph, device_type: DeviceType, otherwise: DeviceType | None) -> None:
        self.device_type = device_type
        self.otherwise = arrays_beside(arrays_on(device_type), otherwise)
        self.constants: dict[str, NDArray] = dict(graph.constants)
        self.inputs = [one.name for one in graph.inputs]
        self.made_of: dict[str, Sequence[str]] = {}
        self._placed: dict[str, Array] = {}
        self._folds = Folds()
        self.arenas: list[Arena] = []

    def note(self, nodes: Sequence[Node]) -> None:
        """Record what nodes compute their results from."""
        self.made_of.update((name, one.inputs) for one in nodes for name in one.outputs)

    def placed(self, name: str) -> Array:
        """Return a constant on the device, in memory aligned to a cache line."""
        found = self._placed.get(name)
        if found is None:
            found = self._placed[name] = CONSTANTS.placed(arrays_on(self.device_type), self.constants[name])
            if self.device_type is _HOST:
                self.constants[name] = found  # once is enough
        return found

    def constant(self, name: str) -> NDArray:
        """Return a constant on the host."""
        found = self.constants[name] = self.shared(self.constants[name])
        return found

    def shared(self, array: NDArray) -> NDArray:
        """Return a value on the host, in the memory of equal ones."""
        return array if array.nbytes < _LEAST else CONSTANTS.placed(arrays_on(_HOST), array)

    def release(self, unread: Container[int]) -> None:
        """Release constants on the device, by their ids. Another plan that reads one copies it again."""
        self._placed = {name: one for name, one in self._placed.items() if id(one) not in unread}

    def on_device(self) -> list[tuple[str, Array]]:
        """Return the names of the constants that the device has, and their arrays."""
        return [*self._placed.items()]

    def trace(self) -> FoldingTrace:
        """Return a new trace."""
        base, other = arrays_on(self.device_type).kept(), self.otherwise
        return FoldingTrace(base, "a model", self._folds, CONSTANTS, otherwise=other, notes_lacking=True)

    def call(
        self,
        node: Node,
        arrays: Sequence[Any],
        values: Iterable[Mapping[str, Any]],
        others: Mapping[str, Any] = MappingProxyType({}),
    ) -> Any:
        """Return what `called` returns; errors have a note on the values that the node reads.

        values: the values known besides the constants, by name.
        """
        try:
            return called(node, arrays, others)
        except Exception as error:

            def shape(name: str) -> Any:
                return next((some[name].shape for some in (*values, self.constants) if name in some), None)

            error.add_note(described(node.inputs, self.made_of, self.inputs, shape))
            raise
