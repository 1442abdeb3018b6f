"""The functions of operators: the form of a declaration, and the steps of a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, Final, TypeAlias

from ep.common.arrays.operators import FUNCTIONS as FUNCTIONS
from ep.common.checks import are_several
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, ArrayLike, Operands
from ep.ops.declare.calls import Function, Read, calling
from ep.ops.declare.gradient import Rule
from ep.ops.declare.inputs import Attribute, Input, Role
from ep.ops.declare.operator import Attributes, Operator, add_operator
from ep.ops.declare.type_rules import TypeRule
from ep.ops.devices import arrays_of
from ep.ops.indices import as_indices
from ep.ops.operands import as_operands
from ep.sbp import Problem, SbpSignature

Tensor: TypeAlias = Any
"""The annotation of an input of a declaration; `Role` describes the kinds."""
Indices: TypeAlias = Any
Condition: TypeAlias = Any
Operand: TypeAlias = Any
Tensors: TypeAlias = Sequence[Any]

_signature_of: Final = cache(inspect.signature)
"""The signature of a declaration's function, which is needed several times."""

_ROLES: Final = {role.value.capitalize(): role for role in Role}


def operator(
    *,
    shape: Callable[[Sequence[Dims], Attributes], Sequence[Dims]],
    dtype: TypeRule,
    aliases: Sequence[str] = (),
    signatures: Callable[[Problem], Iterable[SbpSignature]] | None = None,
    local: Callable[[Problem, SbpSignature, int], Attributes] | None = None,
    gradient: Rule | None = None,
    joins: Enum | type | None = None,
    standard: Mapping[str, str] | None = None,
    takes_out: bool = True,
    many: bool = False,
) -> Callable[[Callable[..., Attributes]], Function]:
    """Declare an operator by the function that resolves its attributes; the name becomes its function in `ep.ops`.

    The decorated function has the parameters of the operator: inputs, annotated `Tensor`, `Indices`, `Operand` or
    `Tensors`, then attributes. Its docstring becomes that of the operator. It is called with buffers for inputs.

    signatures: `listed` of Operator. The others: as in Operator.
    """

    def declare(resolve: Callable[..., Attributes]) -> Function:
        inputs, attributes = _parameters(resolve)
        declared = add_operator(
            Operator(
                *(resolve.__name__, resolve.__module__.rpartition(".")[2], inputs, attributes, resolve, shape, dtype),
                *(lambda: inspect.getdoc(resolve) or "", tuple(aliases), signatures, local),
                gradient=gradient,
                joins=joins,
                standard=standard or {},
                takes_out=takes_out,
                many=many,
            )
        )
        return function_of(declared)(resolve)

    return declare


InputReader: TypeAlias = Callable[[Sequence[ArrayLike], tuple[str, ...]], tuple[Operands, Sequence[Array], Any]]
"""The function (inputs as given, their names) -> the Operands, all buffers, and the inputs for `resolve`."""


def function_of(
    declared: Operator, read_inputs: InputReader | None = None
) -> Callable[[Callable[..., Attributes]], Function]:
    """Add a function to an operator, under the decorated name, which resolves attributes in another way.

    read_inputs: reads them; it may refuse inputs that the operator takes.
    """

    def add(resolve: Callable[..., Attributes]) -> Function:
        function = made_function(declared, resolve, read_inputs)
        for name in (resolve.__name__, *(declared.aliases if resolve is declared.resolve else ())):
            FUNCTIONS[name] = function
        return function

    return add


