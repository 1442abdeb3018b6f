"""Functions that a GPU approximates: exponentials, logarithms, sines. Here the results are exact, or off by the error
bound.
"""

from __future__ import annotations

from typing import Any, Final

from tests.cuda.ptx_machine.code import Value, constant
from tests.cuda.ptx_machine.instructions.deviation import deviated
from tests.cuda.ptx_machine.instructions.floats import coarse, flush
from tests.cuda.ptx_machine.instructions.registry import instruction
from tests.cuda.ptx_machine.modifiers import Modifiers
from tests.cuda.ptx_machine.syntax import Instruction
from tests.cuda.ptx_machine.types import PtxType

_LIBM: Final = {"ex2": "exp2", "lg2": "log2", "sin": "sin", "cos": "cos", "tanh": "tanh"}


@instruction(*_LIBM, kinds="f")
def of_libm(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    """Compute a function in float64 by the C library, which every process has loaded."""
    if not m.flag("approx") or type.bits != 32:
        raise ValueError
    flushes = m.flag("ftz")
    dst, source = i.operands
    value = e.read(source, type)
    wide = e.code.convert("fpext", flush(e, value) if flushes else value, "double")
    exact = e.code.call("double", _LIBM[i.name], wide)
    result = e.code.convert("fptrunc", deviated(e, i.name, wide, exact), "float")
    e.write(dst, flush(e, result) if flushes else result, type)


@instruction("rsqrt", kinds="f")
def reciprocal_root(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    if not m.flag("approx"):
        raise ValueError
    flushes = m.flag("ftz")
    dst, source = i.operands
    value = e.read(source, type)

    def compute(number: Value) -> Value:
        return e.code.binary("fdiv", constant("double", 1.0), e.code.intrinsic("sqrt", number))

    if type.bits == 64:
        e.write(dst, coarse(e, value, compute) if flushes else compute(value), type)
        return
    wide = e.code.convert("fpext", flush(e, value) if flushes else value, "double")
    result = e.code.convert("fptrunc", deviated(e, i.name, wide, compute(wide)), "float")
    e.write(dst, flush(e, result) if flushes else result, type)
