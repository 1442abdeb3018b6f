"""Atomic operations on memory. Threads run in turn, so each is a load and a store."""

from __future__ import annotations

from typing import Any

from tests.cuda.ptx_machine.code import Value, constant
from tests.cuda.ptx_machine.instructions.memory import space_and_flags
from tests.cuda.ptx_machine.instructions.registry import instruction
from tests.cuda.ptx_machine.layout import Access
from tests.cuda.ptx_machine.modifiers import Modifiers
from tests.cuda.ptx_machine.syntax import Instruction
from tests.cuda.ptx_machine.types import PtxType


@instruction("atom", "red", kinds="usbf")
def update(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    operation = m.take("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")
    m.take("noftz")
    space, flags = space_and_flags(m, Access.READ | Access.WRITE | Access.STRONG)
    dst, (place, *sources) = (i.operands[0], i.operands[1:]) if i.name == "atom" else (None, i.operands)
    values = [e.read(source, type) for source in sources]
    pointer = e.access(space, e.address(place), type.bytes, flags)
    old = e.code.load(type.llvm, pointer, type.bytes)
    e.code.store(_new(e, operation, old, values, type), pointer, type.bytes)
    if dst is not None:
        e.write(dst, old, type)


def _new(e: Any, operation: str, old: Value, values: list[Value], type: PtxType) -> Value:
    if operation == "cas":
        compared, new = values
        return e.code.select(e.code.compare("eq", old, compared), new, old)
    (value,) = values
    if operation == "exch":
        return value
    if operation in ("and", "or", "xor"):
        return e.code.binary(operation, old, value)
    if operation == "add":
        return e.code.binary("fadd" if type.kind == "f" else "add", old, value)
    if operation in ("min", "max") and type.kind in "us":
        return e.code.intrinsic(("s" if type.signed else "u") + operation, old, value)
    if operation == "inc":
        more = e.code.binary("add", old, constant(old.type, 1))
        return e.code.select(e.code.compare("uge", old, value), constant(old.type, 0), more)
    if operation == "dec":
        less = e.code.binary("sub", old, constant(old.type, 1))
        is_last = e.code.compare("eq", old, constant(old.type, 0))
        past = e.code.binary("or", is_last, e.code.compare("ugt", old, value))
        return e.code.select(past, value, less)
    raise ValueError