def made_function(
    declared: Operator, resolve: Callable[..., Attributes], read_inputs: InputReader | None = None
) -> Function:
    """Return a function of an operator, without adding it to `ep.ops`."""
    inputs, _ = _parameters(resolve)
    names = tuple(one.name for one in inputs)
    reader, takes_out = read_inputs or _reader(inputs), declared.takes_out

    def read(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Read:
        out = kwargs.get("out") if takes_out else None
        if takes_out and "out" in kwargs:
            kwargs = {name: value for name, value in kwargs.items() if name != "out"}
        if len(args) < len(names):
            args, kwargs = _in_order(resolve, names, args, kwargs)
        arrays, buffers, given = reader(args[: len(names)], names)
        return Read(arrays, buffers, resolve(*given, *args[len(names) :], **kwargs), out)

    function = calling(declared, resolve.__name__, inputs, read)
    _describe(function, resolve, takes_out=takes_out, many=declared.many)
    return function


def _parameters(resolve: Callable[..., Attributes]) -> tuple[tuple[Input, ...], tuple[Attribute, ...]]:
    """Return the inputs and the attributes, from the parameters of a declaration's function."""
    inputs, attributes = [], []
    for parameter in _signature_of(resolve).parameters.values():
        role = _ROLES.get(parameter.annotation)
        if role is None:
            attributes.append(Attribute(parameter.name, str(parameter.annotation), parameter.default))
        else:
            inputs.append(Input(parameter.name, role))
    return tuple(inputs), tuple(attributes)


def _in_order(
    resolve: Callable[..., Attributes], names: Sequence[str], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments with all inputs in front; TypeError, which names the function, if one is missing."""
    rest = dict(kwargs)
    if missing := [name for name in names[len(args) :] if name not in rest]:
        raise TypeError(f"{resolve.__name__}() needs {' and '.join(missing)}")
    return (*args, *(rest.pop(name) for name in names[len(args) :])), rest


def _reader(inputs: Sequence[Input]) -> InputReader:
    """Return the function that reads inputs by their roles."""
    roles = [one.role for one in inputs]
    if roles == [Role.TENSORS]:
        return _read_sequence
    first = roles.index(Role.OPERAND) if Role.OPERAND in roles else len(roles)
    readers = [_READERS.get(role, _read_tensor) for role in roles[:first]]

    def read(values: Sequence[ArrayLike], names: Sequence[str]) -> tuple[Operands, list[Array], Any]:
        arrays = arrays_of(values, names)
        buffers = [one(arrays, value, name) for one, value, name in zip(readers, values, names, strict=False)]
        if first < len(roles):
            x, y = values[first:]
            buffers += as_operands(arrays, x, y, tuple(names[first:]))
        return arrays, buffers, buffers

    return read


def _read_tensor(arrays: Operands, value: ArrayLike, name: str) -> Array:
    return arrays.as_buffer(value, name)


def _read_condition(arrays: Operands, value: ArrayLike, name: str) -> Array:
    buffer = arrays.as_buffer(value, name)
    if buffer.dtype.kind not in "biu":
        raise TypeError(f"{name} has dtype {buffer.dtype}; it must be bool or an integer type")
    return buffer


_READERS: Final = {Role.INDICES: as_indices, Role.CONDITION: _read_condition}


class _Labels(Sequence[str]):
    """The names of the items of a sequence in errors, made on request."""

    def __init__(self, name: str, length: int) -> None:
        self._name, self._length = name, length

    def __getitem__(self, position: Any) -> Any:
        if not 0 <= position < self._length:
            raise IndexError(position)
        return f"{self._name}[{position}]"

    def __len__(self) -> int:
        return self._length


def _read_sequence(values: Sequence[ArrayLike], names: Sequence[str]) -> tuple[Operands, list[Array], Any]:
    """Read the one input that is a sequence of arrays."""
    (sequence,), (name,) = values, names
    if not are_several(sequence):
        raise TypeError(f"{name} must be a sequence of arrays, not {type(sequence).__qualname__}")
    given = list(sequence)
    if not given:
        raise ValueError(f"{name} is empty; there must be one at least")
    arrays = arrays_of(given, _Labels(name, len(given)))
    buffers = arrays.as_buffers(given, name)
    dtypes = [buffer.dtype for buffer in buffers]
    if dtypes.count(dtypes[0]) < len(dtypes):
        position, other = next(each for each in enumerate(dtypes) if each[1] != dtypes[0])
        raise TypeError(f"{name}[{position}] has dtype {other}, {name}[0] has {dtypes[0]}; convert one of them")
    return arrays, buffers, [buffers]


_SHOWN: Final = {"Tensors": "Sequence[ArrayLike]"}


def _describe(function: Any, resolve: Any, *, takes_out: bool, many: bool) -> None:
    """Give a function the name, the signature and the docstring of its declaration."""
    signature = _signature_of(resolve)
    parameters = [
        parameter.replace(annotation=_SHOWN.get(parameter.annotation, "ArrayLike"))
        if parameter.annotation in _ROLES
        else parameter
        for parameter in signature.parameters.values()
    ]
    if takes_out:
        out = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Array | None")
        parameters.append(out)
    function.__signature__ = signature.replace(
        parameters=parameters, return_annotation="list[Array]" if many else "Array"
    )
    function.__name__ = function.__qualname__ = resolve.__name__
    function.__module__, function.__doc__ = resolve.__module__, resolve.__doc__
