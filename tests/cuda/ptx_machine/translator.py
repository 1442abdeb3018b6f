"""Translates PTX into an LLVM module.

This file has the state that the functions of a module share; `function` translates one of them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tests.cuda.ptx_machine.code import LlvmModule, constant
from tests.cuda.ptx_machine.function import FunctionTranslator
from tests.cuda.ptx_machine.instructions import MEETINGS
from tests.cuda.ptx_machine.layout import Thread
from tests.cuda.ptx_machine.operands import literal_bits
from tests.cuda.ptx_machine.parser import parse
from tests.cuda.ptx_machine.syntax import Instruction, Module, UnknownPtxError, Variable
from tests.cuda.ptx_machine.types import TYPES


@dataclass
class Translation:
    """A module in LLVM's assembly language, and the data needed to run it.

    record_words: the words of a thread record; local_offset, local_bytes: the place of local memory in it.
    shared_bytes: of static shared memory on a GPU; dynamic_offset: where the dynamic one begins in the machine's.
    memory: the names and sizes of the module's variables in global and constant memory.
    sites: all instructions, and `blocks`: for each of them the counter of its executions.
    """

    llvm: str
    num_parameters: int
    record_words: int
    local_offset: int
    local_bytes: int
    shared_bytes: int
    dynamic_offset: int
    meets: bool
    memory: dict[str, int]
    sites: list[Instruction]
    blocks: list[int]
    num_blocks: int


def translate(text: str) -> Translation:
    """Translate PTX with one entry; raise UnknownPtxError for PTX that the machine does not know."""
    return ModuleTranslator(parse(text)).translate()


class ModuleTranslator:
    """The state that the functions of a module share."""

    def __init__(self, module: Module) -> None:
        entries = [function for function in module.functions if function.entry]
        if len(entries) != 1:
            raise UnknownPtxError(f"{len(entries)} entries in one text; the machine runs one")
        self.entry, self.functions = entries[0], {function.name: function for function in module.functions}
        self.variables = {variable.name: variable for variable in module.variables if variable.space != "reg"}
        self.llvm = LlvmModule()
        self.shared: dict[str, int] = {}
        self.shared_bytes = 0
        self.local_words: list[str] = []
        self.local_bytes = 0
        self.record_words = len(Thread)
        self.memory: dict[str, int] = {}
        self.sites: list[Instruction] = []
        self.blocks: list[int] = []
        self.num_blocks = 0

    def translate(self) -> Translation:
        dynamic_offset = self.allot_shared()
        meets = any(is_meeting(statement) for statement in self.entry.body)
        for function in self.functions.values():
            FunctionTranslator(self, function, function.entry and meets).translate()
        local_offset = 8 * self.record_words
        return Translation(
            self.llvm.text(),
            len(self.entry.parameters),
            self.record_words + -(-self.local_bytes // 8),
            local_offset,
            self.local_bytes,
            self.shared_bytes,
            dynamic_offset,
            meets,
            self.memory,
            self.sites,
            self.blocks,
            self.num_blocks,
        )

    def allot_shared(self) -> int:
        """Allot all variables in shared memory their offsets, and return that of the dynamic part: all variables
        without a size begin there.
        """
        given = [*self.variables.values(), *(one for function in self.functions.values() for one in function.body)]
        variables = [one for one in given if isinstance(one, Variable) and one.space == "shared"]
        end, dynamic = 0, [one for one in variables if not one.count]
        for variable in variables:
            if variable.count:
                self.shared_bytes += -self.shared_bytes % _alignment(variable) + _bytes_of(variable)
                self.shared[variable.name] = _barely_aligned(end, _alignment(variable))
                end = self.shared[variable.name] + _bytes_of(variable)
        alignment = max(map(_alignment, dynamic), default=1)
        self.shared_bytes += -self.shared_bytes % alignment
        offset = _barely_aligned(end, alignment)
        self.shared |= {variable.name: offset for variable in dynamic}
        return offset

    def add_local(self, variable: Variable) -> int:
        """Return the offset of a variable in local memory. Each function has its own part: none is recursive."""
        self.local_bytes += -self.local_bytes % 16
        offset = self.local_bytes
        self.local_bytes += _bytes_of(variable)
        return offset

    def memory_address(self, variable: Variable) -> str:
        """Return the LLVM variable of a variable in global or constant memory."""
        name = f"memory_{hashlib.sha256(variable.name.encode()).hexdigest()[:16]}"
        if name not in self.memory:
            type = TYPES[variable.type]
            numbers = [literal_bits(value, type) for value in variable.values]
            numbers += [0] * (variable.count - len(numbers))
            contents = ", ".join(f"{type.integer} {constant(type.integer, number).name}" for number in numbers)
            self.llvm.variables[name] = (
                f"@{name} = global [{len(numbers)} x {type.integer}] [{contents}], align {max(variable.alignment, 16)}"
            )
            self.memory[name] = _bytes_of(variable)
        return name


def is_meeting(statement: object) -> bool:
    """Return whether a statement is an instruction that synchronises threads."""
    return isinstance(statement, Instruction) and statement.name in MEETINGS


def _alignment(variable: Variable) -> int:
    return max(variable.alignment, TYPES[variable.type].bytes)


def _barely_aligned(offset: int, alignment: int) -> int:
    """Return the first multiple of `alignment` from `offset` on that is none of a larger power of two.

    So an access that needs a larger alignment than a variable declares is a fault.
    """
    return offset + (alignment - offset) % (2 * alignment)


def _bytes_of(variable: Variable) -> int:
    return variable.count * TYPES[variable.type].bytes
