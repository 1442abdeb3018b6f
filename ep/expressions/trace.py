"""The trace in which operators are recorded instead of computed: values, and the calls that compute them."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.arrays.checks import as_scalar, is_weak
from ep.common.arrays.on_device import arrays_on
from ep.common.arrays.operators import FUNCTIONS
from ep.common.bounded_cache import BoundedCache
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, ArrayLike, Arrays, LaterNumber, Operands
from ep.include.data_type import DataType, as_data_type
from ep.include.device_type import DeviceType
from ep.include.errors import UnsupportedPrimitiveError
from ep.include.number_kind import COMPLEXES, FLOATS
from ep.ops.declare.operator import Operator
from ep.ops.operands import dtype_of_numbers


class Node(NamedTuple):
    """One value of a trace.

    position: its position in the trace, after those of all inputs.
    operator: the operator that computes it; None for an input and for a reshaped value.
    inputs: the positions of its operands.
    attributes: the resolved attributes; empty for a reshape.
    result: its number among the results of the operator.
    data_type: the type of its elements.
    constant: the bytes of a number in the source code.
    """

    position: int
    operator: Operator | None
    inputs: tuple[int, ...]
    attributes: Mapping[str, Any]
    result: int
    shape: Dims
    data_type: DataType
    constant: bytes | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its elements in NumPy's form."""
        return self.data_type.dtype

    @property
    def name(self) -> str:
        """The name of the operator; empty for an input and for a reshaped value."""
        return "" if self.operator is None else self.operator.name

    @property
    def shown(self) -> str:
        """What computes it, for people."""
        return self.name or ("reshape" if self.inputs else "given")

    @property
    def joins(self) -> Any:
        """What the operator joins as, in a kernel of several; None if none joins it, and without an operator."""
        return None if self.operator is None else self.operator.joins


_NUMBER: Final = "given number"
"""What distinguishes a number from an array without axes, which has the same position, shape and dtype."""


