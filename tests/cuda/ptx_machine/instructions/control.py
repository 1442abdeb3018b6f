"""Branches, calls, and the ends of functions and threads."""

from __future__ import annotations

from typing import Any

from tests.cuda.ptx_machine.instructions.registry import instruction
from tests.cuda.ptx_machine.layout import Fault
from tests.cuda.ptx_machine.modifiers import Modifiers
from tests.cuda.ptx_machine.syntax import Group, Instruction
from tests.cuda.ptx_machine.types import U32


@instruction("bra")
def branch(e: Any, i: Instruction, m: Modifiers) -> None:
    m.take("uni")
    (target,) = i.operands
    e.jump(target)


@instruction("brx")
def branch_by_index(e: Any, i: Instruction, m: Modifiers) -> None:
    m.take("uni")
    m.take("idx")
    index, targets = i.operands
    e.jump_to_one_of(e.read(index, U32), targets)


@instruction("call")
def call(e: Any, i: Instruction, m: Modifiers) -> None:
    m.take("uni")
    results, rest = (), i.operands
    if isinstance(rest[0], Group):
        results, rest = rest[0].parts, rest[1:]
    function, *arguments = rest
    given = arguments[0].parts if arguments else ()
    e.call(e.name_of(function), results, given)


@instruction("ret")
def leave(e: Any, i: Instruction, m: Modifiers) -> None:
    m.take("uni")
    e.leave()


@instruction("exit")
def end(e: Any, i: Instruction, m: Modifiers) -> None:
    if not e.function.entry:
        raise ValueError
    e.leave()


@instruction("trap")
def trap(e: Any, i: Instruction, m: Modifiers) -> None:
    e.fault(Fault.TRAP)
