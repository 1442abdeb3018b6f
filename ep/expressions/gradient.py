"""grad and value_and_grad: functions with their gradients, which are traced and computed together."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ep.common.arrays.checks import is_weak
from ep.common.checks import as_truth
from ep.expressions.array import LazyArray
from ep.expressions.forms import leaves_of, mapped, name_leaves
from ep.expressions.fused import Fused, P, R, parameter_names
from ep.expressions.number import Number
from ep.expressions.reverse import gradients, inlined
from ep.expressions.trace import Trace
from ep.include.data_type import as_data_type
from ep.include.device_type import DeviceType
from ep.include.number_kind import FLOATS
from ep.include.primitive.op_definition import INEXACT
from ep.include.shown import shown

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
    returned; the first argument by default. A negative position counts back from the last positional argument. Such an
    argument is a floating or complex array or number, or a tuple, list or dict of these; its gradient has the same
    structure. argnums: another name of `by`. has_aux: whether the function
    returns a pair: its loss, and other arrays that have no influence on gradients. The pair is then returned in place
    of the loss.

    A gradient has the shape and dtype of its array; that of a Python number is of float64 or complex128, though the
    number takes the dtype of arrays that it is combined with. It is 0 if the loss does not depend on the array. For
    complex arrays it is the conjugate, as in PyTorch. When the returned function is called, it raises TypeError for
    other arguments and losses, and if the loss depends on an operator without a gradient; ValueError for a loss of
    another size.
    """
    return _Gradients(_Differentiated(function, by, argnums, has_aux, True))


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
    return _Gradients(_Differentiated(function, by, argnums, has_aux, False))


class _Differentiated:
    """What is traced for a function and its gradients. It is pickled as the function in it."""

    def __init__(self, function: Callable[..., Any], by: Any, argnums: Any, has_aux: bool, gives_loss: bool) -> None:
        """gives_loss: whether the result has the loss, too."""
        if not callable(function):
            raise TypeError(f"function must be callable, not {shown(function)}")
        if by is not None and argnums is not None:
            raise TypeError(f"by is {shown(by)} and argnums is {shown(argnums)}: they are two names of one parameter")
        self.function, self.has_aux, self.gives_loss = function, as_truth(has_aux, "has_aux"), gives_loss
        self.option, given = ("by", by) if argnums is None else ("argnums", argnums)
        self.is_given = given is not None
        given = given if self.is_given else 0
        self.places = _places(given, self.option)
        self.several = isinstance(given, Sequence) and not isinstance(given, str)
        self.parameters = parameter_names(function)
        functools.update_wrapper(self, function, updated=())
        self.name = getattr(function, "__name__", "the function")
        self._made_of = function, by, argnums, has_aux, gives_loss

    def __reduce__(self) -> tuple[Any, ...]:
        return _Differentiated, self._made_of

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values: dict[Place, Any] = dict(enumerate(args))
        values.update(kwargs)
        chosen = [self._chosen(one, values, len(args)) for one in self.places]
        if len(set(chosen)) < len(chosen):
            raise ValueError(f"{self.option} is {self._given()}, which is one argument of {self.name} twice")
        trace = next((one.trace for one in leaves_of((args, kwargs)) if isinstance(one, LazyArray)), None)
        aliased = [_aliased(values[one], self._label(one), trace) for one in chosen]
        aliases = leaves_of(aliased)
        if not aliases:
            raise ValueError(f"{self._label(chosen[0])} has no arrays; gradients are by arrays and numbers")
        values.update(zip(chosen, aliased, strict=True))
        result = self.function(*[values[k] for k in range(len(args))], **{one: values[one] for one in kwargs})
        loss = _loss_of(result, self.name, self.has_aux, aliases[0].trace)
        found = iter(gradients(loss, aliases))
        of_each: Any = tuple(mapped(lambda _: next(found), one) for one in aliased)
        made = [of_each if self.several else of_each[0]]
        if self.has_aux:
            made = [(loss, result[1]), *made] if self.gives_loss else [*made, result[1]]
        elif self.gives_loss:
            made = [loss, *made]
        inlined_ones = _inlined(tuple(made), aliases)
        return inlined_ones if len(made) > 1 else inlined_ones[0]

    def _given(self) -> str:
        return shown(tuple(self.places) if self.several else self.places[0])

    def _chosen(self, place: Place, values: Mapping[Place, Any], num_positional: int) -> Place:
        """Return the key of an argument in `values`: its position, or its name if it was passed by name."""
        parameters = self.parameters
        other: Any = place
        if isinstance(place, int) and place < 0:
            other = num_positional + place
        elif place not in values:
            if isinstance(place, str):
                other = parameters.index(place) if place in parameters else None
            else:
                other = parameters[place] if place < len(parameters) else None
        if other not in values:
            which = f"{self.option} is {place!r}, an" if self.is_given else "gradients are by the first"
            raise TypeError(f"{which} argument that {self.name} was called without")
        return other  # type: ignore[no-any-return]

    def _label(self, place: Place) -> str:
        """Return the name of an argument in errors."""
        if isinstance(place, str):
            return place
        return self.parameters[place] if place < len(self.parameters) else f"argument {place}"


