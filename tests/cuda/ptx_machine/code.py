"""Writes LLVM's assembly language, one function at a time."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import NamedTuple


class Value(NamedTuple):
    """A value: its LLVM type, and its name or constant."""

    type: str
    name: str


def constant(type: str, number: int | float) -> Value:
    """Return a constant of an LLVM type; floating-point numbers are written as their bits."""
    if type in ("float", "double"):
        width, form = ("i32", "<fI") if type == "float" else ("i64", "<dQ")
        (bits,) = struct.unpack(f"<{form[2]}", struct.pack(f"<{form[1]}", number))
        return Value(type, f"bitcast ({width} {bits} to {type})")
    if type == "i1":
        return Value(type, "true" if number else "false")
    width = int(type[1:])
    number = int(number) % 2**width
    return Value(type, str(number - 2**width if number >> (width - 1) else number))


@dataclass
class LlvmModule:
    """The functions and declarations of a module."""

    functions: list[str] = field(default_factory=list)
    declared: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    defined: set[str] = field(default_factory=set)

    def text(self) -> str:
        """Return the module in LLVM's assembly language."""
        declarations = [line for name, line in self.declared.items() if name not in self.defined]
        return "\n".join([*self.variables.values(), *declarations, *self.functions])


class Code:
    """The body of one function: blocks of instructions. `at_entry` precedes all of them."""

    def __init__(self, module: LlvmModule) -> None:
        self.module = module
        self.at_entry: list[str] = []
        self.lines: list[str] = []
        self._last = 0

    def fresh(self, stem: str) -> str:
        """Return an unused name."""
        self._last += 1
        return f"{stem}{self._last}"

    def line(self, text: str) -> None:
        self.lines.append(text)

    def make(self, type: str, text: str) -> Value:
        """Add an instruction, and return its value."""
        value = Value(type, self.fresh("%v"))
        self.lines.append(f"{value.name} = {text}")
        return value

    # blocks

    def begin(self, block: str) -> None:
        self.lines.append(f"{block}:")

    def jump(self, block: str) -> None:
        self.lines.append(f"br label %{block}")

    def branch(self, condition: Value, then: str, otherwise: str) -> None:
        self.lines.append(f"br i1 {condition.name}, label %{then}, label %{otherwise}")

    # instructions

    def binary(self, operation: str, a: Value, b: Value) -> Value:
        return self.make(a.type, f"{operation} {a.type} {a.name}, {b.name}")

    def compare(self, predicate: str, a: Value, b: Value) -> Value:
        """Return the result of a comparison. predicate: LLVM's, of integers or, for floating-point numbers, with o or u
        in front.
        """
        kind = "fcmp" if a.type in ("float", "double") else "icmp"
        return self.make("i1", f"{kind} {predicate} {a.type} {a.name}, {b.name}")

    def convert(self, operation: str, value: Value, type: str) -> Value:
        if value.type == type:
            return value
        return self.make(type, f"{operation} {value.type} {value.name} to {type}")

    def bits(self, value: Value, type: str) -> Value:
        """Return the same bits as a value of another type of the same width."""
        return self.convert("bitcast", value, type)

    def resize(self, value: Value, type: str, signed: bool = False) -> Value:
        """Return an integer truncated or extended to the bits of `type`."""
        here, there = int(value.type[1:]), int(type[1:])
        return self.convert("trunc" if there < here else "sext" if signed else "zext", value, type)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        return self.make(a.type, f"select i1 {condition.name}, {a.type} {a.name}, {b.type} {b.name}")

    def negate(self, value: Value) -> Value:
        """Return the logical negation of a truth value, or an integer with all bits inverted."""
        return self.binary("xor", value, constant(value.type, -1))

    def load(self, type: str, pointer: Value, alignment: int) -> Value:
        return self.make(type, f"load {type}, ptr {pointer.name}, align {alignment}")

    def store(self, value: Value, pointer: Value, alignment: int) -> None:
        self.line(f"store {value.type} {value.name}, ptr {pointer.name}, align {alignment}")

    def at(self, pointer: Value, offset: int | Value) -> Value:
        """Return the pointer advanced by a number of bytes."""
        place = offset.name if isinstance(offset, Value) else str(offset)
        return self.make("ptr", f"getelementptr i8, ptr {pointer.name}, i64 {place}")

    def call(self, type: str, function: str, *arguments: Value) -> Value:
        """Call a function and return its result; declare the function if the module does not define it."""
        types = ", ".join(argument.type for argument in arguments)
        self.module.declared.setdefault(function, f"declare {type} @{function}({types})")
        given = ", ".join(f"{argument.type} {argument.name}" for argument in arguments)
        if type == "void":
            self.line(f"call void @{function}({given})")
            return Value("void", "")
        return self.make(type, f"call {type} @{function}({given})")

    def intrinsic(self, name: str, *arguments: Value) -> Value:
        """Call an intrinsic of LLVM whose operands and result have one type, and return its result."""
        type = arguments[0].type
        suffix = {"float": "f32", "double": "f64", "half": "f16"}.get(type, type)
        return self.call(type, f"llvm.{name}.{suffix}", *arguments)
