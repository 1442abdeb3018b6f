"""The kernels of expressions: walks over arrays with their own strides, which call loops over contiguous elements."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.native.words import load_word
from ep.common.source import function_of
from ep.cpu.compile.compiler import compile_task
from ep.cpu.engine.map.strided import StridedLoops, StridedOperand, word_of
from ep.cpu.kernels.expression_lines import ANY
from ep.cpu.kernels.expression_loops import Loops, has_pairs
from ep.cpu.lines.ahead import AHEAD_BLOCK, AheadContext, fetch_ahead
from ep.cpu.lines.sizes import LINE
from ep.cpu.shared.context import Context
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import ColumnOp, Structure

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
        {rows}
"""

_EACH_ROW: Final = """for turn in range(min(follow, (end - begin + inner - 1) // inner)):
            count = min(inner - first, end - begin)
            {row}
            begin += count
            {follows}"""

_SUMMED_ROWS: Final = """turns = min(follow, (end - begin) // inner)
        columns({operands}, {all_widths}, turns, inner, {steps})
        begin += turns * inner"""

_ROW: Final = "loop({operands}, count, {steps})"

_ROW_BY_BLOCKS: Final = """for at in range(0, count, {block}):
                stop = min(at + {block}, count)
                fetch_ahead(context, begin + at, begin + stop)
                {parts}
                loop({of_part}, stop - at, {steps})"""

_ROW_IN_LINES: Final = """head, tail = count, count
            if in_lines:
                head = min((-{dst} & {line} - 1) // {size}, count)
                tail = max(count - ({dst} + count * {size} & {line} - 1) // {size}, head)
            at = np.int64(0)
            while at < count:
                stop = head if at < head else count
                if head <= at and at < tail:
                    for block in range(head, tail, {block}):
                        at, stop = block, min(block + {block}, tail)
                        fetch_ahead(context, begin + at, begin + stop)
                        {parts_of_lines}
                        stream({of_part}, stop - at, {steps})
                else:
                    {parts}
                    loop({of_part}, stop - at, {steps})
                at = stop"""


def expression_kernel(
    structure: Structure,
    steps: Sequence[int],
    sums: tuple[ReduceOp | ColumnOp, ...] = (),
    streamed: Collection[int] | None = None,
) -> int:
    """Return the address of the task (context, begin, end) of a structure.

    steps: for each operand, results first, its stride along the innermost axis, in elements.
    sums: what folds the first results along the innermost axis; begin and end are then ends of rows. A row of at least
        `PIECE` elements becomes one element of each of these operands, with the same bits as by Reduce. The other
        results overlap no source. A ColumnOp adds rows to sums in float64, of which these operands have one row.
    streamed: for a task that prefetches what its context, an `AheadContext`, asks for: the numbers of the results, with
        elements of one size, of which it may write whole lines with non-temporal stores.
    """
    written = None if streamed is None else tuple(sorted(streamed))
    return _kernel(structure, tuple(step if step in (0, 1) else ANY for step in steps), sums, written)


def writes_lines(structure: Structure, steps: Sequence[int]) -> bool:
    """Return whether the kernel stores whole cache lines; smaller non-temporal stores would take longer than others.

    Vectors have as many elements as one of float32. So those of smaller elements are shorter, except by pairs.
    """
    results = map(structure.data_type, structure.results)
    return all(data_type.itemsize >= 4 for data_type in results) or has_pairs(structure, steps)


