"""fuse: a function of arrays whose operators are traced once, and then computed in few kernels."""

from __future__ import annotations

import functools
import inspect
import math
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from ep.common.arrays.checks import is_weak
from ep.common.arrays.on_device import arrays_beside, as_device_type
from ep.common.arrays.operators import FUNCTIONS
from ep.common.bounded_cache import BoundedCache
from ep.expressions.array import LazyArray
from ep.expressions.forms import form_of, leaves_of, mapped, name_leaves, replaced
from ep.expressions.number import Number
from ep.expressions.partition import partitioned
from ep.expressions.program import Program
from ep.expressions.repetition import Repetition
from ep.expressions.static import static_key
from ep.expressions.trace import Trace, refusal
from ep.include.additions import forget_when_added
from ep.include.arrays import Array, Operands, Placed
from ep.include.device_type import DeviceType
from ep.include.recording import MOST_TEMPORARY
from ep.include.shown import shown
from ep.ops.devices import arrays_of, recording, with_scalars
from ep.run.call_key import call_key
from ep.run.explanation import Explanation

P = ParamSpec("P")
R = TypeVar("R")


@overload
def fuse(
    function: Callable[P, R], /, *, round_each: bool = False, otherwise: DeviceType | str | None = None
) -> Fused[P, R]: ...
@overload
def fuse(
    function: None = None, /, *, round_each: bool = False, otherwise: DeviceType | str | None = None
) -> Callable[[Callable[P, R]], Fused[P, R]]: ...
def fuse(
    function: Callable[..., Any] | None = None,
    /,
    *,
    round_each: bool = False,
    otherwise: DeviceType | str | None = None,
) -> Any:
    """Return a function with the same results as `function`, which computes several operators in one kernel.

    function: accepts arrays, numbers, tuples, lists and dicts of these, and other hashable values: those with
    attributes, of a class without __eq__ and __hash__, are refused, as they may change. It returns an array, or tuples,
    lists and dicts of arrays. It is called once for each combination of shapes, dtypes and other values, with lazy
    arrays instead of arrays, so it should have no side effects. round_each: whether every value of a 16-bit type is
    rounded to this type, as by separate operators. By default, values that are not written stay in float32. otherwise:
    the device, such as "cpu", that computes operators for which the device of the arrays has no kernel; `explain` says
    which. Without it, the first call raises UnsupportedPrimitiveError, which lists all kernels that are missing.

    The returned function accepts the same arguments, and `out`: an array for each result, in a tuple if there are
    several. Its method `explain` accepts the same arguments, and returns a description of the kernels.
    """
    if function is None:
        return functools.partial(fuse, round_each=round_each, otherwise=otherwise)
    if not callable(function):
        raise TypeError(f"function must be callable, not {shown(function)}")
    return Fused(function, round_each, None if otherwise is None else as_device_type(otherwise, "otherwise"))


class _Trace:
    """The trace of one call of the function: a program, and how the returned value is built from its results."""

    def __init__(
        self, trace: Trace, program: Program, positions: Mapping[int, int], value: Any, num_leaves: int
    ) -> None:
        """positions: the positions in the trace of the arrays among the leaves of the arguments. value: the returned
        value, in the form of `_noted`."""
        self._positions, self._value = positions, value
        self.program, self._results = program, _positions(value)
        places = {one: k for k, one in enumerate([*self._results, None])}
        self._order = [places[one] for one in leaves_of(value)]
        self._is_array = isinstance(value, int)
        self._is_tuple = type(value) is tuple and [*value] == self._results  # of arrays, none of them twice
        self._arrays, self._numbers = [*positions], [trace.given[one] for one in trace.numbers]
        self._inputs = [*positions.values(), *trace.numbers]
        self._are_inputs = len(positions) == num_leaves  # all leaves, in their order
        self._copied = _copied(self._results, trace)
        nodes = [trace.nodes[one] for one in self._results]
        self._are_small = sum(math.prod(one.shape) * one.data_type.itemsize for one in nodes) <= MOST_TEMPORARY
        # of one call at a time: others, of other threads or of a handler of a signal, are computed in Python meanwhile
        repeats = program.on_device and not self._copied and not program.borrowed
        self._repetitions = [Repetition(program)] if repeats else []

    def names_of(self, names: Sequence[str]) -> dict[int, str]:
        """Return the names of arrays, by position in the trace; names: those of all leaves of the arguments."""
        return {position: names[k] for k, position in self._positions.items()}

    def call(self, base: Any, leaves: Sequence[Any], out: Any) -> Any:
        """Compute with the leaves of the arguments; base: the reader of operands."""
        inputs: Any = leaves
        if not self._are_inputs:
            inputs = [*map(leaves.__getitem__, self._arrays)]
            for number in self._numbers:
                inputs.append(base.number(number(leaves)))
        results: Any = None
        repetition, repetitions = None, self._repetitions
        if repetitions:
            try:
                repetition = repetitions.pop()
            except IndexError:  # another thread has taken it
                repetition = None
        try:
            if repetition is not None:
                if out is None:
                    results = repetition.repeated(base, *inputs)
                else:
                    into = [*out] if isinstance(out, tuple | list) else [out]
                    results = into if repetition.repeated_into(base, inputs, into) else None
            if results is None:
                results = self._computed(base, inputs, out, repetition)
        finally:
            if repetition is not None and repetition.may_repeat:
                repetitions.append(repetition)
        if self._is_array:
            return results[0]
        if self._is_tuple:
            return tuple(results)
        results.append(None)  # other kinds of leaves
        return replaced(self._value, map(results.__getitem__, self._order))

    def _computed(self, base: Any, inputs: Sequence[Any], out: Any, repetition: Repetition | None) -> list[Any]:
        """Return the results, computed in Python. repetition: may record the call."""
        program, given = self.program, dict(zip(self._inputs, inputs, strict=True))
        written = {} if out is None else _destinations(out, self._results)
        if repetition is not None and (not written or (self._are_small and repetition.recorded is None)):
            if written:
                program.check(base, given, written)
            results = repetition.computed(base, given, program.renewed())
            targets = [written[one][1] if one in written else None for one in self._results]
            return [*map(base.delivered, results, targets)]
        results = program.run(base, given, written)
        for k in self._copied:
            if self._results[k] not in written:
                results[k] = FUNCTIONS["identity"](results[k])
        return results


