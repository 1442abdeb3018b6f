"""The kernels of expressions: walks over arrays with their own strides, which call loops over contiguous elements."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.native.words import load_word
from ep.common.source import function_of
from ep.cpu.compile.compiler import compile_task
from ep.cpu.engine.map.strided import OPERAND, STRIDED_PLAN, word_of
from ep.cpu.kernels.expression_loops import ANY, Loops
from ep.cpu.shared.context import CONTEXT
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import Structure

_ROWS: Final = """
def rows(context, begin, end):
    plan, places = load_word(context, {plan}), load_word(context, {sources})
    inner, last = load_word(plan, {inner}), load_word(plan, {num_outer}) - 1
    {addresses}
    {widths}
    while begin < end:
        row = begin // inner
        first, follow = begin - row * inner, 1
        {starts}
        for axis in range(last, -1, -1):
            size = load_word(plan, {dims} + axis)
            place = row % size
            row //= size
            {moves}
            if axis == last and first == 0:
                follow = size - place
        for turn in range(min(follow, (end - begin + inner - 1) // inner)):
            count = min(inner - first, end - begin)
            loop({operands}, count, {steps})
            begin += count
            {follows}
"""


def expression_kernel(structure: Structure, steps: Sequence[int], op: ReduceOp | None = None) -> int:
    """Return the address of the task (context, begin, end) of a structure.

    steps: for each operand, results first, its stride along the innermost axis, in elements.
    op: the sum that folds the one result along the innermost axis; begin and end are then ends of rows. A row of at
        least `PIECE` elements becomes one element of the first operand, with the same bits as by Reduce.
    """
    return _kernel(structure, tuple(step if step in (0, 1) else ANY for step in steps), op)


@cache
def _kernel(structure: Structure, steps: tuple[int, ...], op: ReduceOp | None) -> int:
    names: dict[str, Any] = {"load_word": load_word, "np": np}
    operands = [f"p{k}" for k in range(len(steps))]
    strided = [k for k, step in enumerate(steps) if step == ANY]
    chosen = sorted(len(structure.results) + source for source in structure.chosen)
    words = [f"s{k}" for k in strided] + [f"{word}{k}" for k in chosen for word in ("n", "r")]
    given = {"operands": ", ".join(operands), "steps": ", ".join(words)}
    loops = Loops(structure, steps, given)
    names["loop"], is_long = loops.made() if op is None else (loops.folded(op), False)
    types = [structure.data_type(value) for value in (*structure.results, *range(len(structure.sources)))]
    addresses = [f"a{k} = load_word(places, {k})" for k in range(1, len(steps))]
    addresses += [f"s{k} = load_word(plan, {word_of(k, OPERAND.step)})" for k in strided]
    for k in chosen:
        addresses += [f"n{k} = load_word(plan, {word_of(k, OPERAND.rows)})"]
        addresses += [f"r{k} = load_word(plan, {word_of(k, OPERAND.row_bytes)})"]
    moved = {0: "", 1: " + first * {size}", ANY: " + first * s{k} * {size}"}
    starts = [
        f"p{k} = a{k}" + moved[step].format(k=k, size=data_type.itemsize)
        for k, (step, data_type) in enumerate(zip(steps, types, strict=True))
    ]
    walks = [word_of(k, OPERAND.walk) for k in range(len(steps))]
    moves = [f"p{k} += place * load_word(plan, {walk} + axis)" for k, walk in enumerate(walks)]
    width = "w{k} = load_word(plan, {walk} + last) if last >= 0 else 0"
    rows = _ROWS.format(
        widths="\n    ".join(width.format(k=k, walk=walk) for k, walk in enumerate(walks)),
        follows="\n            ".join(f"p{k} += w{k}" for k in range(len(steps))),
        plan=CONTEXT.plan,
        sources=CONTEXT.sources,
        inner=STRIDED_PLAN.inner,
        num_outer=STRIDED_PLAN.num_outer,
        dims=STRIDED_PLAN.dims,
        addresses="\n    ".join([f"a0 = load_word(context, {CONTEXT.dst})", *addresses]),
        starts="\n        ".join(starts),
        moves="\n            ".join(moves),
        **given,
    )
    digest = hashlib.sha256(repr((structure, steps, op)).encode()).hexdigest()[:24]
    return compile_task(f"expression.{digest}", function_of(rows, "rows", __name__, names), light=not is_long)
