"""The calls of operators' functions: reading a call, and doing later calls of the same kind at once.

A call depends on the types, dtypes and shapes of its operands and on the exact values of its attributes: these form its
key. A function stores its plan of a call by this key. A call without a key is read each time: one with a view, a list
of many, an array of a subclass or of another library, an operand by name, or an attribute that has no exact key.

A device may do calls on its arrays by itself (`CallFinder`): it gets the plan in the second call with a key. It does
the next ones without a key, or, if an attribute is another object or an operand is a number, when their key is found.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from ep.common.arrays.checks import NUMBERS
from ep.common.exact import Inexact, exact
from ep.common.notice import Wait
from ep.include.arrays import UNKNOWN, Array, Arrays, Keyed, Operands, PlannedCall
from ep.include.data_type import as_data_type
from ep.ops.declare.inputs import Input, Role
from ep.ops.declare.operator import Attributes, Chosen, Operator
from ep.ops.operands import numbers_of

Function = Callable[..., Any]

_MOST: Final = 64  # most arrays in a sequence of them


class Read(NamedTuple):
    """The arguments of a call, as they were read.

    operands: the object that reads the inputs and computes. inputs: as buffers. attributes: resolved. out: as given.
    """

    operands: Operands
    inputs: Sequence[Array]
    attributes: Attributes
    out: Array | None


@dataclass(frozen=True, slots=True)
class _Known:
    """The calls of one function that a device does by itself, on arrays of that one device. It is replaced as a whole,
    since other threads may call the function meanwhile.

    chosen: the kernels of these calls; None before the first call. find: that of the finder.
    """

    chosen: Chosen | None = None
    arrays: Any = None
    finder: Any = None
    find: Any = None


def calling(
    declared: Operator,
    name: str,
    inputs: Sequence[Input],
    read: Callable[[tuple[Any, ...], dict[str, Any]], Read],
) -> Function:
    """Return a function of an operator.

    name: of the function. inputs: those of its first parameters.
    read: (args, kwargs) -> the arguments as read; raises errors in the operator's words.
    """
    takes_out, many = declared.takes_out, declared.many
    is_sequence = [one.role for one in inputs] == [Role.TENSORS]
    num_inputs, ndarray, known_calls = len(inputs), np.ndarray, _Known()

    def function(*args: Any, **kwargs: Any) -> Any:
        known = known_calls
        if known.chosen is declared.chosen:
            result = known.find(*args, **kwargs) if kwargs else known.find(*args)
            if result is not UNKNOWN:
                return result
        return by_key(args, kwargs)

    def learned(chosen: Chosen, call: PlannedCall, operands: Sequence[Array]) -> PlannedCall:
        """Return a call with the object by which the finder does it, if the device does such calls."""
        nonlocal known_calls
        present = known_calls
        if present.chosen is not chosen:
            finder = call.arrays.new_finder()
            if finder is None:
                return call._replace(is_new=False)
            present = known_calls = _Known(chosen, call.arrays, finder, finder.find)
        known = present.finder.known(call, operands) if call.arrays is present.arrays else None
        return call._replace(is_new=False, known=known, finder=None if known is None else present.finder)

    def by_key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        chosen = declared.chosen
        # The key is made inline, of nested tuples, not by functions: this is most of the cost of such a call.
        given = _arrays_in(args) if is_sequence else args[:num_inputs]
        key: Hashable = name
        for value in given:
            if type(value) is ndarray and value.flags.c_contiguous:
                key = key, value.dtype, value.shape
            elif type(value) in NUMBERS:
                key = key, type(value)
            elif isinstance(value, Keyed):
                key = key, value.call_key
            else:
                key = None
                break
        if kwargs or len(args) != num_inputs:
            key = _with_attributes(key, args, kwargs, num_inputs, takes_out)
        call: PlannedCall | None = None if key is None else chosen.calls.get(key)
        if call is not None:
            of_device, plan, _, _, _, _, with_number, is_new, known, finder, is_found = call  # quicker than by name
            out = kwargs.get("out") if kwargs else None
            operands = given if with_number is None else with_number(given)
            if is_new:
                call = learned(chosen, call, operands)
                chosen.calls.put(key, call)
                known, finder = call.known, call.finder
            if finder is not None:
                if is_found:
                    finder.add(known)
                result = finder.run(known, operands, out)
                if result is not UNKNOWN:
                    return result
            results = plan.compute(of_device, operands, out)
            return results if many else results[0]
        arrays, buffers, attributes, out = read(args, kwargs)
        if key is None or not isinstance(arrays, Arrays):
            results = arrays.compute(declared, buffers, attributes, out)
            return results if many else results[0]
        plan = declared.prepare(arrays.device_type, buffers, attributes)
        if key is None:
            results = plan.compute(arrays, buffers, out)
            return results if many else results[0]
        with Wait():  # it may compile
            results = plan.compute(arrays, buffers, out)
        others = [*args[1 if is_sequence else num_inputs :]]
        # not `out`, which the next calls are given anew
        others += (None if word == "out" else value for word, value in kwargs.items())
        call = PlannedCall(arrays.kept(), plan, others, tuple(kwargs), is_sequence, many, is_new=plan.is_repeatable)
        changed = [place for place, value in enumerate(given) if value is not buffers[place]]
        if len(changed) == 1 and not is_sequence:
            (place,) = changed
            if inputs[place].role is Role.OPERAND and type(given[place]) in NUMBERS:
                with_number = _with_number(call.arrays, place, buffers[place].dtype, inputs[place].name)
                call, changed = call._replace(with_number=with_number), []
        if not changed:
            is_found = call.with_number is None and _are_unchanging(others)
            chosen.calls.put(key, call._replace(is_found=is_found))
        return results if many else results[0]

    return function


def _are_unchanging(values: Sequence[Any]) -> bool:
    """Return whether attributes that are the same objects in another call have the same values there."""
    try:
        hash(tuple(values))
    except TypeError:  # a list may have other contents
        return False
    return True


def _arrays_in(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arrays of the sequence that is the first argument; if it has none or over 64, one without a key."""
    sequence: Any = args[0] if args else None
    return tuple(sequence) if type(sequence) in (list, tuple) and 0 < len(sequence) <= _MOST else (None,)


def _with_attributes(
    key: Hashable, args: tuple[Any, ...], kwargs: Mapping[str, Any], num_inputs: int, takes_out: bool
) -> Hashable:
    """Return the key of a call with attributes, given that of its inputs; None if it has none."""
    if key is None or len(args) < num_inputs:
        return None
    try:
        for value in args[num_inputs:]:
            key = key, exact(value)
        for name, value in kwargs.items():
            # `out` does not affect the plan, but for a finder the call is a different one
            key = (key, name) if name == "out" and takes_out else (key, name, exact(value))
    except Inexact:
        return None
    return key


def _with_number(
    arrays: Arrays, place: int, dtype: np.dtype[Any], name: str
) -> Callable[[Sequence[Any]], tuple[Array, ...]]:
    """Return a function that replaces the number at `place` by an array of `dtype`; errors call it `name`."""
    of_type = numbers_of(as_data_type(dtype))

    def with_number(given: Sequence[Any]) -> tuple[Array, ...]:
        operands = [*given]
        operands[place] = arrays.number(of_type.array(operands[place], name))
        return tuple(operands)

    return with_number
