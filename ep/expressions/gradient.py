"""grad and value_and_grad: functions with their gradients, which are traced and computed together."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ep.expressions.array import LazyArray
from ep.expressions.forms import leaves_of, mapped, name_leaves
from ep.expressions.fused import fuse, parameter_names
from ep.expressions.number import Number
from ep.expressions.reverse import gradients, inlined
from ep.include.data_type import as_data_type
from ep.include.number_kind import FLOATS
from ep.include.shown import shown
from ep.ops.gradients.vjp import INEXACT

Place = int | str
"""An argument: its position, or its name."""


def value_and_grad(function: Callable[..., Any], by: Place | Sequence[Place] = 0, *, has_aux: bool = False) -> Any:
    """Return a fused function that returns the result of `function` and its gradients: `loss, (of_w, of_b) = ...`.

    function: as for `fuse`. It returns a loss: an array of one element, of a real floating type.
    by: the arguments of the gradients: a position, a name, or a sequence of these, for which a tuple of gradients is
    returned. Such an argument is a floating or complex array, or a tuple, list or dict of such arrays; its gradient has
    the same structure. has_aux: whether the function returns a pair: its loss, and other values that have no influence
    on gradients. The pair is then returned in place of the loss.

    A gradient has the shape and dtype of its array. It is 0 if the loss does not depend on the array. For complex
    arrays it is the conjugate, as in PyTorch. When the returned function is called, it raises TypeError for other
    arguments and losses, and if the loss depends on an operator without a gradient; ValueError for a loss of another
    size.
    """
    places = _places(by)
    several = not isinstance(by, Place)
    parameters, name = parameter_names(function), getattr(function, "__name__", "the function")

    @functools.wraps(function, updated=())
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        values: dict[Place, Any] = dict(enumerate(args))
        values.update(kwargs)
        chosen = [_chosen(one, values, parameters, name) for one in places]
        if len(set(chosen)) < len(chosen):
            raise ValueError(f"by is {shown(by)}, which is one argument of {name} twice")
        aliased = [_aliased(values[one], _label(one, parameters)) for one in chosen]
        aliases = leaves_of(aliased)
        values.update(zip(chosen, aliased, strict=True))
        result = function(*[values[k] for k in range(len(args))], **{one: values[one] for one in kwargs})
        loss = _loss_of(result, name, has_aux, aliases)
        found = iter(gradients(loss, aliases))
        of_each = tuple(mapped(lambda _: next(found), one) for one in aliased)
        return _inlined((result, of_each if several else of_each[0]), aliases)

    return fuse(differentiated)


def grad(function: Callable[..., Any], by: Place | Sequence[Place] = 0, *, has_aux: bool = False) -> Any:
    """Return a fused function that returns the gradients of `function`, as `value_and_grad` does, without the loss.

    has_aux: if True, it returns a pair: the gradients, and the other values that the function returns.
    """
    both = value_and_grad(function, by, has_aux=has_aux)

    @functools.wraps(function, updated=())
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        result, of_each = both(*args, **kwargs)
        return (of_each, result[1]) if has_aux else of_each

    return fuse(differentiated)


def _places(by: Any) -> list[Place]:
    """Return `by` as a list.

    Raises TypeError for anything but positions and names, ValueError for an empty sequence or a negative position.
    """
    places = [by] if isinstance(by, Place) or not isinstance(by, Sequence) else [*by]
    for one in places:
        if isinstance(one, bool) or not isinstance(one, Place):
            raise TypeError(f"by must be the position or the name of an argument, or a tuple of them, not {shown(by)}")
        if isinstance(one, int) and one < 0:
            raise ValueError(f"by is {shown(by)}; positions count from 0")
    if not places:
        raise ValueError("by is empty; there must be an argument at least")
    return places


def _chosen(place: Place, values: Mapping[Place, Any], parameters: Sequence[str], name: str) -> Place:
    """Return the key of an argument in `values`: its position, or its name if it was passed by name."""
    if place in values:
        return place
    if isinstance(place, str):
        other: Any = parameters.index(place) if place in parameters else None
    else:
        other = parameters[place] if place < len(parameters) else None
    if other not in values:
        raise TypeError(f"by is {place!r}, an argument that {name} was called without")
    return other  # type: ignore[no-any-return]


def _label(place: Place, parameters: Sequence[str]) -> str:
    """Return the name of an argument in errors."""
    if isinstance(place, str):
        return place
    return parameters[place] if place < len(parameters) else f"argument {place}"


def _aliased(value: Any, label: str) -> Any:
    """Return the same structure with an alias for each array; raises TypeError for a leaf without a gradient."""
    names: list[str] = []
    name_leaves(value, label, names)
    rest = iter(names)

    def alias(one: Any) -> Any:
        argument = next(rest)
        if isinstance(one, Number) and isinstance(one.value, np.generic):
            one = one.as_array(one.value.dtype, argument)
        if not isinstance(one, LazyArray):
            what = f"the number {one.value}" if isinstance(one, Number) else shown(one)
            raise TypeError(f"{argument} is {what}; gradients are by arrays (a number: numpy.float32(0.5))")
        if as_data_type(one.dtype) not in INEXACT:
            raise TypeError(f"{argument} has dtype {one.dtype}; gradients are by floating and complex numbers")
        return one.trace.alias(one)

    return mapped(alias, value)


def _loss_of(result: Any, name: str, has_aux: bool, aliases: Sequence[LazyArray]) -> LazyArray:
    """Return the loss that a function returned; raises an error if it is not a loss."""
    if has_aux and not (isinstance(result, tuple) and len(result) == 2):
        raise TypeError(f"{name} returns {shown(result)}; with has_aux, it must return a pair: the loss and the rest")
    loss = result[0] if has_aux else result
    if not isinstance(loss, LazyArray):
        what = "a tuple" if isinstance(loss, tuple) else shown(loss)
        raise TypeError(f"{name} returns {what}; its loss must be an array of one element (see has_aux)")
    if as_data_type(loss.dtype) not in FLOATS:
        raise TypeError(f"{name} returns a loss of dtype {loss.dtype}; it must be of a floating type")
    if loss.size != 1:
        raise ValueError(f"{name} returns a loss of shape {loss.shape}; it must have one element: take its sum or mean")
    checked: LazyArray = aliases[0].trace.as_buffer(loss, f"the loss of {name}")
    return checked


def _inlined(value: Any, aliases: Sequence[LazyArray]) -> Any:
    """Return the same value, computed from the arrays that the aliases stand for."""
    lazies = [one for one in leaves_of(value) if isinstance(one, LazyArray)]
    rest = iter(inlined(lazies, aliases))
    return mapped(lambda one: next(rest) if isinstance(one, LazyArray) else one, value)
