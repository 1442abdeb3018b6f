"""Arithmetic of float32 and float64: with the requested rounding, subnormal numbers flushed to zero, and saturated
results.
"""

from __future__ import annotations

from typing import Any, Final

from tests.cuda.ptx_machine.code import Value, constant
from tests.cuda.ptx_machine.instructions.deviation import deviated
from tests.cuda.ptx_machine.instructions.registry import instruction
from tests.cuda.ptx_machine.instructions.rounding import rounded
from tests.cuda.ptx_machine.modifiers import Modifiers
from tests.cuda.ptx_machine.syntax import Instruction
from tests.cuda.ptx_machine.types import PRED, PtxType

ROUNDING: Final = ("rn", "rz", "rm", "rp")
_LEAST_NORMAL: Final = {"float": 2.0**-126, "double": 2.0**-1022}


def flush(e: Any, value: Value) -> Value:
    """Return the number, or a zero of its sign if it is subnormal."""
    zero = constant(value.type, 0.0)
    small = e.code.compare("olt", e.code.intrinsic("fabs", value), constant(value.type, _LEAST_NORMAL[value.type]))
    return e.code.select(small, e.code.intrinsic("copysign", zero, value), value)


def saturate(e: Any, value: Value) -> Value:
    """Return the number clamped to [0, 1]; 0 for NaN and for -0."""
    zero, one = constant(value.type, 0.0), constant(value.type, 1.0)
    above = e.code.select(e.code.compare("ogt", value, zero), value, zero)
    return e.code.select(e.code.compare("olt", above, one), above, one)


def nan(type: str) -> Value:
    """Return the NaN that instructions produce."""
    if type == "float":
        return Value(type, f"bitcast (i32 {0x7FFFFFFF} to float)")
    return Value(type, f"bitcast (i64 {0x7FFFFFFFFFFFFFFF} to double)")


def _with_rounding(e: Any, i: Instruction, m: Modifiers, type: PtxType, operation: str) -> None:
    mode, flushes, saturates = m.take(*ROUNDING, default="rn"), m.flag("ftz"), m.flag("sat")
    dst, *sources = i.operands
    values = [e.read(source, type) for source in sources]
    if flushes:
        values = [flush(e, value) for value in values]
    result = rounded(e.code, operation, mode, type.llvm, *values)
    result = flush(e, result) if flushes else result
    e.write(dst, saturate(e, result) if saturates else result, type)


