"""vjp: the gradients of an operator's inputs, given that of its result. The rules are those of the operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ep.common.arrays.checks import is_weak
from ep.common.checks import are_several
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, ArrayLike, LaterNumber, Operands
from ep.include.data_type import DataType, as_data_type
from ep.include.primitive.op_definition import INEXACT
from ep.include.shown import in_short, shown
from ep.include.suggest import did_you_mean
from ep.ops.declare.function import FUNCTIONS
from ep.ops.declare.gradient import Backward, Rule
from ep.ops.declare.inputs import Role
from ep.ops.declare.operator import Operator, operator_named, operators
from ep.ops.devices import arrays_of, as_array
from ep.ops.indices import as_indices
from ep.ops.operands import as_weak, dtype_of_numbers, which_are_weak

Slopes = Callable[[Sequence[Any], Mapping[str, Any], Any], list[Any]]
"""The function (operands, other arguments, dy) -> gradients of a function that is made of operators."""

OF_FUNCTIONS: Final[dict[str, Slopes]] = {}
"""The gradients of functions that are no operators, by name. An operand may be None."""


def has_gradient(name: str) -> bool:
    """Whether an operator with a name, or alias, has a rule, or a function that is made of operators its own one."""
    return name in OF_FUNCTIONS or any(name in (one.name, *one.aliases) for one in _differentiable())


def vjp(name: str, inputs: Sequence[Any], attributes: Mapping[str, Any], output: Any, dy: Any) -> list[Any]:
    """Return the gradients of all inputs of an operator, given that of its result.

    name: the operator's, such as "gather"; or "layer_norm", "rms_norm", "group_norm" or "attention", whose results are
        computed again. Their inputs are the operands, of which one that may be None may also be omitted.
    inputs: its inputs, on one device; for concat and stack the arrays, one after the other.
    attributes: the other arguments of its function, by name; that of expand, repeat and slice is one sequence.
    output: its result; None if the caller does not have it: then it is recomputed if the gradient needs it.
    dy: the gradient with respect to the result, of its shape and dtype; for split a sequence of them. If the result has
        no axes, it may be a number.

    Each gradient has the shape and dtype of its input; for complex numbers it is the conjugate, as in PyTorch. It is
    None for an input that has no gradient: one that is not a floating or complex number, an index or a condition. All
    are None if the result is not a floating or complex number; dy may then have any dtype. Raises ValueError for an
    unknown operator, and for an output or a dy of another shape than the result; TypeError for one of another dtype,
    and for an operator without a gradient, such as one of second order.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be the name of an operator, not {shown(name)}")
    declared = None if name in OF_FUNCTIONS else operator_named(name)
    if declared is not None:
        _rule_of(declared)
    if not are_several(inputs):
        raise TypeError(f"inputs must be a sequence of arrays, not {shown(inputs)}")
    if not isinstance(attributes, Mapping):
        raise TypeError(f"attributes must be a mapping of names to values, not {shown(attributes)}")
    if declared is None:
        return OF_FUNCTIONS[name](inputs, attributes, dy)
    several = declared.inputs[0].role is Role.TENSORS
    names = [f"inputs[{position}]" for position in range(len(inputs))] if several else list(declared.input_names)
    if len(inputs) != len(names) or not names:
        raise ValueError(f"inputs has {len(inputs)} arrays; {declared.name} has {', '.join(declared.input_names)}")
    outputs = None if output is None else _parts(declared, output, "output")
    dys = _parts(declared, dy, "dy")
    results = {**(outputs or {}), **dys}
    arrays = arrays_of([*inputs, *results.values()], [*names, *results])
    taken = _read(declared, arrays, inputs, names)
    positional, given = declared.arguments(attributes)
    resolved = declared.resolve(*([taken] if several else taken), *positional, **given)
    types = [as_data_type(one.dtype) for one in taken]
    result_type = declared.dtype.result(dict(zip(declared.input_names, types, strict=False)), resolved)
    shapes = declared.shape([tuple(one.shape) for one in taken], resolved)
    needed = result_type in INEXACT and any(one in INEXACT for one in types)
    found = None if outputs is None else _checked(declared, arrays, outputs, "output", shapes, result_type)
    by_result = _checked(declared, arrays, dys, "dy", shapes, result_type if needed else None)

    def result() -> Any:
        if found is not None:
            return found if declared.many else found[0]
        return FUNCTIONS[declared.name](*([taken] if several else taken), *positional, **given)

    back = Backward(taken, resolved, by_result if declared.many else by_result[0], result)
    if not needed:
        _ = back.output  # raises for inputs that the operator does not accept
        return [None] * len(taken)
    return of_inputs(declared, back)


