"""Choose the SBPs of an operator's tensors on several ranks: the signature that moves the fewest bytes.

  ep sbp gather --params "S(0)" --indices B --shape 50257x768 --ranks 4
  ep sbp gather --params "S(0)" --indices "S(0)" --shape 50257x768 --shape indices=8x128 --out B --ranks 4
  ep sbp add --x "S(0),B" --y "S(0),S(1)" --shape 1024x1024 --ranks 2x4 --plot add.svg

Each input has S(axis), B, P, PMax or PMin; on a mesh of several axes, one for each, separated by commas. In a shell,
S(0) needs quotes. Bytes are the total that all ranks send, by the ring formulas of `ep.sbp.boxing`. Without --out, the
cost of a partial result includes its later reduction: it cannot be read before.

'ep ops' lists the operators. 'ep sbp OPERATOR --help' describes the options of one.
"""

from __future__ import annotations

import ast
from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ep.cli import names, output, sbp_plot, text
from ep.cli.parser import CommandError, Parser, WrongArgumentError, check_once
from ep.cli.placements import Sizes, as_sbps
from ep.sbp import Choice, Problem, Sbp, Step, choices, parse_many

_SIZES = Sizes("50257x768")

_INDICES = (1024,)


def add_arguments(parser: Parser) -> None:
    """Add the operators, each with an option for each of its inputs."""
    import ep.ops  # noqa: F401, which declares them
    from ep.ops.declare.inputs import Role
    from ep.ops.declare.operator import operators

    commands = parser.add_commands("operator", "such as gather; 'ep ops' lists all", names.operator.refusal)
    for operator in operators():
        summary = operator.meaning.partition("\n\n")[0].replace("%", "%%")
        command = commands.add_parser(operator.name, aliases=operator.aliases, description=summary)
        for one in operator.inputs:
            several = " (once for each array)" if one.role is Role.TENSORS else ""
            what = f"how {one.name} lies, such as 'S(0)'; B where left out{several}"
            command.add_argument(f"--{one.name}", metavar="SBP", type=as_sbps, action="append", help=what)
        command.add_argument(
            "--out", metavar="SBP", type=as_sbps, help="how the result is to lie; as it comes if left out"
        )
        meaning = "of the first input, or of the one that is named; others are as the first, and indices 1024"
        command.add_argument("--shape", metavar="[INPUT=]NxM", action="append", required=True, help=meaning)
        command.add_argument(
            "--ranks", metavar="N[xM]", type=_SIZES, required=True, help="of the mesh, such as 4 or 2x4"
        )
        command.add_argument("--dtype", type=names.data_type, default="float32", help="default: float32")
        command.add_argument("--attribute", metavar="NAME=VALUE", action="append", default=[], help="such as axis=1")
        command.add_argument("--plot", type=Path, metavar="FILE", help="draw the chosen one: .svg, .png or .pdf")
        output.add_format(command, "table", "json")
        command.set_defaults(declared=operator)


def run(arguments: Namespace) -> int:
    """Print every signature with the bytes that it moves, and which one is chosen."""
    from ep.ops.declare.inputs import Role

    operator, mesh = arguments.declared, arguments.ranks
    for one in operator.inputs:
        if one.role is not Role.TENSORS:
            check_once(f"--{one.name}", [one.name] * len(getattr(arguments, one.name) or ()))
    given = [places for one in operator.inputs for places in _of_input(arguments, one.name, len(mesh))]
    problem = _problem(arguments, len(given))
    wanted = None if arguments.out is None else _on_mesh("--out", arguments.out, len(mesh))
    try:
        listed = choices(operator, problem, mesh, given, wanted)
    except ValueError as error:
        raise WrongArgumentError(str(error)) from error
    chosen = listed[0]
    if arguments.plot:
        _plot(arguments, problem, chosen)
    if arguments.format == "json":
        output.as_json([_as_dict(operator, one, one is chosen) for one in listed])
        return 0
    shapes = " and ".join(_in_words(shape) for shape in problem.shapes)
    output.paragraph(
        f"{operator.name} of {shapes} on {_in_words(mesh)} ranks: {chosen}, which moves {_bytes(chosen.bytes)}"
        f"{_later(chosen.cost - chosen.bytes)}{_why(listed)}"
    )
    heading = "signature" if len(mesh) == 1 else "signature, for each axis of the mesh"
    rows = [(str(one), _bytes(one.bytes), _bytes(one.cost - one.bytes), _moves(operator, one)) for one in listed]
    output.table((heading, "moved", "later", "how"), rows, right=("moved", "later"))
    return 0


