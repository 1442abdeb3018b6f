"""The Python names of ops: functions named after enumerators, parameters after attributes; also used in errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ep.include.errors import ArgumentError
from ep.include.primitive.op_definition import Attribute

_KEYWORDS: Final = {"lambda": "lambd"}  # PyTorch's spelling of the name, which Python reserves


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
