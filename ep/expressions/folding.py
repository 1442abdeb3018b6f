"""A trace with constant arrays: values that depend only on constants are computed during tracing."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ep.common.arrays.constants import Constants
from ep.common.arrays.on_device import copied_from_host, moved
from ep.common.bounded_cache import BoundedCache
from ep.common.primitive.broadcast import Dims
from ep.expressions.array import LazyArray
from ep.expressions.operators import MAPS
from ep.expressions.rules import Rules
from ep.expressions.trace import Node, Trace
from ep.include.arrays import Array, Arrays
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import MatrixProduct
from ep.ops.declare.operator import operator_named

_MOVES: Final = "permute", "expand", "slice"
"""The operators that move elements, and may leave them where they are."""
_SMALL: Final = 2**12
"""The largest result, in bytes, that is computed during tracing although it is larger than its operands."""


class Folds(BoundedCache):
    """The results of operators on constant arrays, and these, by the calls."""

    def __init__(self) -> None:
        super().__init__(lambda found: {id(one): one.size * one.dtype.itemsize for some in found for one in some})


class FoldingTrace(Trace):
    """A trace with arrays that are passed at each launch, and constant arrays.

    Operators on constant arrays are computed at once, unless their results are much larger. Calls that change nothing
    record nothing, such as `identity`, and a cast or a permutation that reverses another one.
    """

    gives_buffers = True

    def __init__(
        self,
        base: Arrays,
        name: str,
        folds: Folds,
        constants: Constants | None = None,
        *,
        otherwise: Arrays | None = None,
        notes_lacking: bool = False,
    ) -> None:
        """folds: the results of operators on constant arrays, shared with other traces. constants: those that the trace
        shares; None if it has none that last.
        """
        super().__init__(base, name, LazyArray, numbers_vary=False, otherwise=otherwise, notes_lacking=notes_lacking)
        self._arrays, self._folds, self._constants = base, folds, constants
        self._rules = Rules(base, self.nodes)
        self._on_products: set[int] = set()  # products that kernels compute maps on, and maps of these
        self.num_folded = self.num_dropped = 0

    def copy_from_host(self, array: np.ndarray[Any, Any]) -> Any:
        """Return the lazy array for a constant in host memory."""
        if self._constants is None:
            return self.hold(copied_from_host(self._arrays, array))
        return self.hold(self._constants.placed(self._arrays, array))

    def reshape(self, array: Any, shape: Dims) -> Any:
        held = self.held.get(array.node.position)
        if held is None or shape == array.node.shape:
            return super().reshape(self.array(self._in_first_shape(array.node).position), shape)
        key = "reshape", id(held), shape
        return self.hold(self._folded(key, (held,), lambda: [held.reshape(shape)])[0])

    def copied(self, array: Any) -> Any:
        """Return a copy of an array."""
        return super()._called(operator_named("identity"), [self.alias(array).node], {})[0]

    def _called(self, operator: Any, inputs: Sequence[Node], attributes: Mapping[str, Any]) -> list[Any]:
        if operator.name == "identity":
            self.num_dropped += 1
            return [self.array(inputs[0].position)]
        held = [self.held.get(one.position) for one in inputs]
        if any(one is None for one in held) or not held:
            for rewritten in (self._undone, self._reshaped_later):
                if (found := rewritten(operator, inputs, attributes)) is not None:
                    return [found]
            return self._recorded(operator, inputs, attributes)
        of_attributes = operator.key(attributes) if attributes else ()
        results, data_type, lacking = self._results(operator, inputs, attributes, of_attributes)
        num_bytes = data_type.itemsize * sum(map(math.prod, results))
        is_large = num_bytes > max(_SMALL, sum(one.data_type.itemsize * math.prod(one.shape) for one in inputs))
        if is_large or (lacking and self.otherwise is None):
            return super()._called(operator, inputs, attributes)
        self.num_folded += 1
        key = operator.name, tuple(map(id, held)), of_attributes
        computed = self._folded(key, held, lambda: self._computed(operator, held, attributes, lacking is not None))
        return [self.hold(one) for one in computed]

    def _recorded(self, operator: Any, inputs: Sequence[Node], attributes: Mapping[str, Any]) -> list[Any]:
        """Record a call, and note whether its result is computed on a product."""
        results = super()._called(operator, inputs, attributes)
        node: Node = results[0].node
        if operator.joins in MAPS:
            is_on = any(one.position in self._on_products and one.shape == node.shape for one in inputs)
        else:
            is_on = operator.joins is MatrixProduct and not self._rules.why_no_product(node)
        if is_on:
            self._on_products.add(node.position)
        return results

    def _reshaped_later(self, operator: Any, inputs: Sequence[Node], attributes: Mapping[str, Any]) -> Any:
        """Return the result of a map of a product in another shape: it is computed in the shape of the product, by the
        same kernel, and reshaped. None for other calls."""
        for node in inputs if operator.joins in MAPS else ():
            first = self._in_first_shape(node)
            if first is node or first.position not in self._on_products:
                continue
            moved = [self._in_shape(one, node.shape, first.shape) for one in inputs]
            others = [one for one in moved if one is not None]
            if len(others) == len(moved):
                return self.reshape(self._called(operator, others, attributes)[0], node.shape)
        return None

    def _in_first_shape(self, node: Node) -> Node:
        """Return the value that a reshaped value was at first."""
        while node.operator is None and node.inputs and self.nodes[node.inputs[0]].shape != node.shape:
            node = self.nodes[node.inputs[0]]
        return node

    def _in_shape(self, node: Node, shape: Dims, wanted: Dims) -> Node | None:
        """Return an operand of a map of a shape in the form for another shape of as many elements; None if it has none
        without a copy."""
        if node.shape == shape:
            made: Node = self.reshape(self.array(node.position), wanted).node
            return made
        first = next((axis for axis, size in enumerate(node.shape) if size != 1), len(node.shape))
        kept = node.shape[first:]
        if kept and shape[-len(kept) :] != wanted[-len(kept) :]:
            return None
        made = self.reshape(self.array(node.position), kept).node
        return made

    def _computed(
        self, operator: Any, held: Sequence[Any], attributes: Mapping[str, Any], is_lacking: bool
    ) -> Sequence[Array]:
        """Compute an operator on constants. is_lacking: whether the other device computes it."""
        base, other, constants = self._arrays, self.otherwise, self._constants
        if is_lacking and other is not None:
            found = other.compute(operator, [moved(one, base, other) for one in held], attributes, None)
            return [moved(one, other, base) for one in found]
        results = base.compute(operator, held, attributes, None)
        if constants is None or not all(isinstance(one, np.ndarray) for one in results):
            return results
        return [constants.placed(self._arrays, one) for one in results]

    def _undone(self, operator: Any, inputs: Sequence[Node], attributes: Mapping[str, Any]) -> Any:
        """Return the operand of a call that changes nothing, or of an earlier one that this call reverses, or None."""
        if isinstance(operator.joins, ReduceOp):
            return self._of_single_elements(operator, inputs[0], attributes)
        if operator.name not in ("cast", *_MOVES):
            return None
        (node,), found = inputs, None
        before = self.nodes[node.inputs[0]] if node.operator is operator else None
        if operator.name == "cast":
            _, data_type, _ = self._results(operator, inputs, attributes, operator.key(attributes))
            if node.data_type is data_type:
                found = node
            elif before and before.data_type is data_type and np.can_cast(data_type.dtype, node.dtype, "safe"):
                found = before
        elif operator.name == "permute":
            axes, order = attributes["axes"], tuple(range(len(node.shape)))
            if axes == order:
                found = node
            elif before and tuple(node.attributes["axes"][axis] for axis in axes) == order:
                found = before
        elif operator.shape([node.shape], attributes)[0] == node.shape:
            found = node
        if found is None:
            return None
        self.num_dropped += 1
        return self.array(found.position)

    def _of_single_elements(self, operator: Any, node: Node, attributes: Mapping[str, Any]) -> Any:
        """Return the operand of a reduction along axes of one element, in the shape of the result; None for others."""
        if any(node.shape[axis] != 1 for axis in attributes["axes"]):
            return None
        (shape,), data_type, _ = self._results(operator, [node], attributes, operator.key(attributes))
        if data_type is not node.data_type or attributes.get("is_piece"):
            return None
        self.num_dropped += 1
        return super().reshape(self.array(node.position), shape)

    def _folded(self, key: Hashable, held: Sequence[Any], compute: Any) -> Sequence[Array]:
        found = self._folds.get(key)
        if found is None:
            found = compute(), held  # the id of a held object is not reused
            self._folds.put(key, found)
        results: Sequence[Array] = found[0]
        return results
