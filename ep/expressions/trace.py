"""The trace that operators write instead of computing: values, and the calls that give them."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, ArrayLike, Arrays, Operands
from ep.include.data_type import DataType, as_data_type
from ep.ops.declare.operator import Operator


class Node(NamedTuple):
    """One value of a trace.

    position: in the trace, after those of all inputs.
    operator: that gives it; None for what is given, and for what is reshaped.
    inputs: positions of values.
    attributes: resolved; of a reshape, nothing.
    result: which one of the operator's.
    data_type: of its elements.
    constant: the bytes of a number that stands in the text.
    """

    position: int
    operator: Operator | None
    inputs: tuple[int, ...]
    attributes: Mapping[str, Any]
    result: int
    shape: Dims
    data_type: DataType
    constant: bytes | None = None


class Trace(Operands):
    """The operands of one trace: arrays that are not computed yet, all of one place."""

    gives_buffers = False
    """Whether all arrays that are given, and held, are such as `as_buffer` returns."""

    def __init__(self, base: Operands, name: str, make: Any, *, numbers_vary: bool) -> None:
        """base: what computes. name: of what is traced. make: makes the lazy array of a trace and a node.

        numbers_vary: whether numbers in the text are given at each launch, and else a part of the structure.
        """
        self.base, self._make, self._numbers_vary = base, make, numbers_vary
        self._device_type = base.device_type if isinstance(base, Arrays) else None
        self.place = f"{base.place}, in the trace of {name}"
        self.nodes: list[Node] = []
        self.given: dict[int, Any] = {}  # by position: arrays, and what gives numbers
        self.sizes: dict[int, np.ndarray[Any, Any]] = {}  # by position: numbers that no structure has
        self.numbers: set[int] = set()  # positions of what is given and is a number
        self.held: dict[int, Array] = {}  # by position: arrays that are the same at each launch
        self.ended = False
        self._known: dict[Hashable, list[Node]] = {}

    @property
    def key(self) -> Hashable:
        """The key that tells the trace from others: all but arrays and numbers that are given."""
        return tuple(self._known)

    def end(self) -> None:
        """Refuse the arrays of the trace from now on, and hold what was given no longer."""
        self.ended = True
        self.given.clear()

    def give(self, value: Any, shape: Dims, dtype: np.dtype[Any]) -> Any:
        """Return the lazy array of something that is given at each launch: an array, or what `Number` is."""
        position = len(self.nodes)
        self.given[position] = value
        return self._valued(("given", position, shape, dtype), (), shape, as_data_type(dtype))

    def give_number(self, value: Any, dtype: np.dtype[Any]) -> Any:
        """Return the lazy array of a number that is given at each launch."""
        number = self.give(value, (), dtype)
        self.numbers.add(number.node.position)
        return number

    def as_buffer(self, value: ArrayLike, argument: str) -> Array:
        trace = getattr(value, "trace", None)
        if trace is not self:
            if isinstance(trace, Trace) and trace.ended:
                raise RuntimeError(f"{argument} belongs to {trace.place}, which has ended")
            raise TypeError(
                f"{argument} ({type(value).__qualname__}) is no array of {self.place}: make it an argument of the "
                f"function, or a view of the block"
            )
        if self.ended:
            raise RuntimeError(f"{argument} belongs to {self.place}, which has ended")
        return value

    def number(self, number: np.ndarray[Any, Any]) -> Any:
        if self._numbers_vary:
            return self.give_number(number, number.dtype)
        key = "number", number.dtype, number.tobytes()
        return self._valued(key, (), (), as_data_type(number.dtype), number.tobytes())

    def size(self, number: np.ndarray[Any, Any]) -> Any:
        if self._numbers_vary:
            return self.number(number)
        made = self._valued(("size", number.dtype, number.tobytes()), (), (), as_data_type(number.dtype))
        self.sizes[made.node.position] = number
        return made

    def indices(self, value: ArrayLike) -> Array:
        return self.as_buffer(value, "indices")

    def copy_to_host(self, array: Array) -> np.ndarray[Any, Any]:
        raise refusal("a copy of an array that is not computed yet", "copy what the function or the block gives")

    def compute(
        self, operator: Any, inputs: Sequence[Array], attributes: Mapping[str, Any], out: Array | None
    ) -> list[Array]:
        if out is not None:
            raise TypeError(f"out is given to {operator.name} in {self.place}; give it to the function, or assign")
        return self._called(operator, [one.node for one in inputs], attributes)

    def reshape(self, array: Any, shape: Dims) -> Any:
        """Return an array with as many elements in another shape."""
        node: Node = array.node
        if shape == node.shape:
            return array
        return self._valued(("reshape", node.position, shape), (node.position,), shape, node.data_type)

    def alias(self, array: Any) -> Any:
        """Return a lazy array of the same value that is another one to the trace: nothing is computed from it yet."""
        node: Node = array.node
        return self._valued(("alias", len(self.nodes)), (node.position,), node.shape, node.data_type)

    def array(self, position: int) -> Any:
        """Return the lazy array of a value."""
        return self._make(self, self.nodes[position])

    def results_of(self, node: Node) -> list[Any]:
        """Return the lazy arrays of all results of the call that gives a value."""
        first = end = node.position - node.result
        while end < len(self.nodes) and self.nodes[end].result == end - first:
            end += 1
        return [self._make(self, one) for one in self.nodes[first:end]]

    def again(self, node: Node, inputs: tuple[int, ...]) -> list[Any]:
        """Return all results of the call that gives a value, for other inputs of the same shapes and types."""
        if node.operator is None:
            return [self.reshape(self.array(inputs[0]), node.shape)]
        return self._called(node.operator, [self.nodes[one] for one in inputs], node.attributes)

    def _called(self, operator: Operator, inputs: Sequence[Node], attributes: Mapping[str, Any]) -> list[Any]:
        """Return the results of an operator."""
        of_attributes = operator.key(attributes) if attributes else ()
        positions = tuple([node.position for node in inputs])
        key = operator.name, positions, of_attributes
        found = self._known.get(key)
        if found is None:
            shapes, types = [node.shape for node in inputs], [node.data_type for node in inputs]
            results, data_type = operator.results(self._device_type, shapes, types, attributes, of_attributes)
            found = self._note(key, operator, positions, attributes, results, data_type)
        return [self._make(self, node) for node in found]

    def _note(
        self,
        key: Hashable,
        operator: Operator | None,
        inputs: tuple[int, ...],
        attributes: Mapping[str, Any],
        shapes: Sequence[Dims],
        data_type: DataType,
        constant: bytes | None = None,
    ) -> list[Node]:
        """Note the results of a call, or another value."""
        first = len(self.nodes)
        made = [
            Node(first + result, operator, inputs, attributes, result, shape, data_type, constant)
            for result, shape in enumerate(shapes)
        ]
        self.nodes += made
        self._known[key] = made
        return made

    def _valued(
        self, key: Hashable, source: tuple[int, ...], shape: Dims, data_type: DataType, constant: bytes | None = None
    ) -> Any:
        """Return the lazy array of a value that no operator gives, which is noted where it was not before."""
        found = self._known.get(key) or self._note(key, None, source, {}, [shape], data_type, constant)
        return self._make(self, found[0])


_PACKAGE: Final = __name__.partition(".")[0]


def refusal(what: str, instead: str) -> TypeError:
    """Return the error for something that a trace cannot do, with the line of the user that asked for it."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    return TypeError(f"{what}, in line {frame.f_lineno} of {frame.f_code.co_filename}: {instead}")
