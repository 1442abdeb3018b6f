"""Functions of arrays that are computed for one step after another, as one operator of a trace."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from ep.common.arrays.operators import FUNCTIONS
from ep.common.bounded_cache import BoundedCache
from ep.common.primitive.broadcast import Dims
from ep.expressions.folding import FoldingTrace, Folds
from ep.expressions.partition import partitioned
from ep.expressions.program import Program
from ep.expressions.trace import Node, Trace
from ep.include.arrays import Array, Arrays
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.errors import LackingError, UnsupportedPrimitiveError
from ep.ops.declare.operator import operator_named
from ep.ops.devices import arrays_of
from ep.run.plan import Plan
from ep.run.steps import Call, Temporary, operands, results

Step = Callable[[list[Any], list[Any], list[Any]], tuple[list[Any], list[Any]]]
"""A step: (parts, states, others) are the parts of arrays for this step, the states, and arrays that are the same in
all steps. It returns its results and the next states, all of which it computes. A value may be among both."""

MOST_REPEATED: Final = 2**12
"""The most steps that are recorded. It takes 0.1 ms to record one, and 400 bytes for each launch."""


class Recurrence:
    """A step that is traced once for arrays of certain shapes, and computed for one part of them after another."""

    def __init__(self, step: Step) -> None:
        self._step, self._operators = step, BoundedCache()

    def __call__(
        self, arrays: Sequence[Any], states: Sequence[Any], others: Sequence[Any], *, backwards: bool = False
    ) -> tuple[list[Any], list[Any]]:
        """Return the results of all steps, along a new first axis, and the last states.

        arrays: those that have a part for each step, along their first axis: one step at least. backwards: whether the
        last part is that of the first step. The results have the order of the parts.
        """
        given = [*arrays, *states, *others]
        base: Any = arrays_of(given, [f"array {k}" for k in range(len(given))])
        own: Any = base.base if isinstance(base, Trace) else base
        counts = len(arrays), len(states), backwards
        try:
            steps = self._steps(own, given, *counts)
        except UnsupportedPrimitiveError as error:
            other = base.other_device if isinstance(base, Trace) else None
            if other is None:
                raise
            steps = self._steps(other, given, *counts, why=tuple(map(str, error.reasons)))
        found = base.compute(steps, given, {"steps": steps}, None)
        end = 0 if backwards else steps.num_steps - 1
        last = [_part(found[k], end) if k < steps.num_of_all else found[k] for k in steps.states]
        return [found[k] for k in steps.of_all], last

    def _steps(
        self,
        base: Arrays,
        given: Sequence[Any],
        num_arrays: int,
        num_states: int,
        backwards: bool,
        why: Sequence[str] = (),
    ) -> _Steps:
        """Return the steps on a device."""
        key = base.place, why, backwards, num_arrays, num_states, *((tuple(one.shape), one.dtype) for one in given)
        found: _Steps = self._operators.keep(
            key, lambda: _Steps(base.kept(), self._step, given, num_arrays, num_states, backwards, why)
        )
        return found


class _Steps:
    """All steps for arrays of certain shapes, in the form of an operator, and its launches.

    Its inputs are the arrays, the states and the others. Its first results are values of all steps, the others values
    of the last one: the states that are not among the first. num_of_all: the number of the first ones. of_all, states:
    which results are the step's results, and its states.
    """

    joins = None

    def __init__(
        self,
        base: Arrays,
        step: Step,
        given: Sequence[Any],
        num_arrays: int,
        num_states: int,
        backwards: bool,
        why: Sequence[str],
    ) -> None:
        """given: the inputs, of which only shapes and dtypes are read. why: what another device lacks, for which this
        one computes the steps."""
        self._device_type, self._why = base.device_type, why
        self._num_inputs, self._num_arrays, self._num_states = len(given), num_arrays, num_states
        self.num_steps = given[0].shape[0]
        self._order = range(self.num_steps)[:: -1 if backwards else 1]
        self.name = f"{self.num_steps} steps" if self.num_steps > 1 else "1 step"
        trace = FoldingTrace(base, "a step", Folds(), notes_lacking=True)
        trace.gives_buffers = base.takes_host_arrays  # a part of an array of another device is none
        try:
            shapes = [tuple(one.shape[1:] if k < num_arrays else one.shape) for k, one in enumerate(given)]
            lazy = [trace.give(None, shape, one.dtype) for shape, one in zip(shapes, given, strict=True)]
            self._given = [one.node.position for one in lazy]
            results, self._next = ([one.node.position for one in some] for some in step(*self._parted(lazy)))
            self._computed = list(dict.fromkeys([*results, *self._next]))
            partitioned(trace, self._computed, Program)  # or an error that lists all that is missing
            self._program = Program(trace, self._computed, has_memory=True)
        finally:
            trace.end()
        self.num_of_all = len({*results})
        self.of_all, self.states = ([self._computed.index(one) for one in some] for some in (results, self._next))
        nodes = [trace.nodes[one] for one in self._computed]
        steps = [(self.num_steps,)] * self.num_of_all + [()] * (len(nodes) - self.num_of_all)
        self._shapes: list[Dims] = [(*along, *one.shape) for along, one in zip(steps, nodes, strict=True)]
        (self._data_type,) = {one.data_type for one in nodes}

    def _parted(self, given: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Return the inputs as arrays, states and others."""
        end = self._num_arrays + self._num_states
        return [*given[: self._num_arrays]], [*given[self._num_arrays : end]], [*given[end:]]

    @property
    def chosen(self) -> Any:
        """What changes when kernels are registered for an operator of a step."""
        return self._program.renewed()

    def key(self, attributes: Mapping[str, Any]) -> Hashable:
        """Return what distinguishes these steps from others."""
        return self

    def asked(self, attributes: Mapping[str, Any]) -> Sequence[Hashable]:
        """As that of an operator."""
        return (self,)

    def results(self, device_type: DeviceType | None, *_: Any) -> tuple[Sequence[Dims], DataType]:
        """Return the shapes and the type of the results. Raises UnsupportedPrimitiveError for another device."""
        if device_type not in (None, self._device_type):
            assert device_type is not None
            raise LackingError(device_type.tag, self._why)
        return self._shapes, self._data_type

    def calls(self) -> Iterator[tuple[Node, Sequence[Node]]]:
        """Yield the calls of operators of all steps, as `Program.calls` does."""
        for _ in self._order:
            yield from self._program.calls()

    def prepare(self, *_: Any) -> Plan:
        """Return the plan of all calls: one step, which launches those of all steps. In its memory are the temporary
        values of a step, and for each state that only the last step returns, two others."""
        lowered: Any = self._program.renewed()
        dtype, last = self._data_type.dtype, self._shapes[self.num_of_all :]
        memory = [lowered.memory.block, *(Temporary(shape, dtype) for shape in last for _ in range(2))]
        written = [*results(len(self._shapes)), *memory]
        is_repeatable = self.num_steps <= MOST_REPEATED and lowered.is_repeatable
        step = Call(partial(self._run, lowered), operands(self._num_inputs), written, is_repeatable=is_repeatable)
        return Plan(step).for_results(self._shapes, dtype, {})

    def compute(self, arrays: Arrays, inputs: Sequence[Array], *_: Any) -> list[Array]:
        """Return the results as `arrays` delivers them."""
        return self.prepare().compute(arrays, inputs)

    def _run(self, lowered: Any, arrays: Arrays, inputs: Sequence[Array], written: Sequence[Array]) -> None:
        """Launch all steps. written: the results, and the memory of the plan."""
        program, order, dtype = self._program, self._order, self._data_type.dtype
        outputs, (block, *states) = written[: len(self._shapes)], written[len(self._shapes) :]
        values = lowered.memory.arrays(arrays, block)
        parts, now, others = self._parted(inputs)
        of_all, last = (
            dict(zip(self._computed[some], outputs[some], strict=True))
            for some in (slice(self.num_of_all), slice(self.num_of_all, None))
        )
        # a product reads a part of an array of the host, on other devices only a whole buffer
        apart = set() if arrays.takes_host_arrays else {*of_all}
        into = {
            one: [arrays.empty(out.shape[1:], dtype) if apart else _view(arrays, out, t) for t in order]
            for one, out in of_all.items()
        }
        for k, (one, out) in enumerate(last.items()):
            into[one] = [*(states[2 * k + t % 2] for t in range(len(order) - 1)), out]
        for k, t in enumerate(order):
            read = [*(_view(arrays, one, t) for one in parts), *now, *others]
            direct = {one: each[k] for one, each in into.items()}
            given = dict(zip(self._given, read, strict=True))
            found = program.computed(arrays, given, direct, lowered, values)
            for one, made in zip(self._computed, found, strict=True):
                if made is not direct[one]:  # it is an array that the step was given, or a view
                    apart.add(one)
                    into[one][k] = made
            now = [into[one][k] for one in self._next]
        for one in apart & of_all.keys():
            _launch(arrays, "stack", into[one][:: order.step], {"axis": 0}, of_all[one])
        for one in apart & last.keys():
            _launch(arrays, "identity", into[one][-1:], {}, last[one])


def _part(array: Any, t: int) -> Any:
    """Return the part of an array for a step, for operators."""
    return FUNCTIONS["slice"](array, (t, t + 1)).reshape(array.shape[1:])


def _view(arrays: Arrays, array: Array, t: int) -> Array:
    """Return the part of an array for a step, where it is."""
    return arrays.view(array, (t, *[slice(None)] * (len(array.shape) - 1)), None, None)


def _launch(arrays: Arrays, name: str, inputs: Sequence[Array], attributes: Mapping[str, Any], out: Array) -> None:
    """Compute an operator, with its result in an array of the device."""
    operator_named(name).prepare(arrays.device_type, inputs, attributes)(arrays, inputs, [out])
