"""Operators as data: their declarations, and the table of all of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, Final

import numpy as np

from ep.common.bounded_cache import BoundedCache
from ep.common.exact import Inexact, exact
from ep.common.lazy import lazy
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, Arrays
from ep.include.data_type import DataType, as_data_type
from ep.include.device_type import DeviceType
from ep.include.errors import DuplicateRegistrationError, UnsupportedPrimitiveError
from ep.include.number_kind import ALL
from ep.include.suggest import function_meant
from ep.ops.declare.gradient import Rule
from ep.ops.declare.inputs import Attribute, Input
from ep.ops.declare.type_rules import TypeRule
from ep.ops.kernels.conditions import Needs, Subject, fewest_lacking
from ep.ops.kernels.kernel import Kernel
from ep.ops.kernels.registry import Registration, choose, kernels_of, when_registered
from ep.ops.names import is_backward
from ep.run.plan import Plan
from ep.run.steps import Call, operands, results
from ep.sbp import Problem, SbpSignature, all_broadcast, follows_from

Attributes = Mapping[str, Any]
"""The attributes of an operator by name, resolved: axes count from the front, sizes are complete."""


class Chosen:
    """The data that depends on the kernels of an operator: a new object after each registration, never changed.

    asked_for: the attributes that the choice of a kernel depends on.
    calls: the stored calls of the operator's functions (`ep/ops/declare/calls.py`).
    """

    def __init__(self, registered: Sequence[Registration], rule: TypeRule) -> None:
        """registered: the kernels. rule: for the type of the results."""
        self.registered = registered
        self.asked_for = tuple(sorted(rule.attributes().union(*(one.matches.attributes() for one in registered))))
        self.kernels, self.results, self.calls = BoundedCache(), BoundedCache(), BoundedCache()


@dataclass(frozen=True, eq=False)
class Operator:
    """The declaration of one operator, independent of the device.

    name: that of its function in `ep.ops`.
    family: the file of `ep.ops` that declares it.
    resolve: (inputs, the function's other arguments) -> its attributes, complete; raises for arguments that do not fit.
        It reads only `shape` and `dtype` of the inputs.
    shape: (the inputs' shapes, resolved attributes) -> the shapes of the results.
    dtype: the rule for the type of the results.
    describe: makes the function's docstring, `meaning`.
    aliases: other names of the function.
    listed: the SBP signatures for a problem, except all-broadcast; None if there is no other.
    local: (problem, signature, rank) -> the attributes with which the rank works on its pieces; None if they are the
        logical ones. It accepts any signature: for one that is not listed, the result may be wrong.
    gradient: the rule for the gradients of the inputs; None if the operator has none.
    joins: what a kernel that computes it together with others has as the op of a step (`Step` of
        `ep/include/primitive/structure.py`), or the type of ops from which the attributes choose; Where for Where.
        None if no kernel does.
    standard: for each name of the array API standard that the operator implements, the differences from the standard.
    not_listed: the reason why rows that hold for all finite data are left out, for an operator that has such rows.
    takes_out: whether its functions have the parameter `out`.
    many: whether they return a list of results.
    """

    name: str
    family: str
    inputs: tuple[Input, ...]
    attributes: tuple[Attribute, ...]
    resolve: Callable[..., Attributes]
    shape: Callable[[Sequence[Dims], Attributes], Sequence[Dims]]
    dtype: TypeRule
    describe: Callable[[], str]
    aliases: tuple[str, ...] = ()
    listed: Callable[[Problem], Iterable[SbpSignature]] | None = None
    local: Callable[[Problem, SbpSignature, int], Attributes] | None = None
    not_listed: Callable[[Problem], str | None] | None = None
    gradient: Rule | None = None
    joins: Enum | type | None = None
    standard: Mapping[str, str] = field(default_factory=dict)
    takes_out: bool = True
    many: bool = False
    chosen: Chosen = field(init=False)
    """The data of the kernels that are registered now. A call reads it once, and uses that object to its end."""

    @lazy
    def meaning(self) -> str:
        """The docstring of the function."""
        return self.describe()

    @property
    def asked_for(self) -> tuple[str, ...]:
        """The attributes that the choice of a kernel depends on, among the kernels registered so far."""
        return self.chosen.asked_for

    def arguments(self, attributes: Attributes) -> tuple[list[Any], dict[str, Any]]:
        """Return the attributes, given by name, as arguments of its function: by position, and by name.

        A variadic attribute, such as that of expand, is a sequence; those before it are passed by position, too.
        """
        parameters = inspect.signature(self.resolve).parameters.values()
        many = {one.name for one in parameters if one.kind is one.VAR_POSITIONAL}
        rest = dict(attributes)
        args: list[Any] = []
        if not any(one.name in many for one in self.attributes):
            return args, rest
        for one in self.attributes:
            if one.name in many:
                return [*args, *rest.pop(one.name, ())], rest
            if one.name not in rest:
                raise TypeError(f"{self.name} needs {one.name}")
            args.append(rest.pop(one.name))
        return args, rest

    def meaning_of(self, name: str) -> str:
        """Return the docstring's text about an input or attribute, in one line; its name if there is none."""
        entry = re.search(rf"(?:^|\. )(?:\w+, )*{name}(?:, \w+)*: (.+(?:\n +.+)*)", self.meaning, re.MULTILINE)
        if entry is None:
            return name
        meaning = re.split(r"\. (?=\w+: )", " ".join(entry[1].split()).rstrip("."))[0]
        other = re.fullmatch(r"(?:as )?of `(\w+)`", meaning)
        return operator_named(other[1]).meaning_of(name) if other else meaning

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the inputs, in order."""
        return tuple(one.name for one in self.inputs)

    def compute(
        self, arrays: Arrays, inputs: Sequence[Array], attributes: Attributes, out: Array | None = None
    ) -> list[Array]:
        """Run the operator on buffers, with resolved attributes; return the results as `arrays` delivers them."""
        return self.prepare(arrays.device_type, inputs, attributes).compute(arrays, inputs, out)

    def prepare(self, device_type: DeviceType, inputs: Sequence[Array], attributes: Attributes) -> Plan:
        """Return the plan of all calls with inputs of these shapes and dtypes on a device, with these attributes.

        Only `shape` and `dtype` of the inputs are read. Raises UnsupportedPrimitiveError if no kernel matches,
        ValueError for shapes that do not fit.
        """
        dtypes = [one.dtype for one in inputs[: len(self.inputs)]]  # for a sequence of inputs, those of the first one
        shapes = [one.shape for one in inputs]
        kernel, dtype = self.kernel(device_type, dtypes, attributes)
        made = self.shape(shapes, attributes)
        launches, names = kernel.prepared(shapes, attributes)
        if not isinstance(launches, Plan):
            launches = Plan(Call(launches, operands(len(shapes)), results(len(made))))
        return launches.for_results(made, dtype, names)

    def results(
        self,
        device_type: DeviceType | None,
        shapes: Sequence[Dims],
        types: Sequence[DataType],
        attributes: Attributes,
        key: Hashable,
    ) -> tuple[Sequence[Dims], DataType]:
        """Return the shapes and the type of the results; they are computed once and stored.

        device_type: of the device that computes them; None without a device. key: that of the attributes.
        Raises UnsupportedPrimitiveError if the device has no kernel, ValueError for shapes that do not fit.
        """
        chosen = self.chosen
        call = device_type, key, *shapes, *types
        found: tuple[Sequence[Dims], DataType] | None = chosen.results.get(call)
        if found is None:
            types = types[: len(self.inputs)]  # for a sequence of inputs, those of the first one
            if device_type is not None:
                self.kernel(device_type, [one.dtype for one in types], attributes)
            data_type = self.dtype.result(dict(zip(self.input_names, types, strict=True)), attributes)
            found = [tuple(shape) for shape in self.shape(shapes, attributes)], data_type
            chosen.results.put(call, found)
        return found

    def key(self, attributes: Attributes) -> Hashable:
        """Return a key that identifies resolved attributes."""
        return tuple([_key(one) for one in attributes.values()])

    def asked(self, attributes: Attributes) -> Sequence[Hashable]:
        """Return the operator, and what the choice of its kernel depends on besides types."""
        return self, *(_key(attributes[name]) for name in self.chosen.asked_for)

    def kernel(
        self, device_type: DeviceType, dtypes: Sequence[np.dtype[Any]], attributes: Attributes
    ) -> tuple[Kernel, np.dtype[Any]]:
        """Return the kernel for inputs of `dtypes`, chosen on first use, and the dtype of its results.

        Raises UnsupportedPrimitiveError if no kernel matches, with the types that an input may have instead, or with
        the reason for each kernel if no other type helps.
        """
        chosen = self.chosen
        key = (device_type, *dtypes, *(_key(attributes[name]) for name in chosen.asked_for))
        found: tuple[Kernel, np.dtype[Any]] | None = chosen.kernels.get(key)
        if found is None:
            types = list(map(as_data_type, dtypes))
            subject = self._subject(chosen, device_type, types, attributes)
            try:
                made = choose(self.name, subject, chosen.registered).make(subject)
            except UnsupportedPrimitiveError as error:
                why = partial(self._why_unsupported, error.with_traceback(None), chosen, device_type, types, attributes)
                raise UnsupportedPrimitiveError(why) from None
            found = made, subject.data_types["out"].dtype
            chosen.kernels.put(key, found)
        return found

    def _why_unsupported(
        self,
        error: UnsupportedPrimitiveError,
        chosen: Chosen,
        device_type: DeviceType,
        types: Sequence[DataType],
        attributes: Attributes,
    ) -> str:
        """Return the message for inputs of types that no kernel has, in words of the operator if another type helps."""

        def is_supported(other: DataType, given: DataType) -> bool:
            with suppress(LookupError, TypeError, ValueError):  # no type of a result follows from these types
                changed = [other if one is given else one for one in types]
                subject = self._subject(chosen, device_type, changed, attributes)
                return any(one.matches.holds(subject) for one in chosen.registered)
            return False

        for given in dict.fromkeys(types):
            names = [name for name, one in zip(self.input_names, types, strict=True) if one is given]
            takes = [one.dtype.name for one in ALL if one is not given and is_supported(one, given)]
            if takes:
                have = f"{' and '.join(names)} {'has' if len(names) == 1 else 'have'} dtype {given.dtype}"
                listed = ", ".join(dict.fromkeys(takes))
                return f"{have}; {self.name} takes {listed} on {device_type.tag}; convert with astype, or ep.ops.cast"
        return str(error)

    def subject(self, device_type: DeviceType, types: Sequence[DataType], attributes: Attributes) -> Subject:
        """Return the subject that kernels are chosen for: inputs of `types` and the attributes that kernels ask for.

        A sequence of inputs counts as one.
        """
        return self._subject(self.chosen, device_type, types, attributes)

    def _subject(
        self, chosen: Chosen, device_type: DeviceType, types: Sequence[DataType], attributes: Attributes
    ) -> Subject:
        named = dict(zip(self.input_names, types, strict=True))
        named["out"] = self.dtype.result(named, attributes)
        return Subject(device_type, named, {name: attributes[name] for name in chosen.asked_for})

    def needs(self, device_type: DeviceType, types: Sequence[DataType], attributes: Attributes) -> Needs | None:
        """Return the primitives with which a device has a kernel for inputs of `types`; None if none helps.

        They are those of the kernel that is chosen, or of the one that lacks the fewest.
        """
        subject = self.subject(device_type, types[: len(self.inputs)], attributes)
        return fewest_lacking(one.matches.needs(subject) for one in self.chosen.registered)

    def problem(self, inputs: Sequence[Array], attributes: Attributes, ranks: int) -> Problem:
        """Return the problem of whole inputs, whose `shape` and `dtype` are read, along one axis of a mesh."""
        types = [as_data_type(one.dtype) for one in inputs]
        shapes = [tuple(one.shape) for one in inputs]
        named = dict(zip(self.input_names, types, strict=False))
        result = self.dtype.result(named, attributes)
        return Problem(shapes, types, list(self.shape(shapes, attributes)), result, attributes, ranks)

    def signatures(self, problem: Problem) -> list[SbpSignature]:
        """Return the signatures along one axis of a mesh: all that hold for all finite data, each once."""
        return list(dict.fromkeys([*(self.listed(problem) if self.listed else ()), all_broadcast(problem)]))

    def why_left_out(self, problem: Problem, signature: SbpSignature) -> str | None:
        """Return why a signature that holds is not listed; None if it is, or does not hold for all finite data."""
        listed = self.signatures(problem)
        if signature in listed:
            return None
        other = follows_from(signature, listed)
        if other is not None:
            return f"it follows from {other}: B is PMax and PMin as it is"
        return self.not_listed(problem) if self.not_listed else None

    def local_attributes(self, problem: Problem, signature: SbpSignature, rank: int) -> Attributes:
        """Return the attributes with which a rank works on its pieces."""
        return problem.attributes if self.local is None else self.local(problem, signature, rank)

    def forget(self) -> None:
        """Discard the choice of kernels. A call that has begun continues with the previous choice."""
        object.__setattr__(self, "chosen", Chosen(kernels_of(self.name), self.dtype))  # the class is frozen


def _key(value: Any) -> Any:
    """Return the exact key of an attribute, or the attribute itself if it has none."""
    try:
        return exact(value)
    except Inexact:
        return value


_OPERATORS: Final[dict[str, Operator]] = {}


def add_operator(operator: Operator) -> Operator:
    """Add an operator to the table; DuplicateRegistrationError if its name is taken."""
    if operator.name in _OPERATORS:
        raise DuplicateRegistrationError(
            f"there is an operator {operator.name!r} in {_OPERATORS[operator.name].family}"
        )
    _OPERATORS[operator.name] = operator
    when_registered(operator.name, operator.forget)
    return operator


def operators() -> list[Operator]:
    """Return all operators, by family and name; those of `is_backward` are last."""
    return sorted(_OPERATORS.values(), key=lambda one: (is_backward(one.name), one.family, one.name))


def operator_named(name: str) -> Operator:
    """Return the operator of a name or alias; ValueError, with the nearest name, if there is none."""
    found = _OPERATORS.get(name)
    if found is None:
        found = next((one for one in _OPERATORS.values() if name in one.aliases), None)
    if found is None:
        raise ValueError(f"there is no operator {name!r}{function_meant(name, _OPERATORS)}")
    return found
