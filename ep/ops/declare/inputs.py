"""The inputs and the attributes of an operator, as its function accepts them."""

from __future__ import annotations

import inspect
from enum import Enum
from typing import Any, Final, NamedTuple

REQUIRED: Final = inspect.Parameter.empty
"""The default of an attribute that must be given."""


class Role(Enum):
    """The role of an input, which determines how it is read."""

    TENSOR = "tensor"
    INDICES = "indices"
    """Integers of any of the eight types."""
    CONDITION = "condition"
    """Bool, or integers of any of the eight types."""
    OPERAND = "operand"
    """An array, or a number that gets the dtype of the other operand."""
    TENSORS = "tensors"
    """A sequence of arrays of one dtype."""


class Input(NamedTuple):
    """One input of an operator."""

    name: str
    role: Role


class Attribute(NamedTuple):
    """One attribute of an operator, as its function accepts it.

    type: in words, as in the function's signature.
    default: REQUIRED if it must be given.
    """

    name: str
    type: str
    default: Any

    @property
    def is_required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED

    def __str__(self) -> str:
        return f"{self.name}: {self.type}" + ("" if self.is_required else f" = {self.default!r}")
