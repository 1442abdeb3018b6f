"""The error bounds of the functions that a GPU approximates, and results that are off by exactly these bounds.

The bounds are those of the PTX ISA. The word DEVIATION of the block record says whether a launch runs with exact
results, or with all results at the upper or at the lower bound; a GPU's results are between the bounds.
"""

from __future__ import annotations

from typing import Any, Final

from tests.cuda.ptx_machine.code import Value, constant
from tests.cuda.ptx_machine.layout import Block

RELATIVE: Final = {
    "ex2": 2.0**-22.5,
    "rcp": 2.0**-23,
    "rsqrt": 2.0**-22.9,
    "sqrt": 2.0**-23,
    "div": 2.0**-23,  # 2 ulps, which are at least this
    "tanh": 2.0**-11,
}
ABSOLUTE: Final = {"lg2": 2.0**-22.6, "sin": 2.0**-20.9, "cos": 2.0**-20.9}
"""The bounds for float32: for each instruction either a relative or an absolute bound."""


def deviated(e: Any, name: str, argument: Value, exact: Value) -> Value:
    """Return the result of an approximation, a double; argument: the double that it is computed from.

    Powers of two are exact, and so are their logarithms and reciprocals: some functions of CUDA rely on this.
    """
    one = constant("double", 1.0)
    deviation = e.code.convert("sitofp", e.block_word(Block.DEVIATION), "double")
    if name in RELATIVE:
        factor = e.code.binary("fmul", deviation, constant("double", RELATIVE[name]))
        changed = e.code.binary("fmul", exact, e.code.binary("fadd", one, factor))
    else:
        changed = e.code.binary("fadd", exact, e.code.binary("fmul", deviation, constant("double", ABSOLUTE[name])))
    is_exact = e.code.compare("oeq", deviation, constant("double", 0.0))
    if name in ("ex2", "lg2"):
        whole = argument if name == "ex2" else exact
        is_exact = e.code.binary("or", is_exact, e.code.compare("oeq", whole, e.code.intrinsic("floor", whole)))
    else:
        mantissa = constant("i64", 2**52 - 1)
        bits = e.code.binary("and", e.code.bits(argument, "i64"), mantissa)
        is_exact = e.code.binary("or", is_exact, e.code.compare("eq", bits, constant("i64", 0)))
    return e.code.select(is_exact, exact, changed)
