"""List the operators, or show one: its inputs and results, its attributes, and its kernels.

  ep ops
  ep ops --family join
  ep ops gather

Functions that are made of operators, such as clip, are shown by their docstrings.
"""

from __future__ import annotations

import inspect
import re
from argparse import Namespace
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from ep.cli import names, output, text
from ep.cli.parser import Parser, WrongArgumentError


def add_arguments(parser: Parser) -> None:
    """Add the arguments of `ep ops`."""
    parser.add_argument("operator", nargs="?", type=names.function, help="such as gather; without it all are listed")
    parser.add_argument("--family", help="list those of one family alone, such as binary")
    output.add_format(parser, "table", "json")


def run(arguments: Namespace) -> int:
    """Print the table, or the description of one operator."""
    if inspect.isroutine(arguments.operator):
        return _show_function(arguments.operator, arguments.format)
    chosen = [arguments.operator] if arguments.operator else _of_family(arguments.family)
    if arguments.format == "json":
        output.as_json([_as_dict(one) for one in chosen])
    elif arguments.operator:
        _show(arguments.operator)
    else:
        _list(chosen)
    return 0


def _list(chosen: Sequence[Any]) -> None:
    """Print a row for each operator: a table for each family on a terminal, else one table that grep can search."""
    rows = [(one.name, one.family, ", ".join(one.input_names), _attributes(one), str(one.dtype)) for one in chosen]
    heading = ("operator", "family", "inputs", "attributes", "type of the result")
    if not text.is_terminal():
        output.table(heading, rows)
        return
    for family, members in groupby(rows, key=lambda row: row[1]):
        print()
        output.table([heading[0], *heading[2:]], [[name, *more] for name, _, *more in members], title=family)


def _show_function(function: Any, form: str) -> int:
    """Print the signature and the docstring of a function that is made of operators."""
    quoted = r"""(: |-> )(['"])(.*?)\2"""  # annotations are text, which Python quotes
    signature = re.sub(quoted, r"\1\3", str(inspect.signature(function)))
    meaning = inspect.getdoc(function) or ""
    if form == "json":
        output.as_json([{"function": function.__name__, "signature": signature, "meaning": meaning}])
    else:
        output.facts({"function": f"{function.__name__}{signature}", "kernels": "those of the operators it is made of"})
        print(f"\n{text.documentation(meaning)}")
    return 0


def _of_family(family: str | None) -> list[Any]:
    import ep.ops  # noqa: F401, which declares them
    from ep.ops.declare.operator import operators

    chosen = [one for one in operators() if family in (None, one.family)]
    if not chosen:
        families = ", ".join(dict.fromkeys(one.family for one in operators()))
        raise WrongArgumentError(f"no operator is of the family {family!r}; the families are {families}")
    return chosen


def _attributes(operator: Any) -> str:
    return ", ".join(map(str, operator.attributes))


def _show(operator: Any) -> None:
    from ep.ops.gradients import has_gradient
    from ep.ops.kernels import kernels_of

    inputs = ", ".join(f"{one.name} ({one.role.value})" for one in operator.inputs)
    facts = {
        "operator": ", ".join([operator.name, *operator.aliases]),
        "family": operator.family,
        "inputs": inputs,
        "attributes": _attributes(operator) or "none",
        "type of the result": str(operator.dtype),
        "gradient": "ep.ops.vjp gives it" if has_gradient(operator.name) else "none",
    }
    output.facts(facts)
    print(f"\n{text.documentation(operator.meaning)}\n")
    rows = [(kernel.name, str(kernel.priority), str(kernel.matches)) for kernel in kernels_of(operator.name)]
    output.table(("kernel", "priority", "matches when"), rows, right=("priority",))


def _as_dict(operator: Any) -> dict[str, Any]:
    from ep.ops.kernels import kernels_of

    return {
        "operator": operator.name,
        "aliases": list(operator.aliases),
        "family": operator.family,
        "inputs": [{"name": one.name, "role": one.role.value} for one in operator.inputs],
        "attributes": [
            {"name": one.name, "type": one.type, "required": one.is_required} for one in operator.attributes
        ],
        "type": str(operator.dtype),
        "kernels": [
            {"kernel": kernel.name, "priority": kernel.priority, "matches": str(kernel.matches)}
            for kernel in kernels_of(operator.name)
        ],
    }