class _Gradients(Fused[P, R]):
    """The function that `grad` and `value_and_grad` return."""

    def __init__(
        self, function: _Differentiated, round_each: bool = False, otherwise: DeviceType | None = None
    ) -> None:
        super().__init__(function, round_each, otherwise)
        self._made_by = "ep.value_and_grad" if function.gives_loss else "ep.grad"
        if function.has_aux:
            self._wanted = "with has_aux, the values beside its loss must be arrays of its trace, or None"


def _places(given: Any, option: str) -> list[Place]:
    """Return `by` or `argnums` as a list; TypeError for anything but positions and names, ValueError if it is empty."""
    places = [*given] if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    for k, one in enumerate(places):
        try:
            places[k] = one if isinstance(one, str) else operator.index(one)
        except TypeError:
            places[k] = False
        if isinstance(one, bool) or places[k] is False:
            raise TypeError(
                f"{option} must be the position or the name of an argument, or a tuple of them, not {shown(given)}"
            )
    if not places:
        raise ValueError(f"{option} is empty; there must be an argument at least")
    return places


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


def _loss_of(result: Any, name: str, has_aux: bool, trace: Trace) -> LazyArray:
    """Return the loss that a function returned; raises an error if it is not a loss."""
    if has_aux and not (isinstance(result, tuple) and len(result) == 2):
        raise TypeError(f"{name} returns {shown(result)}; with has_aux, it must return a pair: the loss and the rest")
    loss = result[0] if has_aux else result
    if isinstance(loss, Number) or is_weak(loss):  # it does not depend on the arguments of the gradients
        loss = trace.as_buffer(loss, f"the loss of {name}")
    if not isinstance(loss, LazyArray):
        what = "a tuple" if isinstance(loss, tuple) else shown(loss)
        raise TypeError(f"{name} returns {what}; its loss must be an array of one element (see has_aux)")
    if as_data_type(loss.dtype) not in FLOATS:
        raise TypeError(f"{name} returns a loss of dtype {loss.dtype}; it must be of a floating type")
    if loss.size != 1:
        raise ValueError(f"{name} returns a loss of shape {loss.shape}; it must have one element: take its sum or mean")
    checked: LazyArray = trace.as_buffer(loss, f"the loss of {name}")
    return checked


def _inlined(value: Any, aliases: Sequence[LazyArray]) -> Any:
    """Return the same value, computed from the arrays that the aliases stand for."""
    lazies = [one for one in leaves_of(value) if isinstance(one, LazyArray)]
    rest = iter(inlined(lazies, aliases))
    return mapped(lambda one: next(rest) if isinstance(one, LazyArray) else one, value)
