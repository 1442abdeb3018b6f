"""Instructions that synchronise threads: barriers, shuffles, votes, and reductions over a warp."""

from __future__ import annotations

from typing import Any, Final

from tests.cuda.ptx_machine.code import Value
from tests.cuda.ptx_machine.instructions.registry import instruction
from tests.cuda.ptx_machine.layout import Match, Meeting, Reduction, Shuffle, Thread, Vote
from tests.cuda.ptx_machine.modifiers import Modifiers
from tests.cuda.ptx_machine.syntax import Group, Instruction, Operand
from tests.cuda.ptx_machine.types import PRED, TYPES, U32, PtxType

_REDUCTIONS: Final = {
    ("add", "s"): Reduction.ADD,
    ("add", "u"): Reduction.ADD,
    ("min", "s"): Reduction.MIN_SIGNED,
    ("max", "s"): Reduction.MAX_SIGNED,
    ("min", "u"): Reduction.MIN_UNSIGNED,
    ("max", "u"): Reduction.MAX_UNSIGNED,
    ("and", "b"): Reduction.AND,
    ("or", "b"): Reduction.OR,
    ("xor", "b"): Reduction.XOR,
}


@instruction("bar", "barrier", meets=True)
def barrier(e: Any, i: Instruction, m: Modifiers) -> None:
    """Synchronise all threads of the block; `.warp`: the lanes of a warp, which also orders memory among them."""
    if m.flag("warp"):
        m.take("sync")
        e.meet(Meeting.WARP_BARRIER, 0, e.read(i.operands[0], U32))
        return
    m.take("cta")
    m.take("aligned")
    if m.flag("sync"):
        (number,) = i.operands  # a barrier of only some of the threads is not supported
        e.meet(Meeting.BARRIER, Vote.NONE, e.read(number, U32))
        return
    if not m.flag("red"):
        raise ValueError
    type, how = m.type(), m.take("popc", "and", "or")
    dst, number, value = i.operands
    e.meet(Meeting.BARRIER, {"popc": Vote.POPC, "and": Vote.ALL, "or": Vote.ANY}[how], *_predicate(e, number, value))
    _take(e, dst, type)


def _predicate(e: Any, mask: Operand, value: Operand) -> tuple[Value, Value]:
    return e.read(mask, U32), e.code.resize(e.read(value, PRED), "i64")


def _take(e: Any, dst: Operand, type: PtxType) -> None:
    """Write the result of the synchronisation."""
    e.write(dst, e.code.resize(e.thread_word(Thread.RESULT), type.integer), type)


@instruction("shfl", meets=True)
def shuffle(e: Any, i: Instruction, m: Modifiers) -> None:
    if not m.flag("sync"):
        raise ValueError
    type, mode = m.type(), getattr(Shuffle, m.take("up", "down", "bfly", "idx").upper())
    dst, value, distance, limits, mask = i.operands
    given = [e.code.resize(e.read(part, type), "i64") for part in (value, distance, limits)]
    e.meet(Meeting.SHUFFLE, mode, e.read(mask, U32), *given)
    result, *flag = dst.parts if isinstance(dst, Group) else (dst,)
    _take(e, result, type)
    if flag:
        e.write(flag[0], e.code.resize(e.thread_word(Thread.FLAG), "i1"), PRED)


@instruction("vote", meets=True)
def vote(e: Any, i: Instruction, m: Modifiers) -> None:
    if not m.flag("sync"):
        raise ValueError
    type, mode = m.type(), getattr(Vote, m.take("all", "any", "uni", "ballot").upper())
    dst, value, mask = i.operands
    e.meet(Meeting.VOTE, mode, *_predicate(e, mask, value))
    _take(e, dst, type)


@instruction("redux", kinds="usb", meets=True)
def reduce(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    if not m.flag("sync"):
        raise ValueError
    dst, value, mask = i.operands
    mode = _REDUCTIONS[m.take("add", "min", "max", "and", "or", "xor"), type.kind]
    e.meet(Meeting.REDUCE, mode, e.read(mask, U32), e.code.resize(e.read(value, type), "i64", type.signed))
    _take(e, dst, type)


@instruction("match", kinds="b", meets=True)
def match(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    """Return the lanes that have the same value; `.all`: all lanes or no lane, with a predicate that says which."""
    m.take("sync")
    mode = getattr(Match, m.take("any", "all").upper())
    dst, value, mask = i.operands
    e.meet(Meeting.MATCH, mode, e.read(mask, U32), e.code.resize(e.read(value, type), "i64"))
    result, *flag = dst.parts if isinstance(dst, Group) else (dst,)
    _take(e, result, TYPES["b32"])
    if flag:
        e.write(flag[0], e.code.resize(e.thread_word(Thread.FLAG), "i1"), PRED)
