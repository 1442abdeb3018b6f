"""The loops over the elements of an expression: they call the functors of its ops, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final

from ep.common.native.words import stack_words
from ep.common.source import function_of
from ep.cpu.compile.jit import interleaved, jit, of_piece
from ep.cpu.compile.memory import (
    load_pair,
    lower_of,
    pair_storer,
    storer,
    upper_of,
)
from ep.cpu.compile.target import has_avx512
from ep.cpu.compile.vectors import PIECE
from ep.cpu.engine.reduce.kernel import result_writer
from ep.cpu.engine.reduce.pieces import piece_folder, piece_storer
from ep.cpu.engine.reduce.vectors import lanes
from ep.cpu.kernels.expression_lines import ANY, Lines
from ep.cpu.kernels.ordinary import maximum
from ep.cpu.lines.ahead import AHEAD_BLOCK, fetch_ahead
from ep.include.data_type import DataType
from ep.include.primitive.op_definition import Cost
from ep.include.primitive.op_table import OPS
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import Structure

_MOST_TWICE: Final = 12
"""The most steps of a structure that is compiled more than once: for ordinary elements, or for both of a pair."""

_BLOCK: Final = 256
"""Elements of a block, which is computed by the function for any element unless all of its elements are ordinary.

In sums, a few elements in a thousand may be too large to be ordinary.
"""

_OF_PAIRS: Final = {DataType.kBFloat16, DataType.kFloat}
"""The types of elements that are read and written by pairs."""

_LOOP: Final = """
def loop({operands}, count, {steps}):
    {once}
    for i in range(count):
        {each}
