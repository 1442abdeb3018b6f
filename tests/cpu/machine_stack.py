"""The stack that the machine code of kernels uses: the frames of functions and their calls, read from object files.

Only code for x86-64 is read. This needs no disassembler: the lengths of instructions follow from a few tables, and few
instructions change the stack pointer. Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2,
chapter 2 ("Instruction Format") and appendix A ("Opcode Map").
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ep.common.native import elf

WORD = 8
_RSP, _RBP = 4, 5
_EXECUTABLE = 4  # a flag of sections
_FUNCTION, _SECTION = 2, 3  # types of symbols
_CHANGED_BY_CALLS = {0, 1, 2, 6, 7, 8, 9, 10, 11}
_NO_OPERAND = {
    *(opcode for row in range(0, 0x40, 8) for opcode in range(row + 4, row + 8)),
    *range(0x40, 0x62),
    *range(0x64, 0x80),
    *range(0x90, 0xC0),
    *(0xC2, 0xC3, *range(0xC8, 0xD0), *range(0xE0, 0xF0), 0xF4, 0xF5, *range(0xF8, 0xFE)),
} - {0x69, 0x6B}
"""Opcodes without an operand in registers or memory, that is, without a ModRM byte."""
_IMMEDIATE = (
    dict.fromkeys((*range(0x04, 0x40, 8), *range(0x70, 0x80), *range(0xB0, 0xB8), *range(0xE0, 0xE8)), 1)
    | dict.fromkeys((0x6A, 0x6B, 0x80, 0x83, 0xA8, 0xC0, 0xC1, 0xC6, 0xCD, 0xEB), 1)
    | dict.fromkeys((*range(0x05, 0x40, 8), 0x68, 0x69, 0x81, 0xA9, 0xC7, 0xE8, 0xE9), 4)
    | dict.fromkeys((0xC2, 0xCA), 2)
    | dict.fromkeys(range(0xA0, 0xA4), 8)
)
"""The bytes of immediate operands, by opcode; 4 are 2 after the prefix 66."""
_NO_OPERAND_0F = {0x05, 0x0B, 0x31, 0x77, 0xA0, 0xA1, 0xA2, 0xA8, 0xA9, *range(0x80, 0x90), *range(0xC8, 0xD0)}
_IMMEDIATE_0F = {0x70, 0x71, 0x72, 0x73, 0xA4, 0xAC, 0xBA, 0xC2, 0xC4, 0xC5, 0xC6}
_CALL, _JUMP = 2, 4  # of the opcode FF, in the place of a register


class Instruction(NamedTuple):
    """An instruction. table: 1 after the prefix 0F, 2 and 3 after 0F 38 and 0F 3A, else 0.

    reg, base: the numbers of registers in the ModRM byte, else -1; base is no address if `direct`.
    """

    at: int
    end: int
    table: int
    opcode: int
    reg: int
    base: int
    direct: bool
    displacement: int
    immediate: int


def instructions(code: bytes, begin: int, end: int) -> Iterator[Instruction]:
    """Yield the instructions of a function."""
    while begin < end:
        found = _instruction(code, begin)
        yield found
        begin = found.end
    if begin != end:
        raise ValueError(f"an instruction ends at {begin:#x}, behind the end of its function, {end:#x}")


def _instruction(code: bytes, begin: int) -> Instruction:
    at, rex, narrow = begin, 0, False
    while code[at] in (0x66, 0xF2, 0xF3, 0x2E, 0x36, 0x3E, 0x26, 0x64, 0x65, 0xF0):
        narrow |= code[at] == 0x66
        at += 1
    if code[at] in (0xC4, 0xC5, 0x62):  # the prefixes of vectors
        table = 1 if code[at] == 0xC5 else code[at + 1] & (7 if code[at] == 0x62 else 31)
        at += {0xC5: 2, 0xC4: 3, 0x62: 4}[code[at]]
        opcode = code[at]
        has_operand = (table, opcode) != (1, 0x77)
        bytes_of_immediate = table == 3 or (table == 1 and opcode in _IMMEDIATE_0F)
    else:
        if code[at] & 0xF0 == 0x40:
            rex, at = code[at], at + 1
        table = 0
        if code[at] == 0x0F:
            table, at = {0x38: (2, at + 2), 0x3A: (3, at + 2)}.get(code[at + 1], (1, at + 1))
        opcode = code[at]
        has_operand = opcode not in (_NO_OPERAND, _NO_OPERAND_0F, (), ())[table]
        bytes_of_immediate = table == 3 or (table == 1 and opcode in _IMMEDIATE_0F)
        if table == 1 and 0x80 <= opcode < 0x90:
            bytes_of_immediate = 4
        if table == 0:
            bytes_of_immediate = _IMMEDIATE.get(opcode, 0)
            if 0xB8 <= opcode < 0xC0:
                bytes_of_immediate = 8 if rex & 8 else 4
            elif opcode in (0xF6, 0xF7) and code[at + 1] >> 3 & 7 < 2:
                bytes_of_immediate = 1 if opcode == 0xF6 else 4
            if narrow and bytes_of_immediate == 4 and opcode not in (0xE8, 0xE9):
                bytes_of_immediate = 2
    at += 1
    reg, base, direct, displacement = -1, -1, False, 0
    if has_operand:
        mode, reg, base = code[at] >> 6, code[at] >> 3 & 7 | (rex & 4) << 1, code[at] & 7
        at += 1
        direct, size = mode == 3, (0, 1, 4, 0)[mode]
        if not direct and base == 4:  # a byte of base and index follows
            base = code[at] & 7
            at += 1
            size = 4 if mode == 0 and base == 5 else size
        elif mode == 0 and base == 5:
            size = 4
        base |= (rex & 1) << 3
        displacement = int.from_bytes(code[at : at + size], "little", signed=True)
        at += size
    end = at + bytes_of_immediate
    immediate = int.from_bytes(code[at:end], "little", signed=True)
    return Instruction(begin, end, table, opcode, reg, base, direct, displacement, immediate)


@dataclass
class Function:
    """A function of an object file.

    frame: the most bytes of stack, with the return address, and without what it calls. by_address: whether it calls a
    function whose name the file does not tell. calls: the names of all others.
    """

    name: str
    frame: int = WORD
    by_address: bool = False
    calls: set[str] = field(default_factory=set)


def functions(machine_code: bytes) -> dict[str, Function]:
    """Return the functions of an object file by their names."""
    sections = elf.sections_of(machine_code)
    symbols, texts = elf.symbols_of(machine_code, sections)
    names = [elf.name_of(symbol, texts) for symbol in symbols]
    found = {}
    for number, section in enumerate(sections):
        if not section.flags & _EXECUTABLE:
            continue
        code = elf.bytes_of(machine_code, section)
        addresses = {}
        for each in sections:
            if each.kind == elf.RELOCATIONS and each.info == number:
                for offset, target, *_ in elf.relocations_of(machine_code, each):
                    addresses[offset] = target
        for symbol, name in zip(symbols, names, strict=True):
            if symbol.section == number and symbol.info & 15 == _FUNCTION:
                called = {
                    offset: names[target]
                    for offset, target in addresses.items()
                    if symbols[target].info & 15 != _SECTION  # these are constants
                }
                found[name] = _function(name, code, symbol.value, symbol.value + symbol.size, called)
    return found


def _function(name: str, code: bytes, begin: int, end: int, called: dict[int, str]) -> Function:
    of, depth, at_base, named = Function(name), WORD, None, set[int]()
    for each in instructions(code, begin, end):
        opcode, low = each.opcode, opcode_register(code, each)
        if each.end - WORD in called:  # the address of a function is an immediate of 8 bytes
            of.calls.add(called[each.end - WORD])
            named.add(low)
        elif each.table == 0 and opcode == 0xFF and each.reg & 7 == _CALL:
            of.by_address |= not each.direct or each.base not in named
            named -= _CHANGED_BY_CALLS
        elif each.table == 0 and opcode in (0x8B, 0x8D, 0x63):
            named.discard(each.reg)
        elif each.table == 0 and opcode == 0x89 and each.direct:
            named.discard(each.base)
        elif (each.table == 1 and 0x40 <= opcode < 0x50) or (each.table == 0 and 0xB8 <= opcode < 0xC0):
            named.discard(each.reg if each.table else low)
        if each.table == 0:
            depth, at_base = _depth_after(of, each, depth, at_base)
        of.frame = max(of.frame, depth)
    return of


def opcode_register(code: bytes, each: Instruction) -> int:
    """Return the register that an opcode of one byte names in its last bits."""
    rex = code[each.at] if code[each.at] & 0xF0 == 0x40 else 0
    return each.opcode & 7 | (rex & 1) << 3


def _depth_after(of: Function, each: Instruction, depth: int, at_base: int | None) -> tuple[int, int | None]:
    """Return the bytes of stack after an instruction, and those at the address in the base register."""
    opcode, to_stack = each.opcode, each.direct and each.base == _RSP
    kind = each.reg & 7 if each.reg >= 0 else -1
    if 0x50 <= opcode < 0x58 or opcode in (0x68, 0x6A) or (opcode == 0xFF and kind == 6):
        depth += WORD
    elif 0x58 <= opcode < 0x60 or opcode == 0x8F:
        depth -= WORD
    elif opcode in (0x81, 0x83) and to_stack and kind in (0, 4, 5):
        # after an alignment, the frame is as large as it can be
        depth += {0: -each.immediate, 4: -each.immediate - WORD, 5: each.immediate}[kind]
    elif opcode == 0x89 and each.direct and each.reg == _RSP and each.base == _RBP:
        at_base = depth
    elif opcode == 0x89 and to_stack and each.reg == _RBP and at_base is not None:
        depth = at_base
    elif opcode == 0x8D and each.reg == _RSP and each.base == _RBP and at_base is not None:
        depth = at_base - each.displacement
    elif opcode == 0xC9 and at_base is not None:
        depth = at_base - WORD
    elif opcode == 0xC3 or (depth == WORD and (opcode in (0xE9, 0xEB) or (opcode == 0xFF and kind == _JUMP))):
        depth = of.frame  # what follows belongs to another path
    elif (opcode in (0x01, 0x29, 0x89) and to_stack) or (opcode in (0x03, 0x2B, 0x8B, 0x8D) and each.reg == _RSP):
        raise ValueError(f"{of.name} moves the stack pointer by a number that is not in the code, at {each.at:#x}")
    return depth, at_base
