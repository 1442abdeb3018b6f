"""Conversions between types of numbers."""

from __future__ import annotations

from typing import Any, Final

from tests.cuda.ptx_machine.code import Value, constant
from tests.cuda.ptx_machine.instructions.floats import ROUNDING, flush, saturate
from tests.cuda.ptx_machine.instructions.registry import instruction
from tests.cuda.ptx_machine.instructions.rounding import rounded
from tests.cuda.ptx_machine.modifiers import Modifiers
from tests.cuda.ptx_machine.syntax import Instruction
from tests.cuda.ptx_machine.types import F32, PtxType

_TO_INTEGRAL: Final = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
_HALF_NAN: Final = 0x7FFF


@instruction("cvt")
def convert(e: Any, i: Instruction, m: Modifiers) -> None:
    src, dst = m.type(), m.type()
    target, *sources = i.operands
    if dst.lanes == 2:  # the first operand becomes the upper half
        if len(sources) != 2 or src is not F32 or m.take(*ROUNDING) != "rn":
            raise ValueError
        high, low = (_to_half(e, e.read(source, src), dst.name.removesuffix("x2")) for source in sources)
        upper = e.code.binary("shl", e.code.resize(high, "i32"), constant("i32", 16))
        e.write(target, e.code.binary("or", upper, e.code.resize(low, "i32")), dst)
        return
    (source,) = sources
    value = e.read(source, src)
    if dst.kind == "h":
        if src is not F32 or m.take(*ROUNDING) != "rn":
            raise ValueError
        e.write(target, _to_half(e, value, dst.name), dst)
        return
    if src.kind == "h":
        value, src = _from_half(e, value, src.name), F32
    if src.kind == "f" and m.flag("ftz") and src.bits == 32:
        value = flush(e, value)
    if src.kind == "f":
        result = _from_float(e, m, value, src, dst)
    elif dst.kind == "f":
        result = rounded(e.code, "sitofp" if src.signed else "uitofp", m.take(*ROUNDING), dst.llvm, value)
    else:
        result = _between_integers(e, m.flag("sat"), value, src, dst)
    e.write(target, result, dst)


def _from_float(e: Any, m: Modifiers, value: Value, src: PtxType, dst: PtxType) -> Value:
    integral = m.take(*_TO_INTEGRAL)
    if dst.kind != "f":
        return _to_integer(e, e.code.intrinsic(_TO_INTEGRAL[integral], value), src, dst, m.flag("sat"))
    saturates = m.flag("sat")
    if integral:
        value = e.code.intrinsic(_TO_INTEGRAL[integral], value)
    elif dst.bits < src.bits:
        value = rounded(e.code, "fptrunc", m.take(*ROUNDING, default="rn"), dst.llvm, value)
    else:
        value = e.code.convert("fpext", value, dst.llvm)
    return saturate(e, value) if saturates else value


def _to_integer(e: Any, value: Value, src: PtxType, dst: PtxType, saturates: bool) -> Value:
    """Return an integral number clamped to the range; NaN is 0, or the highest bit alone if 64 bits are involved."""
    suffix, kind = f"f{src.bits}", "s" if dst.signed else "u"
    number = e.code.call(dst.integer, f"llvm.fpto{kind}i.sat.{dst.integer}.{suffix}", value)
    if src.bits < 64 and dst.bits < 64:
        return number
    instead = constant(dst.integer, 1 << (dst.bits - 1))
    return e.code.select(e.code.compare("ord", value, value), number, instead)


def _between_integers(e: Any, saturates: bool, value: Value, src: PtxType, dst: PtxType) -> Value:
    if not saturates:
        return e.code.resize(value, dst.integer, src.signed)
    wide = e.code.resize(value, "i128", src.signed)
    low = -(1 << (dst.bits - 1)) if dst.signed else 0
    high = (1 << (dst.bits - (1 if dst.signed else 0))) - 1
    wide = e.code.intrinsic("smin", e.code.intrinsic("smax", wide, constant("i128", low)), constant("i128", high))
    return e.code.resize(wide, dst.integer)


def _to_half(e: Any, value: Value, name: str) -> Value:
    """Return the bits of a float32, rounded to nearest even to float16 or bfloat16."""
    if name == "f16":
        bits = e.code.bits(e.code.convert("fptrunc", value, "half"), "i16")
    else:
        wide = e.code.bits(value, "i32")
        last = e.code.binary("and", e.code.binary("lshr", wide, constant("i32", 16)), constant("i32", 1))
        up = e.code.binary("add", last, constant("i32", 0x7FFF))
        bits = e.code.resize(e.code.binary("lshr", e.code.binary("add", wide, up), constant("i32", 16)), "i16")
    return e.code.select(e.code.compare("ord", value, value), bits, constant("i16", _HALF_NAN))


def _from_half(e: Any, bits: Value, name: str) -> Value:
    if name == "f16":
        return e.code.convert("fpext", e.code.bits(bits, "half"), "float")
    return e.code.bits(e.code.binary("shl", e.code.resize(bits, "i32"), constant("i32", 16)), "float")
