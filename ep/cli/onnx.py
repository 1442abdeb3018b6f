"""Examine a model in the ONNX format: the operators that its nodes run on, and the nodes that none supports.

  ep onnx check model.onnx

It needs the extra onnx. Nothing is computed, and no code of a model is run.
"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from pathlib import Path

from ep.cli import output, text
from ep.cli.parser import CommandError, Parser


def add_arguments(parser: Parser) -> None:
    """Add `ep onnx check`."""
    check = parser.add_commands("command").add_parser("check", help="list the nodes that nothing serves; exit 1 if any")
    check.add_argument("model", type=Path, help="an ONNX file")
    output.add_format(check, "table", "json")


def run(arguments: Namespace) -> int:
    """Print the number of nodes for each operator, or the nodes that none supports."""
    try:
        from ep import onnx
    except ModuleNotFoundError as error:
        raise CommandError(str(error)) from error
    try:
        model = onnx.load(arguments.model)
    except onnx.UnsupportedError as error:
        if arguments.format == "json":
            output.as_json({"served": False, "reasons": error.reasons})
        else:
            output.table((f"nothing serves, in {arguments.model}",), [(one,) for one in error.reasons])
        return 1
    except (onnx.ModelError, OSError) as error:
        raise CommandError(f"{arguments.model}: {getattr(error, 'strerror', None) or error}") from error
    counts = Counter(node.line.name for node in model.nodes)
    if arguments.format == "json":
        output.as_json({"served": True, "nodes": dict(counts.most_common())})
        return 0
    number = text.plural(len(model.nodes), "node")
    output.table(("operator", "nodes"), [(name, str(count)) for name, count in counts.most_common()], right=("nodes",))
    output.paragraph(f"All {number} are served." if number != "1 node" else "The node is served.")
    return 0
