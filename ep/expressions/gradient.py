"""grad and value_and_grad: functions with their gradients, which are traced and computed together."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ep.common.arrays.checks import is_weak
from ep.expressions.array import LazyArray
from ep.expressions.forms import leaves_of, mapped, name_leaves
from ep.expressions.fused import Fused, P, R, fuse, parameter_names
from ep.expressions.number import Number
from ep.expressions.reverse import gradients, inlined
from ep.expressions.trace import Trace
from ep.include.data_type import as_data_type
from ep.include.number_kind import FLOATS
from ep.include.shown import shown
from ep.ops.gradients.vjp import INEXACT

Place = int | str
"""An argument: its position, or its name."""


def value_and_grad(
    function: Callable[P, R],
    by: Place | Sequence[Place] | None = None,
    *,
    has_aux: bool = False,
    argnums: Place | Sequence[Place] | None = None,
) -> Fused[P, tuple[R, Any]]:
    """Return a fused function that returns the result of `function` and its gradients: `loss, (of_w, of_b) = ...`.

    function: as for `fuse`. It returns a loss: an array of one element, of a real floating type.
    by: the arguments of the gradients: a position, a name, or a sequence of these, for which a tuple of gradients is
    returned; the first argument by default. Such an argument is a floating or complex array or number, or a tuple, list
    or dict of these; its gradient has the same structure. argnums: another name of `by`. has_aux: whether the function
    returns a pair: its loss, and other values that have no influence on gradients. The pair is then returned in place
    of the loss.

    A gradient has the shape and dtype of its array; that of a Python number is of float64 or complex128, though the
    number takes the dtype of arrays that it is combined with. It is 0 if the loss does not depend on the array. For
    complex arrays it is the conjugate, as in PyTorch. When the returned function is called, it raises TypeError for
    other arguments and losses, and if the loss depends on an operator without a gradient; ValueError for a loss of
    another size.
    """
    by = _one_of(by, argnums)
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
        trace = next((one.trace for one in leaves_of((args, kwargs)) if isinstance(one, LazyArray)), None)
        aliased = [_aliased(values[one], _label(one, parameters), trace) for one in chosen]
        aliases = leaves_of(aliased)
        values.update(zip(chosen, aliased, strict=True))
        result = function(*[values[k] for k in range(len(args))], **{one: values[one] for one in kwargs})
        loss = _loss_of(result, name, has_aux, aliases)
        found = iter(gradients(loss, aliases))
        of_each = tuple(mapped(lambda _: next(found), one) for one in aliased)
        return _inlined((result, of_each if several else of_each[0]), aliases)

    return fuse(differentiated)


def grad(
    function: Callable[P, Any],
    by: Place | Sequence[Place] | None = None,
    *,
    has_aux: bool = False,
    argnums: Place | Sequence[Place] | None = None,
) -> Fused[P, Any]:
    """Return a fused function that returns the gradients of `function`, as `value_and_grad` does, without the loss.

    by, argnums: as of `value_and_grad`.
    has_aux: if True, it returns a pair: the gradients, and the other values that the function returns.
    """
    both = value_and_grad(function, by, has_aux=has_aux, argnums=argnums)

    @functools.wraps(function, updated=())
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        result, of_each = both(*args, **kwargs)
        return (of_each, result[1]) if has_aux else of_each

    return fuse(differentiated)


def _one_of(by: Any, argnums: Any) -> Any:
    """Return the places of the gradients' arguments; TypeError if they are given under both names."""
    if by is not None and argnums is not None:
        raise TypeError(f"by is {shown(by)} and argnums is {shown(argnums)}: they are two names of one parameter")
    given = argnums if by is None else by
    return 0 if given is None else given


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


def _aliased(value: Any, label: str, trace: Trace | None) -> Any:
    """Return the same structure with an alias for each array and number; TypeError for a leaf without a gradient.

    trace: that of other arrays, for numbers which are no arguments of the trace.
    """
    names: list[str] = []
    name_leaves(value, label, names)
    rest = iter(names)

    def alias(one: Any) -> Any:
        argument, array = next(rest), one
        if isinstance(one, Number) or (trace is not None and is_weak(one)):
            array = (one.operands if trace is None else trace).as_buffer(one, argument)
        if not isinstance(array, LazyArray):
            raise TypeError(f"{argument} is {shown(one)}; gradients are by arrays and numbers")
        if as_data_type(array.dtype) not in INEXACT:
            what = f"is the number {one.value}" if isinstance(one, Number) else f"has dtype {array.dtype}"
            raise TypeError(f"{argument} {what}; gradients are by floating and complex numbers")
        return array.trace.alias(array)

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
