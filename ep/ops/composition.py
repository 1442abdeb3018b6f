"""Functions that other operators compute together: how they read their operands, and what their errors say."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from types import MappingProxyType
from typing import Any

import numpy as np

from ep.common.primitive.broadcast import broadcast_dims
from ep.include.arrays import Array, ArrayLike, Operands
from ep.include.data_type import DataType, as_data_type
from ep.include.errors import UnsupportedPrimitiveError
from ep.include.number_kind import ALL
from ep.ops.declare.calls import Function
from ep.ops.declare.function import FUNCTIONS
from ep.ops.devices import arrays_of, as_array
from ep.ops.indices import as_indices
from ep.ops.operands import as_operands, is_number

_OPTIONAL = "ArrayLike | None"
_OPERANDS = "ArrayLike", _OPTIONAL
_INDICES = "Indices"
_MADE_OF = " is made of other operators: "


def composition(
    takes: Sequence[DataType] = ALL,
    *,
    elementwise: bool = False,
    reads: bool = True,
    alike: bool = True,
    also: Mapping[str, Sequence[DataType]] = MappingProxyType({}),
) -> Callable[[Function], Function]:
    """Add a function that calls other operators to `ep.ops`: a decorator, which returns the function.

    The operands are the parameters annotated `ArrayLike`, or `ArrayLike | None` for one that may be None. The
    decorated function gets them as arrays of one dtype on one device, in a form that functions of `ep.ops` take. One
    annotated `Indices` has an integer type of its own. So no operator inside of it finds an operand that it refuses,
    and errors are in words of the function.

    takes: the types of the operands. elementwise: whether the operands broadcast, and a number stays one. alike: False
        if the operands may have different dtypes. also: more types of some of these operands.
    reads: False for a function of few operators that passes on its operands as they are given, which takes less time:
        they are read in words of the function if an operator refuses them.

    The function has no kernel and no plan: where its operands are recorded, the operators that it calls are.
    """
    dtypes = {one.dtype for one in takes}

    def add(function: Function) -> Function:
        signature = inspect.signature(function)
        parameters = signature.parameters
        names = tuple(name for name, one in parameters.items() if one.annotation in (*_OPERANDS, _INDICES))
        optional = {name for name in names if parameters[name].annotation == _OPTIONAL}
        indices = {name for name in names if parameters[name].annotation == _INDICES}
        name = function.__name__

        def read(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
            """Return the arguments of a call with operands that are read."""
            given = {one: value for one, value in zip(parameters, args, strict=False) if one in names}
            given |= {one: kwargs[one] for one in names if one in kwargs}
            given = {one: value for one, value in given.items() if value is not None or one not in optional}
            found = _read(name, given, indices, takes, elementwise, None if alike else also) if given else {}
            known = [found.get(one, value) for one, value in zip(parameters, args, strict=False)]
            return (*known, *args[len(parameters) :]), {one: found.get(one, value) for one, value in kwargs.items()}

        positions = [(k, one in indices) for k, one in enumerate(parameters) if one in names]

        def are_plain(args: tuple[Any, ...]) -> bool:
            """Return whether all operands are in the form that functions of `ep.ops` take: in most calls they are."""
            first: Any = None
            for position, is_index in positions:
                value = args[position] if position < len(args) else None
                if type(value) is not np.ndarray or not value.flags.c_contiguous:
                    return False
                if is_index:
                    if value.dtype.kind not in "iu":
                        return False
                elif first is None:
                    first = value.dtype
                    if first not in dtypes:
                        return False
                elif value.dtype is not first or elementwise:
                    return False
            return bool(positions)

        @wraps(function)
        def composed(*args: Any, **kwargs: Any) -> Any:
            if reads and not are_plain(args):
                args, kwargs = read(args, kwargs)
            try:
                return function(*args, **kwargs)
            except UnsupportedPrimitiveError as error:  # an operand of another type, or a device that lacks a kernel
                if not reads:
                    read(args, kwargs)
                inner = str(error).rpartition(_MADE_OF)[2]  # of a function that this one calls
                raise UnsupportedPrimitiveError(f"{name}{_MADE_OF}{inner}") from None
            except (TypeError, ValueError):
                if not reads:
                    read(args, kwargs)
                raise

        if indices:
            shown = [one.replace(annotation="ArrayLike") if one.name in indices else one for one in parameters.values()]
            composed.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
        FUNCTIONS[name] = composed if names else function
        return FUNCTIONS[name]

    return add


def _read(
    name: str,
    given: Mapping[str, ArrayLike],
    indices: Collection[str],
    takes: Sequence[DataType],
    elementwise: bool,
    also: Mapping[str, Sequence[DataType]] | None,
) -> Mapping[str, Array]:
    """Return operands as arrays; raises the errors of a call of the function `name`.

    indices: the names of those with an integer type of their own. also: more types of operands that may have different
    dtypes; None for operands of one dtype.
    """
    arrays = arrays_of([*given.values()], [*given])
    integers = {one: as_indices(arrays, given[one], one) for one in given if one in indices}
    if integers:
        given = {one: value for one, value in given.items() if one not in integers}
        if not given:  # the call lacks an operand, which the function's signature reports
            return integers
    if also is not None:
        types = {one: (*takes, *also.get(one, ())) for one in given}
        return integers | {one: _read_one(name, arrays, value, one, types[one]) for one, value in given.items()}
    first = next((one for one, value in given.items() if not is_number(value)), next(iter(given)))
    read = dict(given)
    for one in given:
        if one != first:
            read[first], read[one] = as_operands(arrays, read[first], read[one], (first, one))
    if len(given) == 1:
        read[first] = arrays.as_buffer(read[first], first)
    _check_type(name, read[first], [one for one in given if one == first or not is_number(given[one])], takes)
    if elementwise:
        broadcast_dims(*(tuple(one.shape) for one in read.values()), names=[*read])
    return {
        one: value if elementwise and is_number(given.get(one)) else as_array(arrays, value, one)
        for one, value in (read | integers).items()
    }


def _read_one(name: str, arrays: Operands, value: ArrayLike, argument: str, takes: Sequence[DataType]) -> Array:
    """Return an operand as an array, of any dtype that the function takes."""
    read = arrays.as_buffer(value, argument)
    _check_type(name, read, [argument], takes)
    return as_array(arrays, read, argument)


def _check_type(name: str, read: Array, arguments: Sequence[str], takes: Sequence[DataType]) -> None:
    """Raise UnsupportedPrimitiveError if the function does not take the dtype of some of its arguments."""
    data_type = as_data_type(read.dtype)
    if data_type not in takes:
        have = f"{' and '.join(arguments)} {'has' if len(arguments) == 1 else 'have'} dtype {data_type.dtype}"
        listed = ", ".join(dict.fromkeys(one.dtype.name for one in takes))
        raise UnsupportedPrimitiveError(f"{have}; {name} takes {listed}; convert with astype, or ep.ops.cast")
