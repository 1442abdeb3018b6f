"""Types of arithmetic, and loops that carry sums, in LLVM's code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir

from ep.include.data_type import DataType

WORD: Final = ir.IntType(64)
REALS: Final = {DataType.kFloat: ir.FloatType(), DataType.kDouble: ir.DoubleType()}
"""The types of arithmetic."""


def loop(
    builder: Any, begin: Any, end: Any, step: int, sums: list[Any], body: Callable[[Any, list[Any]], list[Any]]
) -> list[Any]:
    """`sums = body(index, sums)` while index + step <= end; returns the index that is left, and what they are then."""
    before, head = builder.block, builder.append_basic_block("head")
    inside, done = builder.append_basic_block("inside"), builder.append_basic_block("done")
    builder.branch(head)
    builder.position_at_end(head)
    index, phis = builder.phi(WORD), [builder.phi(one.type) for one in sums]
    following = builder.add(index, WORD(step))
    builder.cbranch(builder.icmp_signed("<=", following, end), inside, done)
    builder.position_at_end(inside)
    after = body(index, phis)
    last = builder.block
    builder.branch(head)
    for phi, initial, again in zip([index, *phis], [begin, *sums], [following, *after], strict=True):
        phi.add_incoming(initial, before)
        phi.add_incoming(again, last)
    builder.position_at_end(done)
    return [index, *phis]


def at(builder: Any, pointer: Any, offset: int, kind: Any) -> Any:
    """A pointer to what begins so many elements after `pointer`."""
    return builder.bitcast(builder.gep(pointer, [WORD(offset)]), kind.as_pointer())
