"""Examine a model in the ONNX format: its inputs, outputs and operators, and the nodes that no operator serves.

  ep onnx show model.onnx
  ep onnx check model.onnx

It needs the extra onnx. Nothing is computed, and no code of a model is run.
"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ep.cli import output, text
from ep.cli.models import unreadable
from ep.cli.parser import CommandError, Parser
from ep.include.shown import shape_in_words


def add_arguments(parser: Parser) -> None:
    """Add `ep onnx show` and `ep onnx check`."""
    commands = parser.add_commands("command")
    show = commands.add_parser("show", help="show inputs, outputs, opset and operators, and what nothing serves")
    check = commands.add_parser("check", help="list the nodes that nothing serves; exit 1 if any")
    for command, function in ((show, _show), (check, _check)):
        command.add_argument("model", type=Path, help="an ONNX file")
        output.add_format(command, "table", "json")
        command.set_defaults(function=function)


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
    """Print the number of nodes for each operator, or the nodes that none supports; return 1 for the latter."""
    from ep import onnx

    try:
        model = onnx.load(arguments.model)
    except onnx.UnsupportedError as error:
        if arguments.format == "json":
            output.as_json({"served": False, "reasons": error.reasons})
        else:
            _print_reasons(arguments.model, error.reasons)
        return 1
    counts = dict(Counter(node.line.name for node in model.nodes).most_common())
    if arguments.format == "json":
        output.as_json({"served": True, "nodes": counts})
        return 0
    _print_nodes(counts)
    _print_served(len(model.nodes))
    return 0


def _print_nodes(counts: Mapping[str, int]) -> None:
    output.table(("operator", "nodes"), [(name, str(count)) for name, count in counts.items()], right=("nodes",))


def _print_reasons(model: Any, reasons: Sequence[str]) -> None:
    output.table((f"nothing serves, in {model}",), [(one,) for one in reasons])


def _print_served(number: int) -> None:
    output.paragraph("The node is served." if number == 1 else f"All {text.plural(number, 'node')} are served.")