class Fused(Generic[P, R]):
    """The function that `fuse` returns."""

    _wanted = "it must return arrays of its trace"
    _made_by = "ep.fuse"

    def __init__(self, function: Callable[P, R], round_each: bool, otherwise: DeviceType | None = None) -> None:
        self._function, self._round_each, self._otherwise = function, round_each, otherwise
        self.forget()
        self._pins: set[int] = set()  # numbers among the arguments that traces depend on
        self._parameters = parameter_names(function)
        functools.update_wrapper(self, function, updated=())  # a fused function has attributes of its own
        if otherwise is not None:  # a kernel more, and the other device computes less
            forget_when_added(self)

    def forget(self) -> None:
        """Forget all traces. A call that has begun keeps its own."""
        self._traces = BoundedCache(lambda trace: trace.program.holds)
        # the same, with their readers of operands, by the keys of calls
        self._known = BoundedCache(lambda known: known[0].program.holds)

    def __reduce__(self) -> str | tuple[Any, ...]:
        # its name, if it is found by that, as a decorated function is; else what it is made of. Traces are not copied
        name: str = getattr(self, "__qualname__", "")
        found: Any = sys.modules.get(self.__module__)
        for part in name.split("."):
            found = getattr(found, part, None)
        return name if found is self else (type(self), (self._function, self._round_each, self._otherwise))

    def __repr__(self) -> str:
        return f"<{self._made_by}({getattr(self._function, '__qualname__', self._function)})>"

    @overload
    def __get__(self, instance: None, owner: Any) -> Fused[P, R]: ...
    @overload
    def __get__(self, instance: object, owner: Any) -> Callable[..., R]: ...
    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else _Method(self, instance)

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(self, *args: Any, out: Any, **kwargs: Any) -> R: ...
    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        key, of_calls = None if kwargs or self._pins else call_key(args), self._known
        known = of_calls.get(key)
        if known is not None:
            found, base = known
            return found.call(base, args, out)
        base, leaves, found = self._find(args, kwargs)
        if found is None:  # inside another trace, which also records the operators of this function
            return self._function(*args, **kwargs)
        # a trace may pin numbers; and nothing must have been converted
        if key is not None and not self._pins and all(map(operator.is_, args, leaves)):
            of_calls.keep(key, lambda: (found, base.kept()))
        return found.call(base, leaves, out)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Return the kernels for these arguments: what each computes, reads and writes, and why kernels are separate.

        The result is a text with the methods `svg()` and `save(path)`, which draw it. Jupyter shows the drawing.
        """
        found = self._find(args, kwargs)[2]
        if found is None:
            raise refusal("explain() of arrays that are not computed yet", "give it arrays")
        return found.program.explain(found.names_of(self._names(args, kwargs)))

    def _find(self, args: Any, kwargs: Any) -> tuple[Any, list[Any], _Trace | None]:
        """Return the reader of the arrays, the leaves of the arguments, and their trace, which is made if necessary.

        The trace is None for lazy arrays of another trace.
        """
        leaves: list[Any] = []
        form = (form_of(args, leaves), form_of(kwargs, leaves))
        arrays = [k for k, one in enumerate(leaves) if isinstance(one, Placed) or (_is_array(one) and not is_weak(one))]
        names = self._names(args, kwargs)
        base: Any = arrays_of([leaves[k] for k in arrays], [names[k] for k in arrays])
        if isinstance(base, Trace):
            return base, leaves, None
        leaves = [*with_scalars(base, leaves)]
        arrays = [k for k in arrays if not is_weak(leaves[k])]
        for k in arrays:
            leaves[k] = base.as_view(leaves[k], names[k])
        key, traces = self._key(form, leaves, names, arrays, base), self._traces
        found = traces.get(key)
        if found is None:
            found = self._traced(args, kwargs, leaves, arrays, base)
            # the key may have changed: the trace may have pinned numbers
            traces.keep(self._key(form, leaves, names, arrays, base), lambda: found)
        return base, leaves, found

    def _key(
        self, form: Any, leaves: Sequence[Any], names: Sequence[str], arrays: Sequence[int], base: Operands
    ) -> Any:
        shown: list[Any] = [None] * len(leaves)
        for k in arrays:
            shown[k] = tuple(leaves[k].shape), leaves[k].dtype
        for k, one in enumerate(leaves):
            if shown[k] is None:
                varies = _is_number(one) and k not in self._pins
                shown[k] = type(one) if varies else static_key(one, names[k])
        return form, tuple(shown), base.place

    def _names(self, args: Any, kwargs: Any) -> list[str]:
        """Return the names of the arguments' leaves in errors.

        Those of the function's parameters, if it has names for them.
        """
        names: list[str] = []
        for k, one in enumerate(args):
            name_leaves(one, self._parameters[k] if k < len(self._parameters) else f"argument {k}", names)
        for name, one in kwargs.items():
            name_leaves(one, name, names)
        return names

    def _traced(self, args: Any, kwargs: Any, leaves: Sequence[Any], arrays: Sequence[int], base: Operands) -> _Trace:
        name = getattr(self._function, "__name__", "a function")
        other = arrays_beside(base, self._otherwise)
        trace = Trace(base, name, LazyArray, numbers_vary=False, otherwise=other, notes_lacking=True)
        lazy = list(leaves)
        positions = dict[int, int]()
        for k in arrays:
            lazy[k] = trace.give(leaves[k], tuple(leaves[k].shape), leaves[k].dtype)
            positions[k] = lazy[k].node.position
        for k, one in enumerate(leaves):
            if _is_number(one):
                lazy[k] = Number(trace, self._pins, one, operator.itemgetter(k), frozenset([k]))
        rest = iter(lazy)
        try:
            with recording(trace, base.place):
                value = self._function(*replaced(args, rest), **replaced(kwargs, rest))
            value = _noted(value, trace, name, self._wanted)
            if other is not None:  # the device may have no kernel that copies: the plan says who does
                results = _positions(value)
                copies = {results[k]: FUNCTIONS["identity"](trace.array(results[k])) for k in _copied(results, trace)}
                value = mapped(lambda one: copies[one].node.position if one in copies else one, value)
            new_program = functools.partial(Program, round_each=self._round_each)
            whole, places, *_ = partitioned(trace, _positions(value), new_program)
            value = mapped(lambda one: None if one is None else places[one], value)
            positions = {k: places[one] for k, one in positions.items()}
            found = _Trace(whole, new_program(whole, _positions(value)), positions, value, len(leaves))
            whole.end()
            return found
        finally:
            trace.end()


class _Method(functools.partial[Any]):
    """A fused function with its first argument, the object that it is a method of."""

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """As `explain` of a fused function."""
        explanation: Explanation = self.func.explain(*self.args, *args, **kwargs)  # type: ignore[attr-defined]
        return explanation


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """Return the names of positional parameters, if the function has a signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C
        return []
    return [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]