def of_inputs(declared: Operator, back: Backward) -> list[Any]:
    """Return the gradients of all inputs of an operator whose result has one; None for an input without one.

    Raises TypeError for an operator without a rule.
    """
    gradients = _rule_of(declared)(back)
    return [
        gradient if as_data_type(one.dtype) in INEXACT else None
        for one, gradient in zip(back.inputs, gradients, strict=True)
    ]


def _rule_of(declared: Operator) -> Rule:
    if declared.gradient is None:
        others = [one.name for one in _differentiable()]
        raise TypeError(f"{declared.name} has no gradient{did_you_mean(declared.name, others)}")
    return declared.gradient


def _differentiable() -> list[Operator]:
    return [one for one in operators() if one.gradient is not None]


def _parts(declared: Operator, value: Any, name: str) -> dict[str, Any]:
    """Return the results that a value consists of, by their names in errors."""
    if not declared.many:
        return {name: value}
    if not isinstance(value, list | tuple):
        raise TypeError(f"{name} must be a sequence, as {declared.name} has several results, not {shown(value)}")
    return {f"{name}[{position}]": one for position, one in enumerate(value)}


def _read(declared: Operator, arrays: Operands, inputs: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Return the inputs as arrays; a number gets the dtype of the other operand."""
    roles = [one.role for one in declared.inputs]
    if roles == [Role.TENSORS]:
        roles *= len(inputs)
    operands = [place for place, role in enumerate(roles) if role is Role.OPERAND]
    found = dict(zip(operands, which_are_weak([inputs[place] for place in operands]), strict=True))
    weak = [found.get(place, False) for place in range(len(roles))]
    taken = [
        value
        if number
        else as_array(
            arrays,
            as_indices(arrays, value, name) if role is Role.INDICES else arrays.as_buffer(value, name),
            name,
        )
        for value, name, role, number in zip(inputs, names, roles, weak, strict=True)
    ]
    alike = [place for place, role in enumerate(roles) if role in (Role.OPERAND, Role.TENSORS)]
    known = [place for place in alike if not weak[place]]
    for place in known:
        dtype, first = taken[place].dtype, taken[known[0]].dtype
        if dtype != first:
            raise TypeError(f"{names[place]} has dtype {dtype}, {names[known[0]]} has {first}; convert one of them")
    if any(weak):
        dtype = taken[known[0]].dtype if known else dtype_of_numbers([taken[place] for place in alike])
        taken = [
            as_number(arrays, value, dtype, name) if number else value
            for value, name, number in zip(taken, names, weak, strict=True)
        ]
    return taken


def as_number(arrays: Operands, number: complex, dtype: np.dtype[Any], name: str) -> Array:
    """Return a number as an array without axes; ValueError if the dtype does not hold it."""
    if isinstance(number, LaterNumber):
        return number.as_array(dtype, name)
    as_weak(number, dtype, name)
    return FUNCTIONS["cast"](as_array(arrays, arrays.as_buffer(number, name), name), dtype)


def _checked(
    declared: Operator,
    arrays: Operands,
    values: Mapping[str, Any],
    argument: str,
    shapes: Sequence[Dims],
    data_type: DataType | None,
) -> list[Array]:
    if len(values) != len(shapes):
        raise ValueError(f"{argument} has {len(values)} parts; the result of {declared.name} has {len(shapes)}")
    of = f"the result of {declared.name}"
    return [
        _as_result(arrays, value, name, of, shape, None if data_type is None else data_type.dtype)
        for (name, value), shape in zip(values.items(), shapes, strict=True)
    ]


def _as_result(
    arrays: Operands, value: ArrayLike, name: str, of: str, shape: Dims, dtype: np.dtype[Any] | None
) -> Array:
    """Return an array that has the shape and dtype of a result, or a number converted for one without axes.

    of: the result, in words. dtype: None for any. Raises ValueError for another shape, TypeError for another dtype.
    """
    if is_weak(value):
        if tuple(shape):
            raise ValueError(f"{name} is the number {in_short(value)}, of shape (); {of} has {tuple(shape)}")
        if dtype is not None:
            return as_number(arrays, value, dtype, name)
    array = as_array(arrays, arrays.as_buffer(value, name), name)
    if tuple(array.shape) != tuple(shape):
        raise ValueError(f"{name} has shape {tuple(array.shape)}; {of} has {tuple(shape)}")
    if dtype is not None and array.dtype != dtype:
        raise TypeError(f"{name} has dtype {array.dtype}; {of} has {dtype}")
    return array
