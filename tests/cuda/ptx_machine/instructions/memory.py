"""Loads, stores, and addresses."""

from __future__ import annotations

from typing import Any, Final

from tests.cuda.ptx_machine.instructions.registry import instruction
from tests.cuda.ptx_machine.layout import Access, Block
from tests.cuda.ptx_machine.modifiers import Modifiers
from tests.cuda.ptx_machine.syntax import Address, Group, Instruction, Name
from tests.cuda.ptx_machine.types import U64

_SPACES: Final = ("global", "const", "shared", "local", "param")
_STRONG: Final = ("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio")
_SCOPES: Final = ("cta", "cluster", "gpu", "sys")
_CACHES: Final = ("ca", "cg", "cs", "cv", "lu", "wb", "wt", "nc")


def space_and_flags(m: Modifiers, flags: int) -> tuple[str, int]:
    """Take the modifiers of an access: its space and its flags; cache hints are ignored."""
    m.take("cta", "cluster", *_SCOPES)
    strong = m.take(*_STRONG)
    m.take("weak")
    m.take(*_CACHES)
    m.take(*_CACHES)
    for word in list(m.left):
        if word.startswith(("L1::", "L2::")):
            m.left.remove(word)
    space = m.take("shared::cta") and "shared"
    return space or m.take(*_SPACES), flags | (Access.STRONG if strong else 0)


@instruction("ld", "ldu")
def load(e: Any, i: Instruction, m: Modifiers) -> None:
    type, vector = m.type(), m.take("v2", "v4", "v8")
    space, flags = space_and_flags(m, Access.READ)
    dst, source = i.operands
    parts = dst.parts if isinstance(dst, Group) else (dst,)
    if len(parts) != int(vector[1:] or 1):
        raise ValueError
    pointer = _pointer(e, space, source, type.bytes * len(parts), flags)
    values = [e.code.load(type.llvm, e.code.at(pointer, lane * type.bytes), type.bytes) for lane in range(len(parts))]
    for part, value in zip(parts, values, strict=True):
        e.write(part, value, type)


@instruction("st")
def store(e: Any, i: Instruction, m: Modifiers) -> None:
    type, vector = m.type(), m.take("v2", "v4", "v8")
    space, flags = space_and_flags(m, Access.WRITE)
    place, source = i.operands
    parts = source.parts if isinstance(source, Group) else (source,)
    if len(parts) != int(vector[1:] or 1):
        raise ValueError
    values = [e.read(part, type) for part in parts]
    pointer = _pointer(e, space, place, type.bytes * len(parts), flags)
    for lane, value in enumerate(values):
        e.code.store(value, e.code.at(pointer, lane * type.bytes), type.bytes)


def _pointer(e: Any, space: str, operand: Any, size: int, flags: int) -> Any:
    if space == "param":
        if not isinstance(operand, Address) or not isinstance(operand.base, Name):
            raise ValueError
        return e.code.at(e.place(operand.base.text), operand.offset)
    return e.access(space, e.address(operand), size, flags)


@instruction("cvta")
def convert_address(e: Any, i: Instruction, m: Modifiers) -> None:
    """Convert between generic addresses and those of a space; only those of shared memory differ."""
    m.take("u64")
    to_space, space = m.flag("to"), m.take("shared::cta", *_SPACES)
    dst, source = i.operands
    address = e.read(source, U64)
    if space.startswith("shared"):
        address = e.code.binary("sub" if to_space else "add", address, e.block_word(Block.SHARED))
    e.write(dst, address, U64)


@instruction("membar", "fence")
def fence(e: Any, i: Instruction, m: Modifiers) -> None:
    """Do nothing: threads run in turn, so each sees all earlier writes."""
    m.left.clear()