@cache
def _kernel(
    structure: Structure,
    steps: tuple[int, ...],
    sums: tuple[ReduceOp | ColumnOp, ...],
    streamed: tuple[int, ...] | None,
) -> int:
    names: dict[str, Any] = {"load_word": load_word, "np": np, "fetch_ahead": fetch_ahead}
    operands = [f"p{k}" for k in range(len(steps))]
    strided = [k for k, step in enumerate(steps) if step == ANY]
    chosen = sorted(len(structure.results) + source for source in structure.chosen)
    words = [f"s{k}" for k in strided] + [f"{word}{k}" for k in chosen for word in ("n", "r")]
    words += ["context", "begin"] if sums and streamed is not None else []  # for the prefetches of a fold
    given = {"operands": ", ".join(operands), "steps": ", ".join(words)}
    loops = Loops(structure, steps, given, None if streamed is None else ())
    folds = [op for op in sums if isinstance(op, ReduceOp)]
    adds_rows = len(folds) < len(sums)
    if adds_rows:
        names["columns"], is_long = loops.added(len(sums)), False
    else:
        names["loop"], is_long = (loops.folded(folds), False) if folds else loops.made()
    types = [structure.data_type(value) for value in (*structure.results, *range(len(structure.sources)))]
    addresses = [f"a{k} = load_word(places, {k})" for k in range(1, len(steps))]
    addresses += [f"s{k} = load_word(plan, {word_of(k, StridedOperand.step)})" for k in strided]
    for k in chosen:
        addresses += [f"n{k} = load_word(plan, {word_of(k, StridedOperand.rows)})"]
        addresses += [f"r{k} = load_word(plan, {word_of(k, StridedOperand.row_bytes)})"]
    moved = {0: "", 1: " + first * {size}", ANY: " + first * s{k} * {size}"}
    starts = [
        f"p{k} = a{k}" + moved[step].format(k=k, size=data_type.itemsize)
        for k, (step, data_type) in enumerate(zip(steps, types, strict=True))
    ]
    walks = [word_of(k, StridedOperand.walk) for k in range(len(steps))]
    moves = [f"p{k} += place * load_word(plan, {walk} + axis)" for k, walk in enumerate(walks)]
    row, of_row = _ROW, dict[str, str]()
    parts, of_row["of_part"] = loops.of_part("at")
    if streamed:
        (first, *others), names["stream"] = streamed, Loops(structure, steps, given, streamed).made()[0]
        row, size = _ROW_IN_LINES, types[first].itemsize
        of_row |= {"parts": _indented(parts, 5), "parts_of_lines": _indented(parts, 6)}
        of_row |= {"dst": f"p{first}", "size": str(size), "line": str(LINE)}
        # elements do not cross lines, and lines of all results begin at the same element
        places = " | ".join([f"a{first} & {size - 1}", *(f"(a{first} ^ a{k}) & {LINE - 1}" for k in others)])
        addresses.append(f"in_lines = load_word(context, {AheadContext.in_lines}) != 0 and ({places}) == 0")
    elif streamed is not None and not sums:
        row, of_row["parts"] = _ROW_BY_BLOCKS, _indented(parts, 4)
    width = "w{k} = load_word(plan, {walk} + last) if last >= 0 else 0"
    each = _EACH_ROW.format(
        row=row.format(block=str(AHEAD_BLOCK), **given, **of_row),
        follows="\n            ".join(f"p{k} += w{k}" for k in range(len(steps))),
    )
    all_widths = ", ".join(f"w{k}" for k in range(len(steps)))
    rows = _ROWS.format(
        rows=_SUMMED_ROWS.format(all_widths=all_widths, **given) if adds_rows else each,
        widths="\n    ".join(width.format(k=k, walk=walk) for k, walk in enumerate(walks)),
        plan=Context.plan,
        sources=Context.sources,
        inner=StridedLoops.inner,
        num_outer=StridedLoops.num_outer,
        dims=StridedLoops.dims,
        addresses="\n    ".join([f"a0 = load_word(context, {Context.dst})", *addresses]),
        starts="\n        ".join(starts),
        moves="\n            ".join(moves),
        **given,
    )
    digest = hashlib.sha256(repr((structure, steps, sums, streamed)).encode()).hexdigest()[:24]
    function, streaming = function_of(rows, "rows", __name__, names), bool(streamed)
    return compile_task(f"expression.{digest}", function, light=not is_long and not streaming, streaming=streaming)


def _indented(lines: Sequence[str], levels: int) -> str:
    return ("\n" + "    " * levels).join(lines)
