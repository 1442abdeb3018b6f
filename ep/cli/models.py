"""ONNX models on the command line: loading them, and options with the names of inputs and outputs."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from ep.cli.parser import CommandError, WrongArgumentError, check_once
from ep.include.device_type import DeviceType
from ep.include.suggest import did_you_mean


def load(path: Path, device_type: DeviceType) -> Any:
    """Return a model; CommandError for another file, for nodes without support, and without the package."""
    try:
        from ep import onnx
    except ModuleNotFoundError as error:
        raise CommandError(str(error)) from error
    try:
        return onnx.load(path, device_type)
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