def _plot(arguments: Namespace, problem: Problem, chosen: Choice) -> None:
    names_of = arguments.declared.input_names
    several = len(problem.shapes) > len(names_of)  # arrays in a sequence
    names_of_inputs = [f"{names_of[0]}[{k}]" for k in range(len(problem.shapes))] if several else names_of
    tensors = {
        name: (shape, [one.inputs[k] for one in chosen.signatures])
        for k, (name, shape) in enumerate(zip(names_of_inputs, problem.shapes, strict=True))
    }
    for k, shape in enumerate(problem.out_shapes):
        name = "out" if len(problem.out_shapes) == 1 else f"out[{k}]"
        tensors[name] = shape, [one.outputs[k] for one in chosen.signatures]
    try:
        sbp_plot.draw(tensors, arguments.ranks, f"{arguments.declared.name}: {chosen}", arguments.plot)
    except (ImportError, ValueError) as error:
        raise CommandError(f"--plot: {error}") from None


def _later(count: int) -> str:
    return f" now and {_bytes(count)} before the result can be read" if count else ""


def _why(listed: Sequence[Choice]) -> str:
    if len(listed) == 1:
        return ": there is no other"
    best, second = listed[0], listed[1]
    if best.cost == second.cost:
        nearer = best.to_all < second.to_all
        why = "its result takes the least until every rank has all of it" if nearer else "it is listed first"
        return f": no other moves less, and of those that move as much {why}, before {second}"
    return f": the next, {second}, moves {_bytes(second.cost)}"


def _problem(arguments: Namespace, num_inputs: int) -> Problem:
    from ep.ops.declare.inputs import Role

    operator = arguments.declared
    shapes = _shapes(operator, arguments.shape)
    of_roles = {Role.INDICES: np.dtype(np.int64), Role.CONDITION: np.dtype(bool)}
    inputs: list[Any] = [
        np.broadcast_to(np.zeros((), of_roles.get(one.role, arguments.dtype.dtype)), shapes[one.name])
        for one in operator.inputs
    ]
    check_once("--attribute", (given.partition("=")[0] for given in arguments.attribute))
    attributes = {}
    for given in arguments.attribute:
        name, _, value = given.partition("=")
        try:
            attributes[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            attributes[name] = value
    try:
        if operator.inputs[0].role is Role.TENSORS:
            inputs = inputs * num_inputs
            resolved = operator.resolve(inputs, **attributes)
        else:
            positional, named = operator.arguments(attributes)
            resolved = operator.resolve(*inputs, *positional, **named)
        problem: Problem = operator.problem(inputs, resolved, 1)
    except (TypeError, ValueError) as error:
        raise WrongArgumentError(f"{operator.name}: {error}") from error
    return problem


def _shapes(operator: Any, given: Sequence[str]) -> dict[str, tuple[int, ...]]:
    from ep.ops.declare.inputs import Role

    first = operator.inputs[0].name
    shapes = {}
    for one in given:
        name, _, sizes = one.rpartition("=")
        if name and name not in operator.input_names:
            listed = ", ".join(operator.input_names)
            raise WrongArgumentError(f"--shape {one}: {operator.name} has no input {name!r}; it has {listed}")
        try:
            shapes[name or first] = _SIZES(sizes)
        except ArgumentTypeError as error:
            raise WrongArgumentError(f"--shape {one}: {error}") from error
    check_once("--shape", (one.rpartition("=")[0] or first for one in given))
    if first not in shapes:
        raise WrongArgumentError(f"--shape is missing for {first}, the first input of {operator.name}")
    for inputs in operator.inputs:
        default = _INDICES if inputs.role is Role.INDICES else shapes[first]
        shapes.setdefault(inputs.name, default)
    return shapes


def _of_input(arguments: Namespace, name: str, num_axes: int) -> list[tuple[Sbp, ...]]:
    given = getattr(arguments, name) or [parse_many(",".join("B" * num_axes))]
    return [_on_mesh(f"--{name}", places, num_axes) for places in given]


def _on_mesh(option: str, places: tuple[Sbp, ...], num_axes: int) -> tuple[Sbp, ...]:
    if len(places) != num_axes:
        listed = ",".join(map(str, places))
        raise WrongArgumentError(f"{option} {listed} is for a mesh of {len(places)} axes, and --ranks has {num_axes}")
    return places


def _in_words(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes)) or "scalar"


def _bytes(count: int) -> str:
    return text.megabytes(count) if count else "0"


def _moves(operator: Any, choice: Choice) -> str:
    names_of_inputs = list(operator.input_names) * (len(choice.inputs) // len(operator.input_names))
    steps: list[tuple[str, Sequence[Step]]] = [
        *zip(names_of_inputs, choice.inputs, strict=True),
        ("out", choice.output),
        ("later out", choice.later),
    ]
    several = len(choice.signatures) > 1
    return ", ".join(
        f"{name} {move.source} to {move.target} {'locally' if move.name == 'local' else f'by {move.name}'}"
        f"{f' along axis {axis}' if several else ''}"
        for name, of in steps
        for axis, move in of
    )


def _as_dict(operator: Any, choice: Choice, chosen: bool) -> dict[str, Any]:
    return {
        "signature": str(choice),
        "bytes": choice.bytes,
        "later": choice.cost - choice.bytes,
        "moves": _moves(operator, choice),
        "chosen": chosen,
    }