"""

_PAIRS: Final = """
def loop({operands}, count, {steps}):
    {once}
    for i in range(count // 2):
        {each}
    {rest}
"""

_REST: Final = """for i in range(count & -2, count):
        {each}"""

_EXCEEDS: Final = """
def exceeds({operands}, count, {steps}):
    {once}
    for i in range(count):
        {each}
    return {found}
"""

_BY_BLOCKS: Final = """
def by_blocks({operands}, count, {steps}):
    for place in range(0, count, {block}):
        end = min(count - place, {block})
        {parts}
        if exceeds({of_block}, end, {steps}):
            loop_of_any({of_block}, end, {steps})
        else:
            loop({of_block}, end, {steps})
"""

_FETCHES: Final = """if place % {block} == 0:
            fetch_ahead(context, begin + place, begin + min(place + {block}, count))"""

_FOLD: Final = """
def fold({operands}, count, {steps}):
    value = stack_words(1)
    {start}
    for place in range(0, count & -{width}, {width}):
        {fetches}
        {parts}
        compute({pieces}, {of_block}, {width}, {steps})
        {add}
    {after}
    if count & ({width} - 1):
        place = count - {width}
        {parts}
        compute_rest({pieces}, {of_block}, {width}, {steps})
        {add_rest}
    {finish}
"""

_COLUMNS: Final = """
def columns({operands}, {widths}, rows, count, {steps}):
    {start}
    for place in range(0, count & -{width}, {width}):
        {begin}
        for row in range(rows):
            {parts}
            compute({pieces}, {of_block}, {width}, {steps})
            {put}
            {add}
        {finish}
    if count & ({width} - 1):
        place = count & -{width}
        end = count - place
        {begin_rest}
        for row in range(rows):
            {parts}
            compute_rest({pieces_of_rest}, {of_block}, end, {steps})
            {add}
        {finish_rest}
"""


def has_pairs(structure: Structure, steps: Sequence[int], of_sources: bool = False) -> bool:
    """Return whether all rows are contiguous, of bfloat16 and perhaps of float32 too, and the ops are light and few.

    steps: for each operand, results first. of_sources: whether only the rows of sources matter.
    """
    costs = {OPS[step.op].cost for step in structure.steps if step.op in OPS}  # type: ignore[index]
    num_results = len(structure.results)
    values = [*structure.results, *range(len(structure.sources))]
    rows = [k for k in range(num_results, len(values)) if steps[k] != 0]
    rows += [] if of_sources else range(num_results)
    if not costs <= {Cost.LIGHT, Cost.DIVISION} or structure.chosen or len(structure.steps) > _MOST_TWICE:
        return False
    types = {structure.data_type(values[k]) for k in rows}
    return DataType.kBFloat16 in types and types <= _OF_PAIRS and all(steps[k] == 1 for k in rows)


class Loops:
    """The loops over contiguous elements of a structure: one loop, or one for ordinary elements and one for any."""

    def __init__(
        self,
        structure: Structure,
        steps: Sequence[int],
        given: Mapping[str, str],
        streamed: Collection[int] | None = None,
    ) -> None:
        """Generate the lines for each element.

        steps: for each operand, as in a kernel. given: the parameters of all loops. streamed: the results that are
            written with non-temporal stores in a kernel that has them, or that prefetches; None in others.
        """
        self._structure, self._steps, self._given, self._streamed = structure, steps, given, streamed
        self._num_results = len(structure.results)
        self._lines = Lines(structure, steps)

    def made(self) -> tuple[Any, bool]:
        """Return the compiled loop, and whether it is a long dependency chain."""
        checked = [value for value in self._lines.functions if self._lines.cone(value) is not None]
        if has_pairs(self._structure, self._steps):
            return self._loop_over_pairs(), False
        if not checked or len(self._structure.steps) > _MOST_TWICE:
            return self._loop({}), self._lines.is_long
        names = {
            "loop_of_any": self._loop({}),
            "loop": self._loop({f"f{value}": self._lines.functions[value].ordinary for value in checked}),
            "exceeds": self._exceeds(checked),
        }
        text = _BY_BLOCKS.format(block=_BLOCK, **self._of_block(0), **self._given)
        return jit(function_of(text, "by_blocks", __name__, names)), self._lines.is_long

    def folded(self, sums: Sequence[ReduceOp]) -> Any:
        """Return the loop that folds the elements of the first results into the elements at these operands.

        sums: the ops. The other results are written. LLVM keeps pieces of rows, and what is carried, in registers.
        """
        loop, num_sums = self._loop({}, of_piece), len(sums)
        pairs = num_sums == self._num_results == 1 and has_pairs(self._structure, self._steps, of_sources=True)
        names = {"compute_rest": loop, "stack_words": stack_words, "store_piece": piece_storer(PIECE)}
        names["compute"] = self._loop_over_pairs(in_piece=True) if pairs else loop
        start, add, after, rest, finish = (list[str]() for _ in range(5))
        for k in range(self._num_results):
            data_type = self._data_type_of(k)
            start.append(f"piece{k} = stack_words({PIECE * data_type.itemsize // 8})")
            if k >= num_sums:
                add.append(f"store_piece(q{k}, piece{k})")
                rest.append(f"store_piece(q{k}, piece{k})")
                continue
            of = lanes(sums[k], data_type)
            names |= {f"{name}{k}": function for name, function in piece_folder(of)._asdict().items()}
            names[f"write{k}"] = result_writer(sums[k], data_type, of)
            start.append(f"carried{k} = stack_words({PIECE * of.size // 8}); start{k}(carried{k})")
            add.append(f"add{k}(carried{k}, piece{k})")
            after += [f"put_in_order{k}(carried{k})"] * pairs
            rest.append(f"add_rest{k}(carried{k}, piece{k}, count)")
            finish.append(f"finish{k}(value, carried{k}); write{k}(p{k}, 0, value, 0, 1, count, 1.0)")
        fetches = "pass"
        if self._streamed is not None:
            names["fetch_ahead"], fetches = fetch_ahead, _FETCHES.format(block=AHEAD_BLOCK)
        parts, _ = self.of_part("place", num_sums)
        text = _FOLD.format(
            width=PIECE,
            start="\n    ".join(start),
            fetches=fetches,
            parts="\n        ".join(parts),
            pieces=", ".join(f"piece{k}" for k in range(self._num_results)),
            of_block=", ".join(f"q{k}" for k in range(self._num_results, len(self._steps))),
            add="\n        ".join(add),
            after="\n    ".join(after) or "pass",
            add_rest="\n        ".join(rest),
            finish="\n    ".join(finish),
            **self._given,
        )
        return jit(function_of(text, "fold", __name__, names))

    def added(self, num_sums: int) -> Any:
        """Return the loop that adds the elements of the first results to sums of columns, of several rows at a time.

        The operands of these results are sums, in float64. `w{k}` is the distance of the rows of operand k. The other
        results are written. LLVM keeps the sums of a piece in registers while rows are added.
        """
        numbers = range(len(self._steps))
        whole = has_avx512()  # other registers hold the sums of half a piece
        width = PIECE if whole else PIECE // 2
        names = {"compute": self._loop({}, of_piece if whole else partial(of_piece, pairs=True))}
        names |= {"compute_rest": self._loop({}, jit), "stack_words": stack_words, "store_piece": piece_storer(width)}
        start, begin, add, finish, begin_rest, finish_rest = (list[str]() for _ in range(6))
        for k in range(self._num_results):
            start.append(f"piece{k} = stack_words({width * self._data_type_of(k).itemsize // 8})")
        for k in range(num_sums):
            of = lanes(ReduceOp.kSum, self._data_type_of(k))
            names |= {f"{name}{k}": function for name, function in piece_folder(of, width)._asdict().items()}
            start.append(f"carried{k} = stack_words({width * of.size // 8})")
            begin.append(f"begin_columns{k}(carried{k}, p{k} + place * {of.size})")
            add.append(f"add{k}(carried{k}, piece{k})")
            finish.append(f"end_columns{k}(carried{k}, p{k} + place * {of.size})")
            begin_rest.append(f"begin_rest{k}(carried{k}, p{k} + place * {of.size}, end)")
            finish_rest.append(f"end_rest{k}(carried{k}, p{k} + place * {of.size}, end)")
        parts, _ = self.of_part("place", num_sums)
        pieces, written = [f"piece{k}" for k in range(self._num_results)], range(num_sums, self._num_results)
        text = _COLUMNS.format(
            width=width,
            widths=", ".join(f"w{k}" for k in numbers),
            start="\n    ".join(start),
            begin="\n        ".join(begin),
            parts="\n            ".join(f"{line} + row * w{k}" for k, line in enumerate(parts, num_sums)),
            pieces=", ".join(pieces),
            pieces_of_rest=", ".join([*pieces[:num_sums], *(f"q{k}" for k in written)]),
            of_block=", ".join(f"q{k}" for k in numbers[self._num_results :]),
            put="\n            ".join([f"store_piece(q{k}, piece{k})" for k in written] or ["pass"]),
            add="\n            ".join(add),
            finish="\n        ".join(finish),
            begin_rest="\n        ".join(begin_rest),
            finish_rest="\n        ".join(finish_rest),
            **self._given,
        )
        return jit(function_of(text, "columns", __name__, names))

    def of_part(self, place: str, first: int = 0) -> tuple[list[str], str]:
        """Return the lines that find a part of a row in operands from `first` on, and the names of these places.

        place: the name of the first element's number.
        """
        parts, numbers = list[str](), range(first, len(self._steps))
        for k in numbers:
            size, step = self._data_type_of(k).itemsize, self._steps[k]
            parts.append(f"q{k} = p{k}" + ("" if step == 0 else f" + {place} * {size}" + f" * s{k}" * (step == ANY)))
        return parts, ", ".join(f"q{k}" for k in numbers)

    def _of_block(self, first: int) -> dict[str, str]:
        parts, names = self.of_part("place", first)
        return {"parts": "\n        ".join(parts), "of_block": names}

    def _data_type_of(self, operand: int) -> DataType:
        result = operand < self._num_results
        return self._structure.data_type(self._structure.results[operand] if result else operand - self._num_results)

    def _loop(self, others: Mapping[str, Any], compiled: Callable[..., Any] | None = None) -> Any:
        """Return the loop that computes and stores.

        others: functions that replace those in `names`. compiled: the way that the loop is compiled.
        """
        stores = []
        for k, value in enumerate(self._structure.results):
            self._lines.names[f"store{k}"] = storer(self._structure.data_type(value), ordinary=self._is_ordinary(k))
            stores.append(f"store{k}(p{k}, {self._lines.index(k) if compiled is None else 'i'}, v{value})")
        text = self._text(_LOOP, self._lines.loaded, [*self._lines.computed.values(), *stores])
        function = function_of(text, "loop", __name__, {**self._lines.names, **others})
        return (compiled or (interleaved if self._lines.is_long else jit))(function)

    def _loop_over_pairs(self, in_piece: bool = False) -> Any:
        """Return the loop over pairs of elements.

        in_piece: whether the one result is written to a piece, elements with even places before those with odd ones.
        """
        names = {**self._lines.names, "load_pair": load_pair, "lower_of": lower_of, "upper_of": upper_of}
        loaded = [(k - self._num_results, k) for k in self._lines.rows]
        each, lower, upper = list[str](), list[str](), list[str]()
        for value, k in loaded:
            if self._is_half(k):
                each.append(f"w{value} = load_pair(p{k}, i)")
                lower.append(f"v{value} = lower_of(w{value})")
                upper.append(f"v{value} = upper_of(w{value})")
            else:
                lower.append(f"v{value} = load{value}(p{k}, 2 * i)")
                upper.append(f"v{value} = load{value}(p{k}, 2 * i + 1)")
        computed = [*self._lines.computed.values()]
        each += lower + computed
        each += [f"l{k} = v{value}" for k, value in enumerate(self._structure.results)]
        each += upper + computed
        single = [line for line, is_once in self._lines.loaded if not is_once] + computed
        for k, value in enumerate(self._structure.results):
            names[f"store{k}"] = storer(self._data_type_of(k), ordinary=self._is_ordinary(k))
            if in_piece:
                each += [f"store{k}(p{k}, i, l{k})", f"store{k}(p{k}, i + {PIECE // 2}, v{value})"]
                continue
            if not self._is_half(k):
                each += [f"store{k}(p{k}, 2 * i, l{k})", f"store{k}(p{k}, 2 * i + 1, v{value})"]
                single.append(f"store{k}(p{k}, i, v{value})")
                continue
            names[f"store_pair{k}"] = pair_storer(self._lines.is_rounded(value), self._is_ordinary(k))
            each.append(f"store_pair{k}(p{k}, i, l{k}, v{value})")
            single.append(f"store{k}(p{k}, i, v{value})")
        rest = "" if in_piece else _REST.format(each="\n        ".join(single))
        once = "\n    ".join([line for line, is_once in self._lines.loaded if is_once] or ["pass"])
        text = _PAIRS.format(once=once, each="\n        ".join(each), rest=rest, **self._given)
        function = function_of(text, "loop", __name__, names)
        return of_piece(function, pairs=True) if in_piece else jit(function)

    def _is_half(self, operand: int) -> bool:
        return self._data_type_of(operand) is DataType.kBFloat16

    def _is_ordinary(self, result: int) -> bool:
        return self._streamed is not None and result not in self._streamed

    def _exceeds(self, checked: Sequence[int]) -> Any:
        """Return the function that checks whether some element is not ordinary."""
        lines, cone = self._lines, set[int]()
        for value in checked:
            cone |= lines.cone(value) or set()
        names, each = dict(lines.names), [lines.computed[value] for value in sorted(cone) if value in lines.computed]
        for value in checked:
            function, operand = lines.functions[value], lines.operands(value)[-1]
            assert function.check is not None
            names |= {f"key{value}": function.check.key, f"limit{value}": function.check.limit, "maximum": maximum}
            names[f"least{value}"] = function.check.least
            element = f"np.float64(v{operand})" if function.widened else f"v{operand}"
            each.append(f"m{value} = maximum(m{value}, key{value}({element}))")
        loaded = [lines.loaded[value] for value in sorted(cone) if value < len(self._structure.sources)]
        starts = [(f"m{value} = least{value}", True) for value in checked]
        found = " or ".join(f"m{value} >= limit{value}" for value in checked)
        return jit(function_of(self._text(_EXCEEDS, [*loaded, *starts], each, found=found), "exceeds", __name__, names))

    def _text(self, template: str, loaded: Sequence[tuple[str, bool]], computed: Sequence[str], **given: str) -> str:
        once = [line for line, is_once in loaded if is_once] or ["pass"]
        each = [line for line, is_once in loaded if not is_once] + [*computed]
        return template.format(once="\n    ".join(once), each="\n        ".join(each), **self._given, **given)
