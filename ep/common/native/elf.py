"""The placing of machine code in memory: object files for x86-64 Linux, as LLVM writes them for large code models.

Such a file refers to its own parts and to functions of the process by addresses of 64 bits alone. So it needs no
linker: its sections are copied to new memory, and the addresses are filled in. LLVM's linker does the same with any
file, but first LLVM must be loaded, which takes 90 MB and a tenth of a second. Source: System V ABI, chapter 4
("Object Files"), and its supplement for AMD64.
"""

from __future__ import annotations

import ctypes
import mmap
import re
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

_KIND: Final = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian, version 1
_RELOCATABLE, _X86_64 = 1, 62
FILE: Final = struct.Struct("<16sHH20xQ10x3H")  # kind, type, processor, sections' offset; their size, number, names
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_RELOCATION: Final = struct.Struct("<QQq")
_ADDRESS: Final = struct.Struct("<Q")

_SYMBOLS, RELOCATIONS, NO_BITS, _UNWINDING = 2, 4, 8, 0x70000001  # types of sections
_WRITABLE, _LOADED = 1, 2  # flags of sections
_R_X86_64_64: Final = 1
_UNDEFINED: Final = 0  # the section of a symbol that the file does not define
_GLOBAL: Final = 1  # how such a symbol is bound, if it must be found
_TABLE: Final = "_GLOBAL_OFFSET_TABLE_"  # which the linker makes

MOST_STACK: Final = 2**14
"""The most bytes of the stack that a launch may take, in all functions that call each other."""
MOST_FRAME: Final = MOST_STACK - 6 * 2**10
"""The most bytes of them that one function may take for itself; the others are for its callers."""
_SUBTRACTED: Final = re.compile(rb"\x48\x81\xec(....)", re.DOTALL)  # a number of 32 bits, from the stack pointer

_keep: Final = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))


class NotPlaceableError(Exception):
    """Raised for a file that needs a linker, or that is no object file for x86-64."""


class DamagedError(NotPlaceableError):
    """Raised for a file that is cut short, contradicts itself, or lacks a function: no linker helps."""


class Section(NamedTuple):
    """The header of a section, as files have it."""

    name: int
    kind: int
    flags: int
    address: int
    begin: int
    size: int
    link: int
    info: int
    alignment: int
    entry_bytes: int

    @property
    def is_loaded(self) -> bool:
        """Whether it is part of the process, and more than a table for unwinding the stack."""
        return bool(self.flags & _LOADED) and self.kind != _UNWINDING


class Symbol(NamedTuple):
    """A symbol, as files have it."""

    name: int
    info: int
    other: int
    section: int
    value: int
    size: int


def place(machine_code: bytes, names: Sequence[str], address_of: Callable[[str], int]) -> tuple[int, ...]:
    """Return the addresses of the functions `names` of an object file, whose code is placed in memory.

    address_of: returns the address of a function of the process by its name.

    Raises NotPlaceableError, and what `address_of` raises.
    """
    if sys.platform != "linux":
        raise NotPlaceableError("the system is not Linux")
    try:
        return _place(machine_code, names, address_of)
    except (struct.error, LookupError, ValueError) as error:
        raise DamagedError(f"damaged object file: {error!r}") from error


def undefined(code: bytes) -> list[str]:
    """Return the names of the functions that an object file of any processor calls, and does not have; an empty list
    for a file of another format. Raises DamagedError.
    """
    if not code.startswith(_KIND):
        return []
    try:
        sections = sections_of(code)
        symbols, texts = symbols_of(code, sections)
        names = [name_of(one, texts) for one in symbols if one.section == _UNDEFINED and one.info >> 4 == _GLOBAL]
    except (struct.error, LookupError, ValueError) as error:
        raise DamagedError(f"damaged object file: {error!r}") from error
    return [name for name in names if name and name != _TABLE]


def has_small_frames(machine_code: bytes) -> bool:
    """Return whether no function takes more than `MOST_FRAME` of the stack; only known of code for x86-64."""
    numbers = (int.from_bytes(number, "little", signed=True) for number in _SUBTRACTED.findall(machine_code))
    return all(number <= MOST_FRAME for number in numbers)