class Trace(Operands):
    """The operands of one trace: arrays that are not computed yet, all on one device.

    given: arrays, and functions that compute numbers, by their positions. nodes: all values, by their positions.
    numbers: the positions of inputs that are numbers. otherwise: the Arrays of the device that computes what the first
    one has no kernel for. lacking: the reasons why it has none, by the positions of the first results.
    """

    gives_buffers: bool = False
    """Whether all inputs and constant arrays are results of `as_buffer`."""

    def __init__(
        self,
        base: Operands,
        name: str,
        make: Any,
        *,
        numbers_vary: bool,
        otherwise: Arrays | None = None,
        notes_lacking: bool = False,
    ) -> None:
        """base: the operands that compute. name: the name of the traced function. make: makes the lazy array of a trace
        and a node.

        numbers_vary: whether numbers in the source code are passed at each launch, or are part of the structure.
        notes_lacking: whether calls without a kernel are noted in `lacking`, also without another device:
        `partitioned` raises the error for all of them.
        """
        self.base, self._make, self._numbers_vary = base, make, numbers_vary
        self.name, self.otherwise = name, otherwise
        self.lacking: dict[int, UnsupportedPrimitiveError] = {}
        self._whys: dict[Hashable, UnsupportedPrimitiveError] = {}  # the same, by what the choice of kernels depends on
        self._device_type = base.device_type if isinstance(base, Arrays) else None
        self._notes_lacking = self._device_type is not None and (notes_lacking or otherwise is not None)
        self.place = f"{base.place}, in the trace of {name}"
        self.stranger = (
            f"is no part of the trace of {name}: make it an argument of the function, or a view of the block"
        )
        self.nodes: list[Node] = []
        self.given: dict[int, Any] = {}
        self.sizes: dict[int, np.ndarray[Any, Any]] = {}  # by position: numbers that are not part of a structure
        self.numbers: set[int] = set()
        self.rules: dict[int, tuple[Sequence[int], Any]] = {}  # by position: inputs, and the rule for their gradients
        self.held: dict[int, Array] = {}  # by position: arrays that are the same at each launch
        self.changing: dict[int, Array] = {}  # by position: arrays in the same memory at each launch
        self.ended = False
        self._weak: set[int] = set()  # the positions of what is computed from numbers alone
        self._known: dict[Hashable, Sequence[Node]] = {}  # values by what distinguishes them

    @property
    def other_device(self) -> Arrays | None:
        """The Arrays of a device that may compute what the first one has no kernel for; None if that is an error now.

        Without another device, those of the host tell the shapes: then `lacking` is all that is wanted.
        """
        return self.otherwise or (arrays_on(DeviceType.kCPU) if self._notes_lacking else None)

    @property
    def key(self) -> Hashable:
        """What has been recorded, without the values of inputs."""
        return self.base.place, *self._known

    def end(self) -> None:
        """Make the arrays of the trace invalid, and release the inputs."""
        self.ended = True
        self.given.clear()

    def give(self, value: Any, shape: Dims, dtype: np.dtype[Any]) -> Any:
        """Return the lazy array for an array that is an input of each launch."""
        return self._input("given", value, shape, dtype)

    def _input(self, kind: str, value: Any, shape: Dims, dtype: np.dtype[Any]) -> Any:
        position = len(self.nodes)
        self.given[position] = value
        return self._valued((kind, position, shape, dtype), (), shape, as_data_type(dtype))

    def give_number(self, value: Any, dtype: np.dtype[Any]) -> Any:
        """Return the lazy array for a number that is passed at each launch."""
        number = self._input(_NUMBER, value, (), dtype)
        self.numbers.add(number.node.position)
        return number

    def as_buffer(self, value: ArrayLike, argument: str) -> Array:
        trace = getattr(value, "trace", None)
        if trace is not self:
            if isinstance(trace, Trace) and trace.ended:
                raise RuntimeError(f"{argument} belongs to {trace.place}, which has ended")
            if isinstance(value, LaterNumber):
                return self.as_buffer(value.as_array(dtype_of_numbers((value,)), argument), argument)
            value = as_scalar(value)
            if is_weak(value):
                return self.number(np.asarray(value))
            raise TypeError(f"{argument} ({type(value).__qualname__}) {self.stranger}")
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

    def unrepeated(self, array: Any) -> Any:
        node: Node = array.node
        if node.name != "expand":
            return array
        source = self.array(node.inputs[0])
        return self.reshape(source, (*[1] * (len(node.shape) - len(source.shape)), *source.shape))

    def note_gradient(self, result: Any, inputs: Sequence[Any], rule: Any) -> bool:
        self.rules[result.node.position] = [one.node.position for one in inputs], rule
        return True

    def copy_to_host(self, array: Array) -> np.ndarray[Any, Any]:
        raise refusal("a copy of an array that is not computed yet", "copy what the function or the block gives")

    def hold(self, array: Array, *, changes: bool = False) -> Any:
        """Return the lazy array for an array of the device that is in the same memory at each launch.

        array: a result of `as_buffer`, which the trace and its programs keep. changes: whether its elements may be
        others at each launch, as those of a parameter in training: each launch reads the present ones, and nothing is
        computed from them in advance. A program may return it; the result is then this array.
        """
        made = self._valued(("held", id(array), changes), (), tuple(array.shape), as_data_type(array.dtype))
        (self.changing if changes else self.held)[made.node.position] = array
        return made

    def copy_from_host(self, array: np.ndarray[Any, Any]) -> Any:
        if array.nbytes > _MOST_KEPT:
            return self.hold(self.base.copy_from_host(array))
        key = self.base.place, array.dtype, array.shape, array.tobytes()
        return self.hold(_CONSTANTS.keep(key, lambda: self.base.copy_from_host(array)))

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
        """Return a lazy array with the same value, which the trace distinguishes: nothing is computed from it yet.

        That of a number takes the dtype of arrays that it is combined with, and so does what is computed from it and
        other numbers.
        """
        node: Node = array.node
        made = self._valued(("alias", len(self.nodes)), (node.position,), node.shape, node.data_type)
        if self._is_number(node.position):
            self._weak.add(made.node.position)
        return made

    def _is_number(self, position: int) -> bool:
        """Return whether a value is a number, or computed from numbers by which gradients are taken."""
        node = self.nodes[position]
        return position in self._weak or position in self.numbers or node.constant is not None or position in self.sizes

    def adapted(self, x: Any, y: Any) -> tuple[Any, Any] | None:
        for one, other in ((x, y), (y, x)):
            if one.node.position not in self._weak or other.node.position in self._weak:
                continue
            source, target = one.node.data_type, other.node.data_type
            if target in COMPLEXES or (target in FLOATS and source in FLOATS):
                cast = FUNCTIONS["cast"](one, target)
                return (cast, y) if one is x else (x, cast)
        return None

    def array(self, position: int) -> Any:
        """Return the lazy array of a value."""
        return self._make(self, self.nodes[position])

    def results_of(self, node: Node) -> list[Any]:
        """Return the lazy arrays of all results of the call that computes a value."""
        first = end = node.position - node.result
        while end < len(self.nodes) and self.nodes[end].result == end - first:
            end += 1
        return [self._make(self, one) for one in self.nodes[first:end]]

    def again(self, node: Node, inputs: tuple[int, ...]) -> list[Any]:
        """Return all results of the call that computes a value, for other inputs of the same shapes and types."""
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
            results, data_type, why = self._results(operator, inputs, attributes, of_attributes)
            if why is not None:
                self.lacking[len(self.nodes)] = why
            found = self._note(key, operator, positions, attributes, zip(results, repeat(data_type)))
            if not self._weak.isdisjoint(positions) and all(map(self._is_number, positions)):
                self._weak.update(node.position for node in found)
        return [self._make(self, node) for node in found]

    def _results(
        self, operator: Operator, inputs: Sequence[Node], attributes: Mapping[str, Any], key: Hashable
    ) -> tuple[Sequence[Dims], DataType, UnsupportedPrimitiveError | None]:
        """Return the shapes and the type of an operator's results, and why the device does not compute it, if that is
        noted. key: of the attributes."""
        shapes, types = [node.shape for node in inputs], [node.data_type for node in inputs]
        why = self._whys.get((*types, *operator.asked(attributes))) if self._whys else None
        if why is None:
            try:
                return *operator.results(self._device_type, shapes, types, attributes, key), None
            except UnsupportedPrimitiveError as error:
                if self.other_device is None:
                    raise
                why = self._whys[*types, *operator.asked(attributes)] = error.with_traceback(None)
        other: Any = self.other_device
        return *operator.results(other.device_type, shapes, types, attributes, key), why

    def needed(self, results: Iterable[int]) -> list[Node]:
        """Return the nodes that values depend on, with all results of each call."""
        wanted = {*results}
        for node in reversed(self.nodes):
            if node.position in wanted:
                wanted |= {*node.inputs, node.position - node.result}
        return [node for node in self.nodes if node.position in wanted or node.position - node.result in wanted]

    def emptied(self, base: Operands) -> Trace:
        """Return a trace without values, for arrays of a device, in which the values of this one are recorded again."""
        made = Trace(base, self.name, self._make, numbers_vary=False)
        made.gives_buffers = self.gives_buffers
        return made

    def take_input(self, other: Trace, node: Node) -> Node:
        """Record an array, a number or a constant of another trace with the same base, or on the host."""
        position = node.position
        if node.constant is not None:
            found = self.number(np.frombuffer(node.constant, node.dtype).reshape(()))
        elif position in other.sizes:
            found = self.size(other.sizes[position])
        elif position in other.numbers:
            found = self.give_number(other.given[position], node.dtype)
        elif position in other.given:
            found = self.give(other.given[position], node.shape, node.dtype)
        else:
            changes = position in other.changing
            found = self.hold((other.changing if changes else other.held)[position], changes=changes)
        made: Node = found.node
        return made

    def take(self, node: Node, inputs: Sequence[Node]) -> Sequence[Node]:
        """Record the call of a node of another trace, or its reshape; return all its results. inputs: of this trace."""
        if node.operator is None:
            return [self.reshape(self._make(self, inputs[0]), node.shape).node]
        return [one.node for one in self._called(node.operator, inputs, node.attributes)]

    def add_step(self, step: Any, inputs: Sequence[Node], results: Sequence[tuple[Dims, DataType]]) -> Sequence[Node]:
        """Record a step that is no operator; return its results. results: their shapes and types."""
        return self._note(("step", id(step)), step, tuple([one.position for one in inputs]), {}, results)

    def _note(
        self,
        key: Hashable,
        operator: Operator | None,
        inputs: tuple[int, ...],
        attributes: Mapping[str, Any],
        results: Iterable[tuple[Dims, DataType]],
        constant: bytes | None = None,
    ) -> Sequence[Node]:
        """Record the results of a call, or another value."""
        first = len(self.nodes)
        made: Sequence[Node] = [
            Node(first + result, operator, inputs, attributes, result, *described, constant)
            for result, described in enumerate(results)
        ]
        self.nodes += made
        self._known[key] = made
        return made

    def _valued(
        self, key: Hashable, source: tuple[int, ...], shape: Dims, data_type: DataType, constant: bytes | None = None
    ) -> Any:
        """Return the lazy array of a value that no operator computes; record it if it is new."""
        found = self._known.get(key) or self._note(key, None, source, {}, [(shape, data_type)], constant)
        return self._make(self, found[0])


_CONSTANTS: Final = BoundedCache()
"""Constant arrays by their contents, so that the next block with the same ones is found."""
_MOST_KEPT: Final = 2**16  # bytes of one

_NOT_THE_USERS: Final = __name__.partition(".")[0], np.__name__
"""The packages whose functions call these methods, too."""


def refusal(what: str, instead: str) -> TypeError:
    """Return the error for an unsupported use of lazy arrays, with the line of the user's code."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_THE_USERS:
        frame = frame.f_back
    return TypeError(f"{what}, in line {frame.f_lineno} of {frame.f_code.co_filename}: {instead}")
