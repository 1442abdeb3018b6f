"""The operators of `ep run`: their options, made from their declarations, and the requested call."""

from __future__ import annotations

import ast
import re
from argparse import SUPPRESS, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import numpy as np

from ep.cli import names, npy
from ep.cli.parser import Parser


class Computation(NamedTuple):
    """The requested computation.

    operator: its declaration.
    inputs: arrays and numbers; for a sequence of arrays, its items. attributes: those that were given, by name.
    rehearsals: inputs and attributes of one element each, which compile the kernels that the real ones need.
    """

    operator: Any
    inputs: Sequence[Any]
    attributes: Mapping[str, Any]
    rehearsals: Sequence[tuple[Sequence[Any], Mapping[str, Any]]]

    def call(self, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
        """Call the operator's function."""
        from ep import ops
        from ep.ops.declare.inputs import Role

        args, kwargs = self.operator.arguments(attributes)
        function = getattr(ops, self.operator.name)
        if self.operator.inputs[0].role is Role.TENSORS:
            return function(list(inputs), *args, **kwargs)
        if args:
            return function(*inputs, *args, **kwargs)
        return function(**dict(zip(self.operator.input_names, inputs, strict=True)), **kwargs)


def add_commands(commands: Any) -> Iterator[Parser]:
    """Add each operator as a command with an option for each input and attribute; yield the commands."""
    import ep.ops  # noqa: F401, which declares them
    from ep.ops.declare.operator import operators

    for operator in operators():
        summary = operator.meaning.partition("\n\n")[0].replace("%", "%%")
        command = commands.add_parser(operator.name, aliases=operator.aliases, description=summary)
        for one in operator.inputs:
            _add_input(command, operator, one)
        for attribute in operator.attributes:
            _add_attribute(command, operator, attribute)
        command.set_defaults(declared=operator)
        yield command


def computation(arguments: Namespace) -> Computation:
    """Return the requested computation; CommandError for files that cannot be read."""
    from ep.ops.declare.inputs import Role

    operator = arguments.declared
    inputs: list[Any] = []
    for one in operator.inputs:
        given = getattr(arguments, one.name)
        data_type = None if one.role in (Role.INDICES, Role.CONDITION) else arguments.read_as
        for text in given if one.role is Role.TENSORS else [given]:
            number = _number_in(text) if one.role is Role.OPERAND else None
            inputs.append(npy.read(text, data_type) if number is None else number)
    attributes = {one.name: getattr(arguments, one.name) for one in operator.attributes if one.name in arguments}
    small = {name: _tiny_value(name, value) for name, value in attributes.items()}
    indices = [position for position, one in enumerate(operator.inputs) if one.role is Role.INDICES]
    # a negative index may be read as another type
    rehearsals = [(_tinies(inputs, dict.fromkeys(indices, index)), small) for index in ((0, -1) if indices else (0,))]
    return Computation(operator, inputs, attributes, rehearsals)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _add_input(command: Parser, operator: Any, one: Any) -> None:
    from ep.ops.declare.inputs import Role

    file = f"{one.name[0].upper()}.npy"
    options: dict[str, Any] = {"nargs": "+", "action": "extend"} if one.role is Role.TENSORS else {}
    number = ", or a number" if one.role is Role.OPERAND else ""
    meaning = operator.meaning_of(one.name).replace("%", "%%") + number
    command.add_argument(_option(one.name), dest=one.name, metavar=file, required=True, help=meaning, **options)


def _add_attribute(command: Parser, operator: Any, one: Any) -> None:
    meaning = operator.meaning_of(one.name).replace("%", "%%")
    options: dict[str, Any] = {"dest": one.name, "default": SUPPRESS, "help": meaning}
    if one.type == "bool":
        command.add_argument(_option(one.name), action="store_true", **options)
        return
    reader, metavar = _READERS.get(one.name) or _READERS.get(one.type) or _READERS["Any"]
    if not one.is_required and one.default is not None:
        options["help"] += f" (default: {one.default})"
    command.add_argument(_option(one.name), type=reader, metavar=metavar, required=one.is_required, **options)


def _integer(given: str) -> int:
    found = _literal(given)
    if not isinstance(found, int):
        raise ArgumentTypeError(f"{given!r} must be an integer")
    return found


def _number(given: str) -> complex:
    found = _literal(given)
    if isinstance(found, tuple):
        raise ArgumentTypeError(f"{given!r} must be a number")
    return found  # type: ignore[no-any-return]


def _literal(given: str) -> Any:
    """Return a number, or numbers separated by commas; in parentheses they may be nested."""
    try:
        found = ast.literal_eval(given)
    except (ValueError, SyntaxError):
        found = _number_in(given)  # inf and nan
    if not _is_of_numbers(found):
        raise ArgumentTypeError(f"{given!r} must be numbers with commas between, such as -1,3,5")
    return found


def _is_of_numbers(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_of_numbers, value))
    return isinstance(value, int | float | complex) and not isinstance(value, bool)


def _slices(given: str) -> tuple[Any, ...]:
    parts = given.split(",")
    if not all(re.fullmatch(r"(-?\d+)?:(-?\d+)?(:-?\d+)?|\.\.\.", part) for part in parts):
        raise ArgumentTypeError(f"{given!r} must be slices with commas between, such as 1:5,::2 or ...,1:5")
    return tuple(... if part == "..." else _slice(part) for part in parts)


def _slice(part: str) -> slice:
    return slice(*(int(number) if number else None for number in part.split(":")))


def _sequence(given: str) -> Any:
    found = _literal(given)
    return found if isinstance(found, tuple | list) else (found,)


_READERS: Final[Mapping[str, tuple[Any, str]]] = {
    "slices": (_slices, "A:B,..."),
    "sizes": (_sequence, "N,N,..."),
    "shape": (_sequence, "N,N,..."),
    "int": (_integer, "N"),
    "int | None": (_integer, "N"),
    "int | tuple[int, ...] | None": (_literal, "N,N,..."),
    "Iterable[int]": (_sequence, "N,N,..."),
    "float": (_number, "X"),
    "complex": (_number, "X"),
    "IndexMode": (str, "WORD"),
    "DTypeLike": (names.data_type, "TYPE"),
    "DTypeLike | None": (names.data_type, "TYPE"),
    "Any": (_literal, "N,N,..."),
}
"""The function that reads an attribute, and its placeholder in help: by the attribute's name, or by its type."""


def _number_in(given: str) -> float | None:
    for number in (int, float):
        with suppress(ValueError):
            return number(given)
    return None


def _tinies(inputs: Sequence[Any], values: Mapping[int, int]) -> list[Any]:
    """Return one element of each array, with the same number of axes; numbers as they are."""
    return [
        np.full((1,) * one.ndim, values.get(position, 0), one.dtype) if isinstance(one, np.ndarray) else one
        for position, one in enumerate(inputs)
    ]


def _tiny_value(name: str, value: Any) -> Any:
    """Return an attribute that fits arrays of one element."""
    if name in ("sizes", "shape"):
        return (1,) * len(value)
    if name == "pad_width":
        return np.clip(value, 0, 1).tolist()
    return 1 if name in ("num_classes", "num_segments", "indices_or_sections") else value