@instruction("add", "sub", "mul", kinds="f")
def arithmetic(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    _with_rounding(e, i, m, type, f"f{i.name}")


@instruction("fma", "mad", kinds="f")
def fused(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    _with_rounding(e, i, m, type, "fma")


@instruction("sqrt", kinds="f")
def square_root(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    if not m.flag("approx"):
        _with_rounding(e, i, m, type, "sqrt")
        return
    flushes = m.flag("ftz")
    dst, source = i.operands
    value = e.read(source, type)
    wide = e.code.convert("fpext", flush(e, value) if flushes else value, "double")
    e.write(dst, _approximated(e, "sqrt", wide, e.code.intrinsic("sqrt", wide), flushes), type)


def _approximated(e: Any, name: str, argument: Value, exact: Value, flushes: bool) -> Value:
    """Return a float64 result as a float32, off by the error bound of the instruction."""
    result = e.code.convert("fptrunc", deviated(e, name, argument, exact), "float")
    return flush(e, result) if flushes else result


@instruction("div", kinds="f")
def divide(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    """Divide. `.full` and `.approx` are approximations; `.approx` returns zero if the divisor exceeds 2^126."""
    how = m.take("approx", "full")
    if not how:
        _with_rounding(e, i, m, type, "fdiv")
        return
    flushes = m.flag("ftz")
    dst, *sources = i.operands
    a, b = (flush(e, value) if flushes else value for value in (e.read(source, type) for source in sources))
    wide_a, wide_b = (e.code.convert("fpext", value, "double") for value in (a, b))
    quotient = _approximated(e, "div", wide_b, e.code.binary("fdiv", wide_a, wide_b), flushes)
    if how == "full":
        e.write(dst, quotient, type)
        return
    size = e.code.intrinsic("fabs", b)
    large = e.code.binary(
        "and",
        e.code.compare("ogt", size, constant(type.llvm, 2.0**126)),
        e.code.compare("one", size, constant(type.llvm, float("inf"))),
    )
    endless = e.code.compare("oeq", e.code.intrinsic("fabs", a), constant(type.llvm, float("inf")))
    zero = e.code.binary("fmul", e.code.intrinsic("copysign", constant(type.llvm, 0.0), a), quotient_sign(e, b))
    instead = e.code.select(endless, nan(type.llvm), zero)
    known = e.code.compare("ord", a, a)
    e.write(dst, e.code.select(e.code.binary("and", large, known), instead, quotient), type)


def quotient_sign(e: Any, value: Value) -> Value:
    """Return 1 with the sign of a number."""
    return e.code.intrinsic("copysign", constant(value.type, 1.0), value)


@instruction("rcp", kinds="f")
def reciprocal(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    dst, source = i.operands
    value = e.read(source, type)
    approximates = m.flag("approx")
    if approximates and type.bits == 64:
        m.take("ftz")
        e.write(dst, coarse(e, value, lambda number: e.code.binary("fdiv", constant("double", 1.0), number)), type)
        return
    if approximates:
        flushes = m.flag("ftz")
        wide = e.code.convert("fpext", flush(e, value) if flushes else value, "double")
        exact = e.code.binary("fdiv", constant("double", 1.0), wide)
        e.write(dst, _approximated(e, "rcp", wide, exact, flushes), type)
        return
    mode, flushes = m.take(*ROUNDING, default="rn"), m.flag("ftz")
    value = flush(e, value) if flushes else value
    result = rounded(e.code, "fdiv", mode, type.llvm, constant(type.llvm, 1.0), value)
    e.write(dst, flush(e, result) if flushes else result, type)


def coarse(e: Any, value: Value, function: Any) -> Value:
    """Return the result of `.approx.ftz.f64`, which uses only the upper 32 bits of the argument and of the result."""
    upper = constant("i64", -(2**32))
    taken = e.code.bits(e.code.binary("and", e.code.bits(value, "i64"), upper), "double")
    result = flush(e, function(flush(e, taken)))
    kept = e.code.bits(e.code.binary("and", e.code.bits(result, "i64"), upper), "double")
    is_number = e.code.compare("ord", value, value)
    return e.code.select(is_number, kept, nan("double"))


@instruction("abs", "neg", kinds="f")
def change_sign(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    flushes = m.flag("ftz")
    dst, source = i.operands
    value = e.read(source, type)
    value = flush(e, value) if flushes else value
    result = (
        e.code.intrinsic("fabs", value) if i.name == "abs" else e.code.make(type.llvm, f"fneg {type.llvm} {value.name}")
    )
    e.write(dst, result, type)


@instruction("copysign", kinds="f")
def copy_sign(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    dst, sign, magnitude = i.operands
    e.write(dst, e.code.intrinsic("copysign", e.read(magnitude, type), e.read(sign, type)), type)


@instruction("min", "max", kinds="f")
def extreme(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    """Return the minimum or maximum: the number if one operand is NaN, unless `.NaN` is given; -0 is less than +0."""
    flushes, keeps_nan = m.flag("ftz"), m.flag("NaN")
    dst, *sources = i.operands
    a, b = (flush(e, value) if flushes else value for value in (e.read(source, type) for source in sources))
    result = e.code.intrinsic(f"{i.name}imum" if keeps_nan else f"{i.name}imumnum", a, b)
    e.write(dst, e.code.select(e.code.compare("ord", result, result), result, nan(type.llvm)), type)


@instruction("testp", kinds="f")
def classify(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    what = m.take("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    dst, source = i.operands
    value = e.read(source, type)
    # LLVM's classes: NaN 1, 2; then negative infinity, normal, subnormal, zero; then the positive ones
    classes = {"finite": 0x1F8, "infinite": 0x204, "number": 0x3FC, "notanumber": 3, "normal": 0x108, "subnormal": 0x90}
    suffix = f"f{type.bits}"
    result = e.code.call("i1", f"llvm.is.fpclass.{suffix}", value, constant("i32", classes[what]))
    e.write(dst, result, PRED)