def _is_number(value: Any) -> bool:
    """Return whether a value is a number that may change from call to call."""
    return is_weak(value) and not isinstance(value, bool)


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, type)


def _noted(value: Any, trace: Trace, name: str, wanted: str) -> Any:
    """Return the value of the function, with each array replaced by the position of its value."""

    def note(one: Any) -> Any:
        if isinstance(one, LazyArray):
            return trace.as_buffer(one, f"what {name} returns").node.position
        if isinstance(one, Number) and isinstance(one.value, np.generic):
            return trace.as_buffer(one, "a number").node.position
        if one is None:
            return one
        what = f"the number {one.value}" if isinstance(one, Number) else type(one).__qualname__
        raise TypeError(f"{name} returns {what}; {wanted}")

    return mapped(note, value)


def _positions(value: Any) -> list[int]:
    """Yield the position of each array in the result of `_noted`, each once."""
    return list(dict.fromkeys(one for one in leaves_of(value) if one is not None))


def _copied(results: Sequence[int], trace: Trace) -> list[int]:
    """Return which results are copied: constants of the trace, and arguments and other results in another shape.

    They share memory with what others read or write.
    """
    copied, seen = [], set(results)
    for k, one in enumerate(results):
        node = trace.nodes[one]
        while node.operator is None and node.inputs:
            node = trace.nodes[node.inputs[0]]
        is_constant = node.constant is not None or node.position in trace.held
        is_shared = node.operator is None or node.position in seen
        if is_constant or (is_shared and node.position != one):
            copied.append(k)
        seen.add(node.position)
    return copied


def _destinations(out: Any, positions: Sequence[int]) -> dict[int, tuple[str, Array]]:
    given = tuple(out) if isinstance(out, tuple | list) else (out,)
    if len(given) != len(positions):
        raise TypeError(f"out has {len(given)} arrays; the function returns {len(positions)}")
    return {
        position: ("out" if len(given) == 1 else f"out[{k}]", one)
        for k, (position, one) in enumerate(zip(positions, given, strict=True))
        if one is not None
    }
