"""Examine a model in the ONNX format: its inputs, outputs and operators, and what of them is not served.

  ep onnx show model.onnx
  ep onnx check model.onnx
  ep onnx check model.onnx --device cuda --shape bytes=1,2048

With --device, the check lists the kernels that a device lacks for the model, too. Sizes that are free are assumed,
unless --shape gives them.

It needs the extra onnx. Nothing is computed but what depends on constants, and no code of a model is run.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ep.cli import models, names, output, text
from ep.cli.computing import REFUSALS, refused
from ep.cli.models import unreadable
from ep.cli.parser import CommandError, Parser
from ep.include.device_type import DeviceType
from ep.include.errors import LackingError
from ep.include.shown import shape_in_words


def add_arguments(parser: Parser) -> None:
    """Add `ep onnx show` and `ep onnx check`."""
    commands = parser.add_commands("command")
    show = commands.add_parser("show", help="show inputs, outputs, opset and operators, and what nothing serves")
    check = commands.add_parser(
        "check", help="count the nodes of each operator, and list what nothing serves or a device lacks; exit 1 if any"
    )
    for command, function in ((show, _show), (check, _check)):
        command.add_argument("model", type=Path, help="an ONNX file")
        output.add_format(command, "table", "json")
        command.set_defaults(function=function)
    check.add_argument("--device", type=names.device_type, default=DeviceType.kCPU, help="default: cpu")
    models.add_shape(check)


def run(arguments: Namespace) -> int:
    """Print what the command finds in the model."""
    try:
        from ep import onnx
    except ModuleNotFoundError as error:
        raise CommandError(str(error)) from error
    try:
        return int(arguments.function(arguments))
    except (onnx.ModelError, OSError) as error:
        raise unreadable(arguments.model, error) from error


def _show(arguments: Namespace) -> int:
    """Print what is in the file, whether it is served or not."""
    from ep import onnx

    found = onnx.outline(arguments.model)
    if arguments.format == "json":
        inputs, outputs = ([one._asdict() for one in some] for some in (found.inputs, found.outputs))
        about = {"inputs": inputs, "outputs": outputs, "opsets": found.opsets, "nodes": found.operators}
        output.as_json({**about, "served": not found.reasons, "reasons": found.reasons})
        return 0
    output.facts({"opset": ", ".join(f"{domain} {version}" for domain, version in found.opsets.items())})
    print()
    kinds = [*(("input", one) for one in found.inputs), *(("output", one) for one in found.outputs)]
    rows = [(kind, one.name, one.type, shape_in_words(one.shape)) for kind, one in kinds]
    output.table(("", "name", "type", "shape"), rows)
    print()
    _print_nodes(found.operators)
    print()
    if found.reasons:
        _print_reasons(arguments.model, found.reasons)
    else:
        _print_served(sum(found.operators.values()))
    return 0


def _check(arguments: Namespace) -> int:
    """Print how many nodes the file has of each operator, and what of it is missing; return 1 if anything is."""
    from ep import onnx

    found = onnx.outline(arguments.model)
    reasons, missing = found.reasons, found.missing
    if not reasons:
        try:
            model = onnx.Model(arguments.model, arguments.device)
            shapes = models.by_name("--shape", arguments.shape, [one.name for one in model.inputs])
            if model.may_lack or shapes:
                model.check_kernels(**shapes)
        except LackingError as error:
            reasons, missing = tuple(error.reasons), error.operators
        except REFUSALS as error:  # of sizes with which the model cannot be computed
            if isinstance(error, onnx.ModelError):
                raise
            raise refused(error) from error
    if arguments.format == "json":
        more = {"missing": missing, "reasons": reasons} if reasons else {}
        output.as_json({"served": not reasons, "nodes": found.operators, **more})
        return 1 if reasons else 0
    if not reasons:
        _print_nodes(found.operators)
        _print_served(sum(found.operators.values()))
        return 0
    told = {one for several in missing.values() for one in several}
    counts = {**found.operators, **dict.fromkeys(missing.keys() - found.operators.keys(), 0)}
    rows = [(name, str(count), "; ".join(missing.get(name, ()))) for name, count in counts.items()]
    output.table(("operator", "nodes", f"missing for {arguments.model}"), rows, right=("nodes",))
    if others := [one for one in reasons if not any(one.endswith(why) for why in told)]:
        print()
        _print_reasons(arguments.model, others)
    return 1


def _print_nodes(counts: Mapping[str, int]) -> None:
    output.table(("operator", "nodes"), [(name, str(count)) for name, count in counts.items()], right=("nodes",))


def _print_reasons(model: Any, reasons: Sequence[str]) -> None:
    output.table((f"missing for {model}",), [(one,) for one in reasons])


def _print_served(number: int) -> None:
    output.paragraph("The node is served." if number == 1 else f"All {text.plural(number, 'node')} are served.")
