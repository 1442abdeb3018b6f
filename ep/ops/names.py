"""The Python names of ops: functions named after enumerators, parameters after attributes; also used in errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ep.include.errors import ArgumentError
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_definition import Attribute
from ep.include.primitive.unary_op import UnaryOp

_WORD: Final = re.compile("ReLU|[A-Z][a-z0-9]*")
_KEYWORDS: Final = {"lambda": "lambd"}  # PyTorch's spelling of the name, which Python reserves
# `max` and `min` are names of reductions
_OTHER_NAMES: Final[dict[UnaryOp | BinaryOp, str]] = {BinaryOp.kMax: "maximum", BinaryOp.kMin: "minimum"}


def function_name(op: UnaryOp | BinaryOp) -> str:
    """Return an enumerator in snake_case: `kFastGelu` is `fast_gelu`; each capital begins a word, but `ReLU` is one
    word.

    Only kMax and kMin have other names: `maximum` and `minimum`.
    """
    return _OTHER_NAMES.get(op) or "_".join(_WORD.findall(op.name)).lower()


def is_backward(name: str) -> bool:
    """Return whether a function multiplies dy by the slope of an op, as `relu_backward_with_dy_x`.

    Users have `vjp` and `ep.grad` for them: they are last in lists, and not offered.
    """
    return "_backward_with_" in name


def parameter_name(attribute: Attribute) -> str:
    """Return the name of an attribute as a parameter."""
    return _KEYWORDS.get(attribute.name, attribute.name)


def launch(primitive: Any, names: Mapping[str, str], *arguments: Any) -> None:
    """Launch a primitive; its errors name the operator's arguments: `names` is as in a kernel."""
    try:
        primitive.Launch(*arguments)
    except ArgumentError as error:
        error.rename(names)
        raise
