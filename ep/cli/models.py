"""ONNX models on the command line: loading them, and options with the names of inputs and outputs."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from ep.cli import names
from ep.cli.parser import CommandError, Parser, WrongArgumentError, check_once
from ep.include.device_type import DeviceType
from ep.include.suggest import did_you_mean


def load(path: Path, device_type: DeviceType, otherwise: DeviceType | None = None) -> Any:
    """Return a model; CommandError for another file, for nodes without support, and without the package."""
    try:
        from ep import onnx
    except ModuleNotFoundError as error:
        raise CommandError(str(error)) from error
    try:
        return onnx.load(path, device_type, otherwise)
    except onnx.UnsupportedError as error:
        rest = f", and {len(error.reasons) - 1} more: ep onnx check {path}" if len(error.reasons) > 1 else ""
        raise CommandError(f"{path}: {error.reasons[0]}{rest}") from error
    except (onnx.ModelError, OSError) as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> CommandError:
    """Return the error for a file that is no model, or cannot be read: the path, and why."""
    why = str(getattr(error, "strerror", None) or error)
    return CommandError(f"{path}: {why.removeprefix(f'{path}: ')}")


def named(word: str) -> tuple[str, str]:
    """Return the two parts of NAME=VALUE."""
    name, sign, value = word.partition("=")
    if not (name and sign and value):
        raise ArgumentTypeError(f"{word!r} must be NAME=VALUE")
    return name, value


def shape(word: str) -> tuple[str, tuple[int, ...]]:
    """Return the name and the sizes of NAME=1,2048."""
    name, value = named(word)
    try:
        sizes = tuple(map(int, value.split(",")))
    except ValueError:
        sizes = (-1,)
    if min(sizes) < 0:
        raise ArgumentTypeError(f"{word!r} must be NAME=SIZES, with sizes such as 1,2048")
    return name, sizes


def add_shape(parser: Parser) -> None:
    """Add --shape."""
    parser.add_argument(
        "--shape", type=shape, action="append", default=[], metavar="NAME=SIZES", help="of an input of the model"
    )


def add_otherwise(parser: Parser, default: DeviceType | None = None) -> None:
    """Add --otherwise."""
    meaning = "computes what the first has no kernels for"
    parser.add_argument(
        "--otherwise",
        metavar="DEVICE",
        type=names.device_type,
        default=default,
        help=meaning if default is None else f"{meaning}; default: {default.tag}",
    )


def shapes_of(model: Any, given: list[tuple[str, tuple[int, ...]]]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a model's inputs; sizes that are free and not given are 1."""
    shapes = by_name("--shape", given, [one.name for one in model.inputs])
    for name, _, shape in model.inputs:
        shapes.setdefault(name, tuple(size if isinstance(size, int) else 1 for size in shape or ()))
    return shapes


def by_name(option: str, given: list[tuple[str, Any]], known: list[str]) -> dict[str, Any]:
    """Return values by name; WrongArgumentError for a name that the model lacks, and for one that is given twice."""
    found: dict[str, Any] = {}
    for name, value in given:
        if name not in known:
            hint = did_you_mean(name, known) or f"; it has {', '.join(known) or 'none'}"
            raise WrongArgumentError(f"{option}: the model has no {name!r}{hint}")
        found[name] = value
    check_once(option, (name for name, _ in given))
    return found
