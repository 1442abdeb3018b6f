"""The table of ONNX's operators: the lines of their implementations, which stand at the functions."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

import onnx

from ep.onnx import operators
from ep.onnx.operators.line import LINES, Line

DOMAINS: Final = ("", "ai.onnx")
"""The names of the domain of ONNX's own operators."""

for _module in iter_modules(operators.__path__):
    import_module(f"{operators.__name__}.{_module.name}")


def _by_domain() -> Mapping[str, Mapping[str, list[Line]]]:
    found: dict[str, dict[str, list[Line]]] = {}
    for line in sorted(LINES, key=lambda line: -line.since):
        found.setdefault(line.domain, {}).setdefault(line.name, []).append(line)
    return found


BY_DOMAIN: Final = _by_domain()
"""The implementations of each operator, newest first, by its domain and name."""
OPERATORS: Final = BY_DOMAIN[""]
"""Those of ONNX's own operators."""


def line_of(node: onnx.NodeProto, opsets: Mapping[str, int]) -> Line | None:
    """Return the implementation for a node of a model with these opsets, by domain; None if there is none."""
    opset, domain = opset_of(node, opsets), "" if node.domain in DOMAINS else node.domain
    found = BY_DOMAIN.get(domain, {}).get(node.op_type, ())
    return next((line for line in found if line.since <= opset), None)


def opset_of(node: onnx.NodeProto, opsets: Mapping[str, int]) -> int:
    """Return the opset that a node's operator is of; 0 if the model does not name it."""
    return opsets.get(node.domain) or opsets.get("", 0)
