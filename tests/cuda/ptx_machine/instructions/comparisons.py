"""Comparisons."""

from __future__ import annotations

from typing import Any, Final

from tests.cuda.ptx_machine.code import Value
from tests.cuda.ptx_machine.instructions.floats import flush
from tests.cuda.ptx_machine.instructions.registry import instruction
from tests.cuda.ptx_machine.modifiers import Modifiers
from tests.cuda.ptx_machine.syntax import Group, Instruction
from tests.cuda.ptx_machine.types import PRED, PtxType

_ORDERS: Final = ("lt", "le", "gt", "ge")
_UNSIGNED: Final = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}
_OF_FLOATS: Final = {
    **{name: f"o{name}" for name in (*_ORDERS, "eq")},
    "ne": "one",
    **{f"{name}u": f"u{name}" for name in (*_ORDERS, "eq", "ne")},
    "num": "ord",
    "nan": "uno",
}


@instruction("setp", kinds="usbf")
def compare(e: Any, i: Instruction, m: Modifiers, type: PtxType) -> None:
    """Set p to a comparison of a and b, perhaps combined with a third predicate, and q to the same with the comparison
    negated.
    """
    how = m.left.pop(0)
    combine = m.take("and", "or", "xor")
    dst, first, second, *third = i.operands
    a, b = e.read(first, type), e.read(second, type)
    if m.flag("ftz"):
        a, b = flush(e, a), flush(e, b)
    result = e.code.compare(_predicate(how, type), a, b)
    results: list[Value] = [result, e.code.negate(result)]
    if combine:
        results = [e.code.binary(combine, each, e.read(third[0], PRED)) for each in results]
    for place, value in zip(dst.parts if isinstance(dst, Group) else (dst,), results, strict=False):
        e.write(place, value, PRED)


def _predicate(how: str, type: PtxType) -> str:
    """Return LLVM's predicate for a comparison of PTX."""
    if type.kind == "f":
        return _OF_FLOATS[how]
    if how in ("eq", "ne"):
        return how
    if type.kind == "b":
        raise ValueError
    return _UNSIGNED[how] if how in _UNSIGNED else ("s" if type.signed else "u") + how
