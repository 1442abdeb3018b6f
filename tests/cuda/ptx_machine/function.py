"""Makes an LLVM function of a PTX function: statements, control flow, calls, and the instructions that synchronise
threads.

An entry becomes `void step(ptr thread, ptr block)`, which runs one thread until it returns or waits for other threads.
In a kernel that synchronises threads, a step continues at the point at which the last step ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.cuda.ptx_machine.code import Value, constant
from tests.cuda.ptx_machine.instructions import EMITTERS, MEETINGS
from tests.cuda.ptx_machine.layout import DONE, Block, Thread
from tests.cuda.ptx_machine.modifiers import Modifiers
from tests.cuda.ptx_machine.operands import Operands
from tests.cuda.ptx_machine.syntax import (
    BranchTargets,
    Function,
    Instruction,
    Label,
    Operand,
    Scope,
    UnknownPtxError,
    Variable,
)
from tests.cuda.ptx_machine.types import PRED

if TYPE_CHECKING:
    from tests.cuda.ptx_machine.translator import ModuleTranslator

ENTRY: Final = "step"
"""The name of the LLVM function that an entry becomes."""

FAULT: Final = "ptx_fault"
"""The function of `memory` that records a fault."""


class FunctionTranslator(Operands):
    """Translates one function. The emitters of `instructions` write code with it."""

    def __init__(self, module: ModuleTranslator, function: Function, meets: bool) -> None:
        """Begin the function. meets: whether it has instructions that synchronise threads."""
        super().__init__(module, in_record=meets)
        self.function, self._meets = function, meets
        self._targets: dict[str, tuple[str, ...]] = {}
        self._resumed: list[str] = []
        self._counter = -1

    def translate(self) -> None:
        """Add the function to the module."""
        function, code = self.function, self.code
        given = [*function.results, *function.parameters]
        if function.entry:
            name, parameters = ENTRY, ""
            words = self.at_entry("ptr", f"inttoptr i64 {self.entry_word(self.block, Block.PARAMETERS).name} to ptr")
            for index, variable in enumerate(given):
                self._places[variable.name] = self.at_entry(
                    "ptr", f"getelementptr i8, ptr {words.name}, i64 {8 * index}"
                )
        else:
            name = llvm_name(function.name)
            parameters = "".join(f", ptr %given{index}" for index in range(len(given)))
            for index, variable in enumerate(given):
                self._places[variable.name] = Value("ptr", f"%given{index}")
        counters = self.entry_word(self.block, Block.COUNTERS)
        self._counters = self.at_entry("ptr", f"inttoptr i64 {counters.name} to ptr")
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

    # statements

    def _statement(self, statement: object) -> None:
        if isinstance(statement, Instruction):
            self._instruction(statement)
        elif isinstance(statement, Label):
            self.code.jump(label_name(statement.name))
            self._begin(label_name(statement.name))
        elif isinstance(statement, Variable):
            self.declare(statement)
        elif isinstance(statement, Scope):
            if statement.opens:
                self.open_scope()
            else:
                self.close_scope()

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
        """Begin a block of instructions, which are counted together."""
        self.code.begin(block)
        self._counter = self.module.num_blocks
        self.module.num_blocks += 1
        place = self.code.at(self._counters, 8 * self._counter)
        count = self.code.binary("add", self.code.load("i64", place, 8), constant("i64", 1))
        self.code.store(count, place, 8)

    def jump(self, target: Operand) -> None:
        """Jump to a label; later code can be reached only by labels."""
        self.code.jump(label_name(self.name_of(target)))
        self._begin(self.code.fresh("unreached"))

    def jump_to_one_of(self, index: Value, targets: Operand) -> None:
        """Jump to one of the labels of a `.branchtargets`."""
        labels = self._targets[self.name_of(targets)]
        cases = " ".join(f"i32 {number}, label %{label_name(label)}" for number, label in enumerate(labels))
        self.code.line(f"switch i32 {index.name}, label %faulted [{cases}]")
        self._begin(self.code.fresh("unreached"))

    def leave(self) -> None:
        """Return from the function; later code can be reached only by labels."""
        self._leave()
        self._begin(self.code.fresh("unreached"))

    def _leave(self) -> None:
        if self.function.entry:
            self.set_word(Thread.STATE, constant("i64", DONE))
        self.code.line("ret void")

    def fault(self, fault: int) -> None:
        """End the thread with a fault."""
        self.code.call("void", FAULT, self.block, constant("i64", fault), constant("i64", self.site))
        self.code.jump("faulted")
        self._begin(self.code.fresh("unreached"))

    def call(self, function: str, results: tuple[Operand, ...], arguments: tuple[Operand, ...]) -> None:
        """Call a function of the module, whose parameters are passed in memory."""
        if function not in self.module.functions:
            raise UnknownPtxError(f"the function {function}, which the PTX calls, is not in it")
        places = [self._places[self.name_of(part)] for part in (*results, *arguments)]
        given = "".join(f", ptr {place.name}" for place in places)
        self.code.line(f"call void @{llvm_name(function)}(ptr %thread, ptr %block{given})")

    def meet(self, meeting: int, mode: int, mask: Value, *values: Value) -> None:
        """End the step; the next step continues here, with RESULT and FLAG in the thread record."""
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
        self.code.begin(label)  # counted with the instructions before it


def llvm_name(name: str) -> str:
    """Return a unique LLVM name for a function."""
    return "ptx_" + name.replace("$", ".")


def label_name(name: str) -> str:
    return "L" + name.replace("$", ".")
