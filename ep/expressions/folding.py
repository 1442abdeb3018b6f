"""A trace that has constant arrays: what depends on them alone is computed when it is traced."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.expressions.array import LazyArray
from ep.expressions.trace import Node, Trace
from ep.include.arrays import Array, Arrays
from ep.include.data_type import as_data_type
from ep.ops.declare.operator import operator_named

_SMALL: Final = 2**12
"""The most bytes of a result that is computed when it is traced although it is larger than what it depends on."""


class FoldingTrace(Trace):
    """A trace of arrays that are given at each launch, and of others that are held.

    Operators on arrays that are held are computed at once, unless their results are much larger. `identity` notes
    nothing, and neither does a cast that undoes another.
    """

    gives_buffers = True

    def __init__(self, base: Arrays, name: str, folds: dict[Hashable, Any]) -> None:
        """folds: what was computed from arrays that are held, for other traces, too."""
        super().__init__(base, name, LazyArray, numbers_vary=False)
        self._arrays, self._folds = base, folds
        self.num_folded = self.num_dropped = 0

    def hold(self, array: Array) -> Any:
        """Return the lazy array of an array of the device that is the same at each launch."""
        made = self._valued(("held", id(array)), (), tuple(array.shape), as_data_type(array.dtype))
        self.held[made.node.position] = array
        return made

    def copy_from_host(self, array: np.ndarray[Any, Any]) -> Any:
        """Return the lazy array of a constant of the host."""
        return self.hold(self._arrays.copy_from_host(array))

    def reshape(self, array: Any, shape: Dims) -> Any:
        held = self.held.get(array.node.position)
        if held is None or shape == array.node.shape:
            return super().reshape(array, shape)
        key = "reshape", id(held), shape
        return self.hold(self._folded(key, (held,), lambda: [held.reshape(shape)])[0])

    def copied(self, array: Any) -> Any:
        """Return an array with the same elements in memory of its own."""
        return super()._called(operator_named("identity"), [self.alias(array).node], {})[0]

    def _called(self, operator: Any, inputs: Sequence[Node], attributes: Mapping[str, Any]) -> list[Any]:
        if operator.name == "identity":
            self.num_dropped += 1
            return [self.array(inputs[0].position)]
        held = [self.held.get(one.position) for one in inputs]
        if any(one is None for one in held) or not held:
            undone = self._undone(operator, inputs, attributes)
            return super()._called(operator, inputs, attributes) if undone is None else [undone]
        shapes, types = [one.shape for one in inputs], [one.data_type for one in inputs]
        of_attributes = operator.key(attributes) if attributes else ()
        results, data_type = operator.results(self._device_type, shapes, types, attributes, of_attributes)
        num_bytes = data_type.itemsize * sum(map(math.prod, results))
        if num_bytes > max(_SMALL, sum(one.data_type.itemsize * math.prod(one.shape) for one in inputs)):
            return super()._called(operator, inputs, attributes)
        self.num_folded += 1
        key = operator.name, tuple(map(id, held)), of_attributes
        found = self._folded(key, held, lambda: self._arrays.compute(operator, held, attributes, None))
        return [self.hold(one) for one in found]

    def _undone(self, operator: Any, inputs: Sequence[Node], attributes: Mapping[str, Any]) -> Any:
        """Return the array that a cast gives back, if it undoes a cast that has lost nothing."""
        if operator.name != "cast":
            return None
        (node,) = inputs
        data_type = operator.results(
            self._device_type, [node.shape], [node.data_type], attributes, operator.key(attributes)
        )[1]
        if node.data_type is data_type:
            self.num_dropped += 1
            return self.array(node.position)
        if node.operator is not operator:
            return None
        source = self.nodes[node.inputs[0]]
        if source.data_type is not data_type or not np.can_cast(data_type.dtype, node.data_type.dtype, "safe"):
            return None
        self.num_dropped += 1
        return self.array(source.position)

    def _folded(self, key: Hashable, held: Sequence[Any], compute: Any) -> Sequence[Array]:
        found = self._folds.get(key)
        if found is None:
            found = self._folds[key] = compute(), held  # what is held keeps its id
        results: Sequence[Array] = found[0]
        return results
