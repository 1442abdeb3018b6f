"""The syntax of PTX: a module's variables and functions, and the statements of each function."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


class UnknownPtxError(Exception):
    """PTX that the machine does not know; the message has its line and text."""


@dataclass(frozen=True)
class Name:
    """A register, variable, label or function; `negated`: with `!` before it."""

    text: str
    negated: bool = False


@dataclass(frozen=True)
class Literal:
    """A number in its written form: `-1`, `0x1F`, `0f3F800000`."""

    text: str


@dataclass(frozen=True)
class Address:
    """`[base + offset]`."""

    base: Name | Literal
    offset: int = 0


@dataclass(frozen=True)
class Group:
    """`{a, b}`, `(a, b)`, or the two predicates `p|q`."""

    parts: tuple[Operand, ...]


Operand: TypeAlias = Name | Literal | Address | Group


@dataclass(frozen=True)
class Instruction:
    """`@guard name.modifiers operands;`, with its line in the text."""

    line: int
    name: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Name | None = None
    text: str = ""

    @property
    def opcode(self) -> str:
        """The name with its modifiers."""
        return ".".join((self.name, *self.modifiers))


@dataclass(frozen=True)
class Label:
    """A branch target."""

    name: str


@dataclass(frozen=True)
class Variable:
    """A register, parameter or piece of memory.

    space: `reg`, `param`, `local`, `shared`, `global` or `const`; count: elements, 0 for memory of a size that the
    launch gives; registers: for `%r<9>` 9, the number of registers %r0 to %r8; values: its initial values.
    """

    line: int
    space: str
    type: str
    name: str
    count: int = 1
    alignment: int = 0
    registers: int | None = None
    values: tuple[Literal, ...] = ()


@dataclass(frozen=True)
class Scope:
    """`{` or `}`, the limits of a scope of names."""

    opens: bool


@dataclass(frozen=True)
class BranchTargets:
    """`label: .branchtargets a, b, ...;`."""

    name: str
    labels: tuple[str, ...]


Statement: TypeAlias = Instruction | Label | Variable | Scope | BranchTargets


@dataclass
class Function:
    """An entry (a kernel), or a function that other functions call."""

    name: str
    entry: bool
    results: list[Variable] = field(default_factory=list)
    parameters: list[Variable] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)


@dataclass
class Module:
    """A text in PTX."""

    variables: list[Variable] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
