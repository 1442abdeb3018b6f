"""The errors of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType


class ModelError(ValueError):
    """Raised for a file that is not an ONNX model, or an inconsistent model, before anything is computed."""


class UnsupportedError(NotImplementedError):
    """Raised for a model with unsupported operators or types. `reasons` has one line for each; operators: what is not
    supported of nodes, by their operators."""

    def __init__(self, reasons: list[str], operators: Mapping[str, Sequence[str]] = MappingProxyType({})) -> None:
        super().__init__("\n".join(reasons))
        self.reasons, self.operators = reasons, dict(operators)
