"""The operands of a function's instructions: registers, parameters, variables, and memory.

The registers of a kernel that does not synchronise threads are LLVM's; otherwise they are in the thread record.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tests.cuda.ptx_machine.code import Code, Value, constant
from tests.cuda.ptx_machine.layout import Block, Thread
from tests.cuda.ptx_machine.syntax import Address, Literal, Name, Operand, Variable
from tests.cuda.ptx_machine.types import PRED, TYPES, PtxType

if TYPE_CHECKING:
    from tests.cuda.ptx_machine.translator import ModuleTranslator

ACCESS: Final = "ptx_access"
"""The function of `memory` that checks an access."""

_SPECIAL: Final = {
    **{f"%tid.{axis}": ("thread", f"TID_{axis.upper()}") for axis in "xyz"},
    "%laneid": ("thread", "LANE"),
    "%warpid": ("thread", "WARP"),
    **{
        f"%{name}.{axis}": ("block", f"{name.upper()}_{axis.upper()}")
        for name in ("ntid", "ctaid", "nctaid")
        for axis in "xyz"
    },
    "%dynamic_smem_size": ("block", "DYNAMIC_BYTES"),
    "%total_smem_size": ("block", "SHARED_BYTES"),
}
"""The 32-bit special registers, and the words of the records that hold them."""

SPACES: Final = ("", "global", "const", "shared", "local")
"""The spaces of memory whose accesses are checked; the first is for generic addresses."""


class Operands:
    """The registers and memory of one function, and code that reads and writes them."""

    def __init__(self, module: ModuleTranslator, in_record: bool) -> None:
        """Make the operands. in_record: whether registers have to be in the thread record."""
        self.module = module
        self.code = Code(module.llvm)
        self.thread, self.block = Value("ptr", "%thread"), Value("ptr", "%block")
        self.site = 0
        self._in_record = in_record
        self._scopes: list[dict[str, Variable]] = [{}]
        self._slots: dict[tuple[int, str], tuple[PtxType, Value]] = {}
        self._places: dict[str, Value] = {}  # of parameters, in memory
        self._carry: Value | None = None

    # code that is written before all other code

    def at_entry(self, type: str, text: str) -> Value:
        value = Value(type, self.code.fresh("%e"))
        self.code.at_entry.append(f"{value.name} = {text}")
        return value

    def entry_word(self, record: Value, word: int) -> Value:
        place = self.at_entry("ptr", f"getelementptr i8, ptr {record.name}, i64 {8 * word}")
        return self.at_entry("i64", f"load i64, ptr {place.name}")

    # declarations

    def open_scope(self) -> None:
        """Open a scope: later declarations are valid until `close_scope`."""
        self._scopes.append({})

    def close_scope(self) -> None:
        self._scopes.pop()

    def declare(self, variable: Variable) -> None:
        self._scopes[-1][variable.name] = variable
        if variable.space == "param":
            size = max(variable.count * TYPES[variable.type].bytes, 1)
            self._places[variable.name] = self.at_entry("ptr", f"alloca [{size} x i8], align 16")
        elif variable.space == "local":
            offset = self.module.add_local(variable)
            base = self.entry_word(self.thread, Thread.LOCAL)
            address = self.at_entry("i64", f"add i64 {base.name}, {offset}")
            self._places[variable.name] = self.at_entry("ptr", f"inttoptr i64 {address.name} to ptr")
        elif variable.space == "shared":
            self.module.variables[variable.name] = variable

    # words of the records

    def thread_word(self, word: int) -> Value:
        """Return a word of the thread record."""
        return self.code.load("i64", self.code.at(self.thread, 8 * word), 8)

    def block_word(self, word: int) -> Value:
        """Return a word of the block record."""
        return self.code.load("i64", self.code.at(self.block, 8 * word), 8)

    def set_word(self, word: int, value: Value) -> None:
        """Set a word of the thread record."""
        place = self.code.at(self.thread, 8 * word)
        self.code.store(self.code.resize(value, "i64") if value.type != "i64" else value, place, 8)

    # operands

    def name_of(self, operand: Operand) -> str:
        """Return the text of a plain name."""
        if not isinstance(operand, Name) or operand.negated:
            raise ValueError
        return operand.text

    def register(self, name: str) -> tuple[PtxType, Value]:
        """Return a register's type, and the pointer to its value."""
        stem = name.rstrip("0123456789")
        for depth in range(len(self._scopes) - 1, -1, -1):
            declared = self._scopes[depth]
            variable = declared.get(name) or declared.get(stem)
            if variable is None or variable.space != "reg":
                continue
            if variable.name == stem != name and int(name[len(stem) :]) >= (variable.registers or 0):
                continue
            key = variable.line, name
            if key not in self._slots:
                self._slots[key] = TYPES[variable.type], self._new_slot(TYPES[variable.type])
            return self._slots[key]
        raise ValueError

    def _new_slot(self, type: PtxType) -> Value:
        if not self._in_record:
            return self.at_entry("ptr", f"alloca {type.llvm}")
        place = 8 * self.module.record_words
        self.module.record_words += max(type.bits // 64, 1)
        return self.at_entry("ptr", f"getelementptr i8, ptr %thread, i64 {place}")

    @property
    def carry(self) -> Value:
        """Return the pointer to the carry of `.cc`."""
        if self._carry is None:
            self._carry = self._new_slot(PRED)
        return self._carry

    def read(self, operand: Operand, type: PtxType) -> Value:
        """Return an operand as a value of `type`; of a wider register, the lower bits."""
        if isinstance(operand, Literal):
            bits = literal_bits(operand, type)
            number = constant(type.integer, bits)
            return (
                Value(type.llvm, f"bitcast ({number.type} {number.name} to {type.llvm})")
                if type.kind == "f"
                else number
            )
        if isinstance(operand, Address):  # of a part of a variable
            base = self.read(operand.base, type)
            return self.code.binary("add", base, constant(base.type, operand.offset))
        if not isinstance(operand, Name):
            raise ValueError
        if operand.text in _SPECIAL:
            record, word = _SPECIAL[operand.text]
            value = (
                self.thread_word(getattr(Thread, word)) if record == "thread" else self.block_word(getattr(Block, word))
            )
            return self.code.resize(value, type.integer)
        if operand.text.startswith("%lanemask_"):
            return self._lane_mask(operand.text.removeprefix("%lanemask_"))
        if operand.text == "WARP_SZ":
            return constant(type.llvm, 32)
        if operand.text in self._places or operand.text in self.module.variables:
            return self.code.resize(self.variable_address(operand.text), type.integer)
        declared, slot = self.register(operand.text)
        value = self.code.load(declared.llvm, slot, declared.bytes)
        value = self._as(value, declared, type)
        return self.code.negate(value) if operand.negated else value

    def _as(self, value: Value, declared: PtxType, type: PtxType) -> Value:
        """Return the lower bits of a register, as a value of `type`."""
        if declared.llvm == type.llvm:
            return value
        if "p" in (declared.kind, type.kind) or type.bits > declared.bits:
            raise ValueError
        bits = self.code.resize(self.code.bits(value, declared.integer), type.integer)
        return self.code.bits(bits, type.llvm)

    def write(self, operand: Operand, value: Value, type: PtxType) -> None:
        """Set a register to a value of `type`, extended if the register is wider."""
        name = self.name_of(operand)
        if name == "_":
            return
        declared, slot = self.register(name)
        if declared.llvm != value.type:
            if "p" in (declared.kind, type.kind) or type.bits > declared.bits:
                raise ValueError
            value = self.code.resize(self.code.bits(value, type.integer), declared.integer, type.signed)
            value = self.code.bits(value, declared.llvm)
        self.code.store(value, slot, declared.bytes)

    def _lane_mask(self, which: str) -> Value:
        one, lane = constant("i64", 1), self.thread_word(Thread.LANE)
        own = self.code.binary("shl", one, lane)
        below = self.code.binary("sub", own, one)
        upto = self.code.binary("or", below, own)
        mask = {"eq": own, "lt": below, "le": upto, "gt": self.code.negate(upto), "ge": self.code.negate(below)}[which]
        return self.code.resize(mask, "i32")

    # memory

    def place(self, name: str) -> Value:
        """Return the pointer to a parameter, in memory that is not checked."""
        return self._places[name]

    def variable_address(self, name: str) -> Value:
        """Return the address of a variable in its own space, 64 bits."""
        if name in self._places:
            return self.code.convert("ptrtoint", self._places[name], "i64")
        variable = self.module.variables[name]
        if variable.space == "shared":
            return constant("i64", self.module.shared[name])
        return self.code.convert("ptrtoint", Value("ptr", f"@{self.module.memory_address(variable)}"), "i64")

    def address(self, operand: Operand) -> Value:
        """Return the address in brackets, as a 64-bit number."""
        if not isinstance(operand, Address):
            raise ValueError
        base = operand.base
        if isinstance(base, Literal):
            return constant("i64", literal_bits(base, TYPES["u64"]) + operand.offset)
        if base.text in self._places or base.text in self.module.variables:
            number = self.variable_address(base.text)
        else:
            declared, _ = self.register(base.text)
            number = self.code.resize(self.read(base, TYPES[f"u{declared.bits}"]), "i64")
        return self.code.binary("add", number, constant("i64", operand.offset)) if operand.offset else number

    def access(self, space: str, address: Value, size: int, flags: int) -> Value:
        """Check an access, and return its pointer; a fault ends the thread."""
        given = (SPACES.index(space), size, self.site, flags)
        numbers = [constant("i64", number) for number in given]
        found = self.code.call("i64", ACCESS, self.block, address, *numbers)
        ends, good = self.code.compare("eq", found, constant("i64", 0)), self.code.fresh("good")
        self.code.branch(ends, "faulted", good)
        self.code.begin(good)
        return self.code.convert("inttoptr", found, "ptr")


def literal_bits(literal: Literal, type: PtxType) -> int:
    """Return the bits of a literal, as a number of `type`."""
    text = literal.text
    if re.fullmatch("0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}", text):
        return int(text[2:], 16)
    if type.kind == "f":
        raise ValueError
    return int(text.removesuffix("U"), 0) % 2**type.bits
