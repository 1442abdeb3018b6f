"""Bits: logic, shifts, fields, counts, permutations, and moves that pack or unpack."""

from __future__ import annotations

from typing import Any

from tests.cuda.ptx_machine.code import Value, constant
from tests.cuda.ptx_machine.instructions.registry import instruction
from tests.cuda.ptx_machine.modifiers import Modifiers
from tests.cuda.ptx_machine.syntax import Group, Instruction
from tests.cuda.ptx_machine.types import PRED, U32, PtxType, bits_of


@instruction("and", "or", "xor", kinds="bp")
def logic(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    dst, *sources = i.operands
    e.write(dst, e.code.binary(i.name, *(e.read(source, type) for source in sources)), type)


@instruction("not", kinds="bp")
def invert(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    dst, source = i.operands
    e.write(dst, e.code.negate(e.read(source, type)), type)


@instruction("shl", "shr", kinds="usb")
def shift(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    dst, source, amount = i.operands
    value, count = e.read(source, type), e.code.resize(e.read(amount, U32), f"i{max(type.bits, 32)}")
    if i.name == "shl":
        result = _shifted(e, "shl", value, count)
    elif type.signed:  # a shift beyond the width gives the sign in all bits
        last = constant(count.type, type.bits - 1)
        count = e.code.intrinsic("umin", count, last)
        result = e.code.binary("ashr", value, e.code.resize(count, type.llvm))
    else:
        result = _shifted(e, "lshr", value, count)
    e.write(dst, result, type)


def _shifted(e: Any, operation: str, value: Value, count: Value) -> Value:
    """Return a shift that gives 0 if it exceeds the width."""
    width = int(value.type[1:])
    past = e.code.compare("uge", count, constant(count.type, width))
    inside = e.code.select(past, constant(count.type, 0), count)
    shifted = e.code.binary(operation, value, e.code.resize(inside, value.type))
    return e.code.select(past, constant(value.type, 0), shifted)


@instruction("shf")
def funnel_shift(e: Any, i: Instruction, m: Modifiers) -> None:
    """Shift two registers as one number of 64 bits, and return one half of it."""
    direction, past = m.take("l", "r"), m.take("clamp", "wrap")
    m.take("b32")
    dst, *sources = i.operands
    low, high, count = (e.code.resize(e.read(source, U32), "i64") for source in sources)
    both = e.code.binary("or", low, e.code.binary("shl", high, constant("i64", 32)))
    if past == "wrap":
        count = e.code.binary("and", count, constant("i64", 31))
    else:
        count = e.code.intrinsic("umin", count, constant("i64", 32))
    if direction == "l":
        both = e.code.binary("lshr", e.code.binary("shl", both, count), constant("i64", 32))
    else:
        both = e.code.binary("lshr", both, count)
    e.write(dst, e.code.resize(both, "i32"), U32)


@instruction("bfe", kinds="us")
def extract_field(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    dst, source, first, length = i.operands
    value, begin, size = e.read(source, type), _byte(e, first, type), _byte(e, length, type)
    if not type.signed:
        result = e.code.binary("and", _shifted(e, "lshr", value, begin), _ones(e, size))
    else:  # the sign is the field's last bit, or the number's last bit if the field ends beyond the number
        last = constant(type.llvm, type.bits - 1)
        field = e.code.binary("ashr", value, e.code.intrinsic("umin", begin, last))
        unused = e.code.binary("sub", constant(type.llvm, type.bits), e.code.intrinsic("umin", size, last))
        unused = e.code.intrinsic("umin", unused, last)
        narrowed = e.code.binary("ashr", e.code.binary("shl", field, unused), unused)
        whole = e.code.compare("uge", size, constant(type.llvm, type.bits))
        nothing = e.code.compare("eq", size, constant(type.llvm, 0))
        result = e.code.select(nothing, constant(type.llvm, 0), e.code.select(whole, field, narrowed))
    e.write(dst, result, type)


@instruction("bfi", kinds="b")
def insert_field(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    dst, field, into, first, length = i.operands
    begin, size = _byte(e, first, type), _byte(e, length, type)
    mask = _shifted(e, "shl", _ones(e, size), begin)
    inside = e.code.binary("and", _shifted(e, "shl", e.read(field, type), begin), mask)
    outside = e.code.binary("and", e.read(into, type), e.code.negate(mask))
    e.write(dst, e.code.binary("or", inside, outside), type)


def _byte(e: Any, operand: Any, type: PtxType) -> Value:
    """Return the lower 8 bits of a 32-bit operand."""
    return e.code.resize(e.code.binary("and", e.read(operand, U32), constant("i32", 255)), type.llvm)


def _ones(e: Any, count: Value) -> Value:
    """Return a number whose lowest `count` bits are set."""
    return e.code.negate(_shifted(e, "shl", constant(count.type, -1), count))


@instruction("clz", "popc", kinds="b")
def count_bits(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    dst, source = i.operands
    value = e.read(source, type)
    if i.name == "clz":
        count = e.code.call(type.llvm, f"llvm.ctlz.{type.llvm}", value, constant("i1", 0))
    else:
        count = e.code.intrinsic("ctpop", value)
    e.write(dst, e.code.resize(count, "i32"), U32)


@instruction("bfind", kinds="us")
def find_bit(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    """Return the position of the highest bit that differs from the sign; all bits set if there is none."""
    distance = m.flag("shiftamt")
    dst, source = i.operands
    value = e.read(source, type)
    if type.signed:
        negative = e.code.compare("slt", value, constant(type.llvm, 0))
        value = e.code.select(negative, e.code.negate(value), value)
    zeros = e.code.call(type.llvm, f"llvm.ctlz.{type.llvm}", value, constant("i1", 0))
    place = zeros if distance else e.code.binary("sub", constant(type.llvm, type.bits - 1), zeros)
    none = e.code.compare("eq", value, constant(type.llvm, 0))
    e.write(dst, e.code.resize(e.code.select(none, constant(type.llvm, -1), place), "i32"), U32)


@instruction("brev", kinds="b")
def reverse(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    dst, source = i.operands
    e.write(dst, e.code.intrinsic("bitreverse", e.read(source, type)), type)


@instruction("prmt")
def permute(e: Any, i: Instruction, m: Modifiers) -> None:
    """Permute: each result byte is one of the eight bytes of two registers, or eight copies of the sign of one."""
    m.take("b32")
    dst, *sources = i.operands
    low, high, selectors = (e.code.resize(e.read(source, U32), "i64") for source in sources)
    both = e.code.binary("or", low, e.code.binary("shl", high, constant("i64", 32)))
    result = constant("i32", 0)
    for lane in range(4):
        selector = e.code.binary("lshr", selectors, constant("i64", 4 * lane))
        place = e.code.binary("shl", e.code.binary("and", selector, constant("i64", 7)), constant("i64", 3))
        byte = e.code.resize(e.code.binary("lshr", both, place), "i8")
        sign = e.code.binary("ashr", byte, constant("i8", 7))
        replicates = e.code.resize(e.code.binary("lshr", selector, constant("i64", 3)), "i1")
        wide = e.code.resize(e.code.select(replicates, sign, byte), "i32")
        result = e.code.binary("or", result, e.code.binary("shl", wide, constant("i32", 8 * lane)))
    e.write(dst, result, U32)


@instruction("lop3")
def logic_of_three(e: Any, i: Instruction, m: Modifiers) -> None:
    """Apply any function of three bits: bit n of the table is its value for the bits that form the number n."""
    type = m.type()
    dst, *sources, table = i.operands
    values = [e.read(source, type) for source in sources]
    bits, result = int(table.text, 0), constant(type.llvm, 0)
    for number in range(8):
        if bits >> number & 1:
            term = constant(type.llvm, -1)
            for place, value in enumerate(values):
                factor = value if number >> (2 - place) & 1 else e.code.negate(value)
                term = e.code.binary("and", term, factor)
            result = e.code.binary("or", result, term)
    e.write(dst, result, type)


@instruction("selp", kinds="usbf")
def select(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    dst, first, second, condition = i.operands
    e.write(dst, e.code.select(e.read(condition, PRED), e.read(first, type), e.read(second, type)), type)


@instruction("mov", kinds="usbfp")
def move(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    dst, source = i.operands
    if isinstance(source, Group):
        width = type.bits // len(source.parts)
        whole = constant(type.integer, 0)
        for lane, part in enumerate(source.parts):
            wide = e.code.resize(e.read(part, bits_of(width)), type.integer)
            whole = e.code.binary("or", whole, e.code.binary("shl", wide, constant(type.integer, width * lane)))
        e.write(dst, whole, type)
    elif isinstance(dst, Group):
        width = type.bits // len(dst.parts)
        whole = e.read(source, type)
        for lane, part in enumerate(dst.parts):
            shifted = e.code.binary("lshr", whole, constant(type.integer, width * lane))
            e.write(part, e.code.resize(shifted, f"i{width}"), bits_of(width))
    else:
        e.write(dst, e.read(source, type), type)
