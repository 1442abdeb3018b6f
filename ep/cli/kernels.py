"""Show the kernels of an operator on one device: which one is chosen, and why, for each part of each condition.

  ep kernels gather --device cuda --dtype float16
  ep kernels gather --dtype params=float16 --dtype indices=uint8 --attribute batch_dims=1
  ep kernels cast --dtype float32 --attribute dtype=int8

A kernel is chosen by the device, by data types and by the attributes that conditions name. The exit code is 1 if none
matches.
"""

from __future__ import annotations

import ast
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from ep.cli import names, output
from ep.cli.parser import CommandError, Parser, WrongArgumentError, check_once
from ep.include.data_type import DataType
from ep.include.device_type import DeviceType
from ep.include.errors import DuplicateRegistrationError, UnsupportedPrimitiveError


def add_arguments(parser: Parser) -> None:
    """Add the arguments of `ep kernels`."""
    parser.add_argument("operator", type=names.operator, help="such as gather; 'ep ops' has all")
    parser.add_argument("--device", type=names.device_type, default=DeviceType.kCPU, help="default: cpu")
    meaning = "of all inputs but indices (int64) and conditions (bool), or of one of them; default: float32"
    parser.add_argument("--dtype", metavar="[INPUT=]TYPE", action="append", default=[], help=meaning)
    parser.add_argument(
        "--attribute", metavar="NAME=VALUE", action="append", default=[], help="another than the default"
    )
    output.add_format(parser, "table", "json")


def run(arguments: Namespace) -> int:
    """Print each candidate, the one with the highest priority first."""
    from ep.ops.kernels import kernels_of
    from ep.ops.kernels.registry import choose

    operator = arguments.operator
    types, attributes = _types(operator, arguments.dtype), _attributes(operator, arguments.attribute)
    try:
        subject = operator.subject(arguments.device, types, attributes)
        explained = [(kernel, list(kernel.matches.explain(subject))) for kernel in kernels_of(operator.name)]
        chosen, problem = choose(operator.name, subject).name, ""
    except UnsupportedPrimitiveError:
        chosen, problem = None, "no kernel matches"
    except DuplicateRegistrationError as error:
        raise CommandError(str(error)) from error
    except (LookupError, TypeError, ValueError) as error:
        raise WrongArgumentError(str(error)) from error
    if arguments.format == "json":
        output.as_json([_as_dict(kernel, parts, chosen) for kernel, parts in explained])
        return 0 if chosen else 1
    described = ", ".join(f"{name} {one.name}" for name, one in subject.data_types.items())
    output.paragraph(f"{operator.name} on {arguments.device.tag}: {described}; {chosen or problem}")
    rows = []
    for kernel, parts in explained:
        rows.append((f"{kernel.name}, of priority {kernel.priority}", _yes(parts[0].holds), ""))
        rows += [("  " * (part.depth + 1) + part.text, _yes(part.holds), part.why) for part in parts]
    output.table(("kernel", "matches", "why"), rows)
    return 0 if chosen else 1


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _types(operator: Any, given: Sequence[str]) -> list[DataType]:
    """Return the type of each input."""
    from ep.ops.declare.inputs import Role

    of_roles = {Role.INDICES: DataType.kInt64, Role.CONDITION: DataType.kBool}
    check_once("--dtype", (text.rpartition("=")[0] for text in given))
    types = {one.name: of_roles.get(one.role, DataType.kFloat) for one in operator.inputs}
    for text in given:
        name, _, like = text.rpartition("=")
        data_type = names.data_type.find(like)
        if data_type is None:
            raise WrongArgumentError(f"--dtype {text}: {names.data_type.refusal(like)}")
        if name and name not in types:
            raise WrongArgumentError(
                f"--dtype {text}: {operator.name} has no input {name!r}; it has {', '.join(types)}"
            )
        of_name = [name] if name else [one.name for one in operator.inputs if one.role not in of_roles]
        types |= dict.fromkeys(of_name, data_type)
    return list(types.values())


def _attributes(operator: Any, given: Sequence[str]) -> dict[str, Any]:
    """Return the attributes that kernels ask for: those given, and defaults."""
    check_once("--attribute", (text.partition("=")[0] for text in given))
    attributes = {one.name: one.default for one in operator.attributes if not one.is_required}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise WrongArgumentError(f"--attribute {text} must be a name and a value, with = between")
        if name not in operator.asked_for:
            known = ", ".join(operator.asked_for) or "none"
            raise WrongArgumentError(
                f"--attribute {text}: kernels of {operator.name} do not ask for {name!r}, but for {known}"
            )
        attributes[name] = _value(value)
    missing = [name for name in operator.asked_for if attributes.get(name) is None]
    if missing:
        raise WrongArgumentError(
            f"kernels of {operator.name} ask for {', '.join(missing)}: give --attribute {missing[0]}=VALUE"
        )
    return attributes


def _value(text: str) -> Any:
    """Return a number or a truth value, or the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _as_dict(kernel: Any, parts: Sequence[Any], chosen: str | None) -> dict[str, Any]:
    return {
        "kernel": kernel.name,
        "priority": kernel.priority,
        "matches": parts[0].holds,
        "chosen": kernel.name == chosen,
        "parts": [
            {"condition": part.text, "depth": part.depth, "holds": part.holds, "why": part.why} for part in parts
        ],
    }