def _place(code: bytes, names: Sequence[str], address_of: Callable[[str], int]) -> tuple[int, ...]:
    sections = _sections(code)
    offsets, size = _layout(sections)
    memory = mmap.mmap(-1, max(size, 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for number, offset in offsets.items():
        memory[offset : offset + sections[number].size] = bytes_of(code, sections[number])
    symbols, texts = symbols_of(code, sections)
    known: dict[int, int] = {}

    def address(number: int) -> int:
        if number not in known:
            symbol = symbols[number]
            if symbol.section == _UNDEFINED:
                known[number] = address_of(name_of(symbol, texts))
            else:
                known[number] = base + offsets[symbol.section] + symbol.value
        return known[number]

    for section, offset, number, addend in _relocations(code, sections, offsets):
        if offset + _ADDRESS.size > sections[section].size:
            raise ValueError("an address outside of its section")
        _ADDRESS.pack_into(memory, offsets[section] + offset, (address(number) + addend) % 2**64)
    _protect(base, len(memory))
    _keep(memory)  # for ever: daemon threads may be in this code after the interpreter has freed all modules
    wanted = {name_of(symbol, texts): number for number, symbol in enumerate(symbols) if symbol.section in offsets}
    return tuple(address(wanted[name]) for name in names)


def _sections(code: bytes) -> list[Section]:
    kind, file_type, processor, _, size, *_ = FILE.unpack_from(code)
    if not kind.startswith(_KIND) or (file_type, processor) != (_RELOCATABLE, _X86_64) or size != _SECTION.size:
        raise NotPlaceableError("not an object file for x86-64 Linux")
    found = sections_of(code)
    for section in found:
        if section.flags & _LOADED and (section.flags & _WRITABLE or section.kind == NO_BITS):
            raise NotPlaceableError("it has variables")
        if section.flags & _LOADED and section.size > len(code):
            raise ValueError("a section is larger than the file")
    return found


def sections_of(code: bytes) -> list[Section]:
    """Return the sections of an object file of any processor."""
    *_, begin, size, number, _ = FILE.unpack_from(code)
    places = range(begin, begin + max(size, 1) * number, max(size, 1))
    return [Section(*_SECTION.unpack_from(code, place)) for place in places]


def symbols_of(code: bytes, sections: Sequence[Section]) -> tuple[list[Symbol], bytes]:
    """Return the symbols, and the texts with their names."""
    table, *_ = (section for section in sections if section.kind == _SYMBOLS)
    symbols = [Symbol(*found) for found in _SYMBOL.iter_unpack(bytes_of(code, table))]
    return symbols, bytes_of(code, sections[table.link])


def name_of(symbol: Symbol | Section, texts: bytes) -> str:
    """Return the name of a symbol or a section. texts: those of the file's symbols, or of its sections."""
    return texts[symbol.name : texts.index(b"\0", symbol.name)].decode()


def _layout(sections: Sequence[Section]) -> tuple[dict[int, int], int]:
    """Return where each section that is loaded begins, and the bytes of all.

    Tables for unwinding the stack are left out: no exception passes through kernels.
    """
    offsets, end = {}, 0
    for number, section in enumerate(sections):
        if section.is_loaded:
            end += -end % max(section.alignment, 1)
            if section.alignment > mmap.PAGESIZE:
                raise NotPlaceableError("a section is aligned to more than a page")
            offsets[number] = end
            end += section.size
    return offsets, end


def _relocations(
    code: bytes, sections: Sequence[Section], offsets: dict[int, int]
) -> Iterator[tuple[int, int, int, int]]:
    """Yield section, offset, symbol's number and addend of each address to fill in."""
    for section in sections:
        if section.kind == RELOCATIONS and section.info in offsets:
            for offset, number, kind, addend in relocations_of(code, section):
                if kind != _R_X86_64_64:
                    raise NotPlaceableError(f"relocations of type {kind}")
                yield section.info, offset, number, addend


def relocations_of(code: bytes, section: Section) -> Iterator[tuple[int, int, int, int]]:
    """Yield the offset, the symbol's number, the type and the addend of each relocation of a section of these."""
    for offset, what, addend in _RELOCATION.iter_unpack(bytes_of(code, section)):
        yield offset, what >> 32, what & 0xFFFFFFFF, addend


def bytes_of(code: bytes, section: Section) -> bytes:
    """Return the contents of a section that has some in the file. Raises ValueError if the file is cut short."""
    found = code[section.begin : section.begin + section.size]
    if len(found) != section.size:
        raise ValueError("the file is cut short")
    return found


@cache
def _mprotect() -> Any:
    function = ctypes.CDLL(None, use_errno=True).mprotect
    function.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    return function


def _protect(address: int, size: int) -> None:
    """Make memory executable, and no longer writable."""
    if _mprotect()(address, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        raise OSError(ctypes.get_errno(), "the system does not let memory be made executable")
