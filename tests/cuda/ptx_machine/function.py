"""Makes an LLVM function of a PTX function: registers, control flow, calls, and the places at which threads meet.

An entry becomes `void step(ptr thread, ptr block)`, which runs one thread until it returns or meets others. Where a
kernel has no such places, its registers are LLVM's. Else they live in the thread record, and a step goes on where the
last one ended.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tests.cuda.ptx_machine.code import Code, Value, constant
from tests.cuda.ptx_machine.instructions import EMITTERS, MEETINGS
from tests.cuda.ptx_machine.layout import DONE, Block, Thread
from tests.cuda.ptx_machine.modifiers import Modifiers
from tests.cuda.ptx_machine.syntax import (
    Address,
    BranchTargets,
    Function,
    Instruction,
    Label,
    Literal,
    Name,
    Operand,
    Scope,
    UnknownPtxError,
    Variable,
)
from tests.cuda.ptx_machine.types import PRED, TYPES, PtxType

if TYPE_CHECKING:
    from tests.cuda.ptx_machine.translator import ModuleTranslator

ENTRY: Final = "step"
ACCESS: Final = "ptx_access"
FAULT: Final = "ptx_fault"
"""The functions of `memory` that translated code calls."""

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
"""The special registers, of 32 bits, and the words of the records that they are."""

SPACES: Final = ("", "global", "const", "shared", "local")
"""The spaces of memory whose accesses are checked; the first is for generic addresses."""


class FunctionTranslator:
    """Translates one function. The emitters of `instructions` write code by it."""

    def __init__(self, module: ModuleTranslator, function: Function, meets: bool) -> None:
        """meets: whether registers have to live in the thread record."""
        self.module, self.function, self._meets = module, function, meets
        self.code = Code(module.llvm)
        self.thread, self.block = Value("ptr", "%thread"), Value("ptr", "%block")
        self.site = 0
        self._scopes: list[dict[str, Variable]] = [{}]
        self._slots: dict[tuple[int, str], tuple[PtxType, Value]] = {}
        self._places: dict[str, Value] = {}  # of parameters, in memory
        self._targets: dict[str, tuple[str, ...]] = {}
        self._resumed: list[str] = []
        self._counter = -1
        self._carry: Value | None = None

    def translate(self) -> None:
        """Add the function to the module."""
        function, code = self.function, self.code
        given = [*function.results, *function.parameters]
        if function.entry:
            name, parameters = ENTRY, ""
            words = self._at_entry("ptr", f"inttoptr i64 {self._entry_word(self.block, Block.PARAMETERS).name} to ptr")
            for index, variable in enumerate(given):
                self._places[variable.name] = self._at_entry(
                    "ptr", f"getelementptr i8, ptr {words.name}, i64 {8 * index}"
                )
        else:
            name = llvm_name(function.name)
            parameters = "".join(f", ptr %given{index}" for index in range(len(given)))
            for index, variable in enumerate(given):
                self._places[variable.name] = Value("ptr", f"%given{index}")
        counters = self._entry_word(self.block, Block.COUNTERS)
        self._counters = self._at_entry("ptr", f"inttoptr i64 {counters.name} to ptr")
        for statement in function.body:
            if isinstance(statement, BranchTargets):
                self._targets[statement.name] = statement.labels
        self._begin("start")
        for statement in function.body:
            self._statement(statement)
        self._leave()
        code.begin("faulted")
        self._leave()
        entry = list(code.at_entry)
        if self._meets:
            state = "%state"
            entry.append(f"%state.at = getelementptr i8, ptr %thread, i64 {8 * Thread.STATE}")
            entry.append(f"{state} = load i64, ptr %state.at")
            cases = " ".join(f"i64 {number}, label %{label}" for number, label in enumerate(self._resumed, 1))
            entry.append(f"switch i64 {state}, label %start [{cases}]")
        else:
            entry.append("br label %start")
        linkage = "" if function.entry else "internal "
        self.module.llvm.defined.add(name)
        self.module.llvm.functions.append(
            f"define {linkage}void @{name}(ptr noalias %thread, ptr noalias %block{parameters}) nounwind {{\nentry:\n"
            + "\n".join([*entry, *code.lines])
            + "\n}\n"
        )

    # what is written before everything else

    def _at_entry(self, type: str, text: str) -> Value:
        value = Value(type, self.code.fresh("%e"))
        self.code.at_entry.append(f"{value.name} = {text}")
        return value

    def _entry_word(self, record: Value, word: int) -> Value:
        place = self._at_entry("ptr", f"getelementptr i8, ptr {record.name}, i64 {8 * word}")
        return self._at_entry("i64", f"load i64, ptr {place.name}")

    # statements

    def _statement(self, statement: object) -> None:
        if isinstance(statement, Instruction):
            self._instruction(statement)
        elif isinstance(statement, Label):
            self.code.jump(label_name(statement.name))
            self._begin(label_name(statement.name))
        elif isinstance(statement, Variable):
            self._declare(statement)
        elif isinstance(statement, Scope):
            if statement.opens:
                self._scopes.append({})
            else:
                self._scopes.pop()

    def _declare(self, variable: Variable) -> None:
        self._scopes[-1][variable.name] = variable
        if variable.space == "param":
            size = max(variable.count * TYPES[variable.type].bytes, 1)
            self._places[variable.name] = self._at_entry("ptr", f"alloca [{size} x i8], align 16")
        elif variable.space == "local":
            offset = self.module.add_local(variable)
            base = self._entry_word(self.thread, Thread.LOCAL)
            address = self._at_entry("i64", f"add i64 {base.name}, {offset}")
            self._places[variable.name] = self._at_entry("ptr", f"inttoptr i64 {address.name} to ptr")
        elif variable.space == "shared":
            self.module.add_shared(variable)
            self.module.variables[variable.name] = variable

    def _instruction(self, instruction: Instruction) -> None:
        if instruction.name not in EMITTERS:
            raise self._unknown(instruction)
        if instruction.name in MEETINGS and not self.function.entry:
            raise UnknownPtxError(
                f"line {instruction.line} of the PTX: {instruction.opcode} in a function that is called; "
                "the machine lets threads meet in the kernel itself alone"
            )
        self.instruction, after = instruction, None
        if instruction.guard is not None:
            then, after = self.code.fresh("then"), self.code.fresh("after")
            self.code.branch(self.read(instruction.guard, PRED), then, after)
            self._begin(then)
        self.site = len(self.module.sites)
        self.module.sites.append(instruction)
        self.module.blocks.append(self._counter)
        modifiers = Modifiers(instruction.modifiers)
        try:
            EMITTERS[instruction.name](self, instruction, modifiers)
        except (IndexError, KeyError, ValueError) as error:
            raise self._unknown(instruction) from error
        if modifiers.left:
            raise self._unknown(instruction)
        if after is not None:
            self.code.jump(after)
            self._begin(after)

    @staticmethod
    def _unknown(instruction: Instruction) -> UnknownPtxError:
        return UnknownPtxError(
            f"line {instruction.line} of the PTX: the instruction {instruction.opcode} is not known, "
            f"in {instruction.text!r}"
        )

    # control flow

    def _begin(self, block: str) -> None:
        """A block of instructions, which are counted together."""
        self.code.begin(block)
        self._counter = self.module.num_blocks
        self.module.num_blocks += 1
        place = self.code.at(self._counters, 8 * self._counter)
        count = self.code.binary("add", self.code.load("i64", place, 8), constant("i64", 1))
        self.code.store(count, place, 8)

    def jump(self, target: Operand) -> None:
        """Go to a label; what follows is reached by labels alone."""
        self.code.jump(label_name(self.name_of(target)))
        self._begin(self.code.fresh("unreached"))

    def jump_to_one_of(self, index: Value, targets: Operand) -> None:
        """Go to one of the labels of a `.branchtargets`."""
        labels = self._targets[self.name_of(targets)]
        cases = " ".join(f"i32 {number}, label %{label_name(label)}" for number, label in enumerate(labels))
        self.code.line(f"switch i32 {index.name}, label %faulted [{cases}]")
        self._begin(self.code.fresh("unreached"))

    def leave(self) -> None:
        """Return from the function; what follows is reached by labels alone."""
        self._leave()
        self._begin(self.code.fresh("unreached"))

    def _leave(self) -> None:
        if self.function.entry:
            self.set_word(Thread.STATE, constant("i64", DONE))
        self.code.line("ret void")

    def fault(self, fault: int) -> None:
        """End the thread by a fault."""
        self.code.call("void", FAULT, self.block, constant("i64", fault), constant("i64", self.site))
        self.code.jump("faulted")
        self._begin(self.code.fresh("unreached"))

    def call(self, function: str, results: tuple[Operand, ...], arguments: tuple[Operand, ...]) -> None:
        """Call a function of the module, with parameters that are memory."""
        if function not in self.module.functions:
            raise UnknownPtxError(f"the function {function}, which the PTX calls, is not in it")
        places = [self._places[self.name_of(part)] for part in (*results, *arguments)]
        given = "".join(f", ptr {place.name}" for place in places)
        self.code.line(f"call void @{llvm_name(function)}(ptr %thread, ptr %block{given})")

    def meet(self, meeting: int, mode: int, mask: Value, *values: Value) -> None:
        """End the step; the next one goes on here, with RESULT and FLAG in the thread record."""
        label = self.code.fresh("resumed")
        self._resumed.append(label)
        for word, value in (
            (Thread.STATE, constant("i64", len(self._resumed))),
            (Thread.MEETING, constant("i64", meeting)),
            (Thread.SITE, constant("i64", self.site)),
            (Thread.MODE, constant("i64", mode)),
            (Thread.MASK, self.code.resize(mask, "i64")),
            *zip((Thread.VALUE, Thread.SECOND, Thread.THIRD), values, strict=False),
        ):
            self.set_word(word, value)
        self.code.line("ret void")
        self.code.begin(label)  # counted with what came before it

    # words of the records

    def thread_word(self, word: int) -> Value:
        """A word of the thread record."""
        return self.code.load("i64", self.code.at(self.thread, 8 * word), 8)

    def block_word(self, word: int) -> Value:
        """A word of the block record."""
        return self.code.load("i64", self.code.at(self.block, 8 * word), 8)

    def set_word(self, word: int, value: Value) -> None:
        """Set a word of the thread record."""
        place = self.code.at(self.thread, 8 * word)
        self.code.store(self.code.resize(value, "i64") if value.type != "i64" else value, place, 8)

    # operands

    def name_of(self, operand: Operand) -> str:
        """The text of a plain name."""
        if not isinstance(operand, Name) or operand.negated:
            raise ValueError
        return operand.text

    def register(self, name: str) -> tuple[PtxType, Value]:
        """A register's type, and where it is kept."""
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
        if not self._meets:
            return self._at_entry("ptr", f"alloca {type.llvm}")
        place = 8 * self.module.record_words
        self.module.record_words += max(type.bits // 64, 1)
        return self._at_entry("ptr", f"getelementptr i8, ptr %thread, i64 {place}")

    @property
    def carry(self) -> Value:
        """Where the carry of `.cc` is kept."""
        if self._carry is None:
            self._carry = self._new_slot(PRED)
        return self._carry

    def read(self, operand: Operand, type: PtxType) -> Value:
        """An operand as a value of `type`: the lower bits of a wider register."""
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
        """The lower bits of a register, as a value of `type`."""
        if declared.llvm == type.llvm:
            return value
        if "p" in (declared.kind, type.kind) or type.bits > declared.bits:
            raise ValueError
        bits = self.code.resize(self.code.bits(value, declared.integer), type.integer)
        return self.code.bits(bits, type.llvm)

    def write(self, operand: Operand, value: Value, type: PtxType) -> None:
        """Set a register to a value of `type`, widened where the register is wider."""
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
        """Where a parameter is, in memory that is not checked."""
        return self._places[name]

    def variable_address(self, name: str) -> Value:
        """The address of a variable in its own space, 64 bits."""
        if name in self._places:
            return self.code.convert("ptrtoint", self._places[name], "i64")
        variable = self.module.variables[name]
        if variable.space == "shared":
            return constant("i64", self.module.shared.get(name, self.module.shared_bytes))
        return self.code.convert("ptrtoint", Value("ptr", f"@{self.module.memory_address(variable)}"), "i64")

    def address(self, operand: Operand) -> Value:
        """What stands in brackets, as a number of 64 bits."""
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
        """The pointer for an access that was checked; a fault ends the thread."""
        given = (SPACES.index(space), size, self.site, flags)
        numbers = [constant("i64", number) for number in given]
        found = self.code.call("i64", ACCESS, self.block, address, *numbers)
        ends, good = self.code.compare("eq", found, constant("i64", 0)), self.code.fresh("good")
        self.code.branch(ends, "faulted", good)
        self.code.begin(good)
        return self.code.convert("inttoptr", found, "ptr")


def literal_bits(literal: Literal, type: PtxType) -> int:
    """The bits of a number as it is written, as a number of `type`."""
    text = literal.text
    if re.fullmatch("0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}", text):
        return int(text[2:], 16)
    if type.kind == "f":
        raise ValueError
    return int(text.removesuffix("U"), 0) % 2**type.bits


def llvm_name(name: str) -> str:
    """A function's name, as no other function's can be."""
    return "ptx_" + name.replace("$", ".")


def label_name(name: str) -> str:
    return "L" + name.replace("$", ".")
