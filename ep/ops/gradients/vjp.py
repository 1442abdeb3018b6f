"""vjp: the gradients of an operator's inputs, from that of its result. The rules of operators are beside this.

A rule computes with operators alone, so it runs on any device. Sums are those of Reduce and UnsortedSegmentSum, which
have the same bits in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ep.include.data_type import as_data_type
from ep.include.number_kind import COMPLEXES, FLOATS
from ep.include.suggest import did_you_mean
from ep.ops.declare.function import FUNCTIONS
from ep.ops.declare.operator import Attributes, Operator, Role, operator_named, operators
from ep.ops.devices import arrays_of


class Backward(NamedTuple):
    """What a gradient follows from.

    inputs: of the operator, arrays. attributes: resolved.
    output: the result; a list of them for an operator with several. dy: the gradient by it, likewise.
    """

    inputs: Sequence[Any]
    attributes: Attributes
    output: Any
    dy: Any


Gradients = Sequence[Any]
"""A gradient for each input; None for one that has none, as indices."""

RULES: Final[dict[str, Callable[[Backward], Gradients]]] = {}


def gradient_of(*names: str) -> Callable[[Callable[[Backward], Gradients]], Callable[[Backward], Gradients]]:
    """Decorator: make a function the rule of operators."""

    def declare(rule: Callable[[Backward], Gradients]) -> Callable[[Backward], Gradients]:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return declare


def has_gradient(name: str) -> bool:
    """Whether there is an operator of a name, or alias, that has a rule."""
    return any(name in (one.name, *one.aliases) and one.name in RULES for one in operators())


def vjp(name: str, inputs: Sequence[Any], attributes: Mapping[str, Any], output: Any, dy: Any) -> list[Any]:
    """Return the gradients of all inputs of an operator, given that of its result.

    name: the operator's, such as "gather".
    inputs: what it was given, on one device; for concat and stack the arrays, one after the other.
    attributes: what its function was given besides, by name; that of expand, repeat and slice is one sequence.
    output: its result; None where there is none at hand: then it is computed anew.
    dy: the gradient by the result, of its shape and dtype; for split a sequence of them.

    Of an input that has no gradient, since it is no floating or complex number, or is an index or a condition, it is
    None. Raises ValueError for a name that is no operator's, and TypeError for an operator without a gradient, such as
    one of second order.
    """
    declared = operator_named(name)
    rule = RULES.get(declared.name)
    if rule is None:
        raise TypeError(f"{declared.name} has no gradient{did_you_mean(declared.name, RULES)}")
    many = declared.inputs[0].role is Role.TENSORS
    names = [f"inputs[{position}]" for position in range(len(inputs))] if many else declared.input_names
    if len(inputs) != len(names):
        raise ValueError(f"inputs has {len(inputs)} arrays; {declared.name} has {', '.join(names)}")
    arrays = arrays_of(inputs, names)
    taken = [as_array(arrays, value, label) for value, label in zip(inputs, names, strict=True)]
    positional, given = declared.arguments(attributes)
    resolved = declared.resolve(*([taken] if many else taken), *positional, **given)
    if output is None:
        output = FUNCTIONS[declared.name](*([taken] if many else taken), *positional, **given)
    _check_shape(declared, taken, resolved, dy)
    return [
        gradient if as_data_type(value.dtype) in FLOATS + COMPLEXES else None
        for value, gradient in zip(taken, rule(Backward(taken, resolved, output, dy)), strict=True)
    ]


def as_array(arrays: Any, value: Any, name: str) -> Any:
    known = isinstance(getattr(value, "dtype", None), np.dtype) and isinstance(getattr(value, "shape", None), tuple)
    return value if known else arrays.as_buffer(value, name)


def _check_shape(declared: Operator, inputs: Sequence[Any], attributes: Attributes, dy: Any) -> None:
    shapes = declared.shape([tuple(one.shape) for one in inputs], attributes)
    given = dy if declared.name == "split" else [dy]
    if len(given) != len(shapes):
        raise ValueError(f"dy has {len(given)} parts; the result of {declared.name} has {len(shapes)}")
    for one, shape in zip(given, shapes, strict=True):
        if tuple(np.shape(one) if not hasattr(one, "shape") else one.shape) != tuple(shape):
            raise ValueError(f"dy has shape {tuple(one.shape)}; the result of {declared.name} has {tuple(shape)}")


def call(name: str) -> Callable[..., Any]:
    return FUNCTIONS[name]


def summed_to(gradient: Any, like: Any) -> Any:
    """Sum a gradient over what was broadcast."""
    return gradient if tuple(gradient.shape) == tuple(like.shape) else call("expand_grad")(gradient, like.shape)


def conjugated(x: Any) -> Any:
    return call("conj")(x) if as_data_type(x.dtype) in COMPLEXES else x


def zeros_like(like: Any) -> Any:
    """Zeros of the shape and floating type of an array; it may hold what is not finite."""
    return call("nan_assign")(call("sub")(like, like))
