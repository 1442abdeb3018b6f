"""Integer arithmetic: sums with carries, products, quotients, and saturation."""

from __future__ import annotations

from typing import Any

from tests.cuda.ptx_machine.code import Value, constant
from tests.cuda.ptx_machine.instructions.registry import instruction
from tests.cuda.ptx_machine.modifiers import Modifiers
from tests.cuda.ptx_machine.syntax import Instruction
from tests.cuda.ptx_machine.types import TYPES, PtxType

_INTEGERS = "usb"


@instruction("add", "addc", "sub", "subc", kinds=_INTEGERS)
def add(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    dst, *sources = i.operands
    a, b = (e.read(source, type) for source in sources)
    if m.flag("sat"):
        e.write(dst, e.code.intrinsic("sadd.sat" if i.name == "add" else "ssub.sat", a, b), type)
        return
    e.write(dst, _sum(e, i.name[:3], a, b, i.name.endswith("c"), m.flag("cc")), type)


def _sum(e: Any, operation: str, a: Value, b: Value, carry_in: bool, carry_out: bool) -> Value:
    """Return a + b or a - b; read the carry or borrow of the previous instruction, and set that for the next one."""
    width = int(a.type[1:])
    wide = f"i{width + 1}" if carry_in or carry_out else a.type
    total = e.code.binary(operation, e.code.resize(a, wide), e.code.resize(b, wide))
    if carry_in:
        total = e.code.binary(operation, total, e.code.resize(e.code.load("i1", e.carry, 1), wide))
    if carry_out:
        top = e.code.binary("lshr", total, constant(wide, width))
        e.code.store(e.code.resize(top, "i1"), e.carry, 1)
    return e.code.resize(total, a.type)


@instruction("mul", kinds=_INTEGERS)
def multiply(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    dst, *sources = i.operands
    a, b = (e.read(source, type) for source in sources)
    product, result = _product(e, a, b, type, m)
    e.write(dst, product, result)


@instruction("mad", "madc", kinds=_INTEGERS)
def multiply_add(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    dst, first, second, third = i.operands
    product, result = _product(e, e.read(first, type), e.read(second, type), type, m)
    e.write(dst, _sum(e, "add", product, e.read(third, result), i.name == "madc", m.flag("cc")), result)


def _product(e: Any, a: Value, b: Value, type: PtxType, m: Modifiers) -> tuple[Value, PtxType]:
    part = m.take("lo", "hi", "wide")
    if part == "lo":
        return e.code.binary("mul", a, b), type
    wide = f"i{2 * type.bits}"
    product = e.code.binary("mul", *(e.code.resize(factor, wide, type.signed) for factor in (a, b)))
    if part == "wide":
        return product, TYPES[f"{type.kind}{2 * type.bits}"]
    if part != "hi":
        raise ValueError
    return e.code.resize(e.code.binary("lshr", product, constant(wide, type.bits)), type.llvm), type


@instruction("div", "rem", kinds="us")
def divide(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    """Divide. Division by zero, which PTX leaves open, gives the results of NVIDIA's GPUs: all bits set, and the
    dividend as the remainder.
    """
    dst, *sources = i.operands
    a, b = (e.read(source, type) for source in sources)
    operation = ("s" if type.signed else "u") + i.name
    zero = e.code.compare("eq", b, constant(b.type, 0))
    special, instead = zero, constant(b.type, -1) if i.name == "div" else a
    if type.signed:  # the only quotient that overflows would end the process
        minus_one = e.code.compare("eq", b, constant(b.type, -1))
        negated = e.code.binary("sub", constant(a.type, 0), a) if i.name == "div" else constant(a.type, 0)
        special, instead = e.code.binary("or", zero, minus_one), e.code.select(zero, instead, negated)
    quotient = e.code.binary(operation, a, e.code.select(special, constant(b.type, 1), b))
    e.write(dst, e.code.select(special, instead, quotient), type)


@instruction("abs", "neg", kinds="s")
def negate(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    dst, source = i.operands
    value = e.read(source, type)
    if i.name == "abs":
        result = e.code.call(type.llvm, f"llvm.abs.{type.llvm}", value, constant("i1", 0))
    else:
        result = e.code.binary("sub", constant(type.llvm, 0), value)
    e.write(dst, result, type)


@instruction("min", "max", kinds="us")
def extreme(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    dst, *sources = i.operands
    a, b = (e.read(source, type) for source in sources)
    e.write(dst, e.code.intrinsic(("s" if type.signed else "u") + i.name, a, b), type)
