"""The loops over the elements of an expression: they call the functors of its ops, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ep.common.native.words import stack_words
from ep.common.source import function_of
from ep.cpu.compile.jit import interleaved, jit, of_piece
from ep.cpu.compile.memory import (
    arithmetic_type,
    converter,
    load_pair,
    loader,
    lower_of,
    pair_storer,
    storer,
    upper_of,
)
from ep.cpu.compile.vectors import PIECE
from ep.cpu.engine.reduce.kernel import result_writer
from ep.cpu.engine.reduce.pieces import piece_folder
from ep.cpu.engine.reduce.vectors import lanes
from ep.cpu.kernels.functors import ElementFunction, element_function
from ep.cpu.kernels.ordinary import maximum
from ep.cpu.lines.ahead import AHEAD_BLOCK, fetch_ahead
from ep.include.data_type import DataType
from ep.include.primitive.op_definition import Cost
from ep.include.primitive.op_table import OPS
from ep.include.primitive.reduce_op import ReduceOp
from ep.include.primitive.structure import ChoiceOp, Structure
from ep.include.primitive.unary_op import UnaryOp

ANY: Final = 2
"""The step of an operand that is neither 0 nor 1; it is read from the plan, while 0 and 1 are compiled in."""

_MOST_TWICE: Final = 12
"""The most steps of a structure that is compiled more than once: for ordinary elements, or for both of a pair."""

_BLOCK: Final = 256
"""Elements of a block, which is computed by the function for any element unless all of its elements are ordinary.

In sums, a few elements in a thousand may be too large to be ordinary.
"""

_MOST_AGAIN: Final = 4
"""The most steps that are recomputed to check whether elements are ordinary."""

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
    piece, carried, value = stack_words({piece_words}), stack_words({carried_words}), stack_words(1)
    start(carried)
    for place in range(0, count & -{width}, {width}):
        {fetches}
        {parts}
        compute(piece, {of_block}, {width}, {steps})
        add(carried, piece)
    {after}
    if count & ({width} - 1):
        place = count - {width}
        {parts}
        compute_rest(piece, {of_block}, {width}, {steps})
        add_rest(carried, piece, count)
    finish(value, carried)
    write(p0, 0, value, 0, 1, count, 1.0)
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
    """The loops over contiguous elements of a structure: either one loop, or one for ordinary elements and one for any.

    names: the objects that the generated lines refer to. functions: those of the steps that have a form for ordinary
        elements, by value.
    """

    def __init__(
        self,
        structure: Structure,
        steps: Sequence[int],
        given: Mapping[str, str],
        streamed: Collection[int] | None = None,
    ) -> None:
        """Generate the lines of the loops.

        steps: for each operand, as in a kernel. given: the parameters of all loops. streamed: the results that are
            written with non-temporal stores in a kernel that has them, or that prefetches; None in others.
        """
        self._structure, self._steps, self._given, self._streamed = structure, steps, given, streamed
        self._num_results, self._num_sources = len(structure.results), len(structure.sources)
        self._first = self._num_sources + len(structure.constants)
        self._rows = [k for k in range(self._num_results, len(steps)) if steps[k] != 0]  # what is loaded in the loop
        self.names: dict[str, Any] = {"np": np}
        self.functions: dict[int, ElementFunction] = {}
        self._is_long = False
        self._loaded = [self._load(value) for value in range(self._num_sources)]
        for value, constant in enumerate(structure.constants, self._num_sources):
            self.names[f"v{value}"] = _constant(constant.data_type, constant.bits)
        self._computed = [self._compute(value) for value in range(self._first, self._first + len(structure.steps))]

    def made(self) -> tuple[Any, bool]:
        """Return the compiled loop, and whether it is a long dependency chain."""
        checked = [value for value in self.functions if self._cone(value) is not None]
        if has_pairs(self._structure, self._steps):
            return self._loop_over_pairs(), False
        if not checked or len(self._structure.steps) > _MOST_TWICE:
            return self._loop({}), self._is_long
        names = {
            "loop_of_any": self._loop({}),
            "loop": self._loop({f"f{value}": self.functions[value].ordinary for value in checked}),
            "exceeds": self._exceeds(checked),
        }
        text = _BY_BLOCKS.format(block=_BLOCK, **self._of_block(0), **self._given)
        return jit(function_of(text, "by_blocks", __name__, names)), self._is_long

    def folded(self, op: ReduceOp) -> Any:
        """Return the loop that folds the elements of the one result into the element at the first operand.

        LLVM keeps a piece of a row, and what is carried, in registers.
        """
        data_type = self._data_type_of(0)
        of = lanes(op, data_type)
        fold, write = piece_folder(of), result_writer(op, data_type, of)
        loop, pairs = self._loop({}, of_piece), has_pairs(self._structure, self._steps, of_sources=True)
        names = {"compute_rest": loop, "write": write, "stack_words": stack_words, **fold._asdict()}
        names["compute"] = self._loop_over_pairs(in_piece=True) if pairs else loop
        words: dict[str, Any] = {"piece_words": PIECE * data_type.itemsize // 8, "carried_words": PIECE * of.size // 8}
        after, fetches = "put_in_order(carried)" if pairs else "pass", "pass"
        if self._streamed is not None:
            names["fetch_ahead"], fetches = fetch_ahead, _FETCHES.format(block=AHEAD_BLOCK)
        words |= {"fetches": fetches, "after": after}
        text = _FOLD.format(width=PIECE, **words, **self._of_block(1), **self._given)
        return jit(function_of(text, "fold", __name__, names))

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
            self.names[f"store{k}"] = storer(self._structure.data_type(value), ordinary=self._is_ordinary(k))
            stores.append(f"store{k}(p{k}, {self._index(k) if compiled is None else 'i'}, v{value})")
        text = self._text(_LOOP, self._loaded, [*self._computed, *stores])
        function = function_of(text, "loop", __name__, {**self.names, **others})
        return (compiled or (interleaved if self._is_long else jit))(function)

    def _loop_over_pairs(self, in_piece: bool = False) -> Any:
        """Return the loop over pairs of elements.

        in_piece: whether the one result is written to a piece, elements with even places before those with odd ones.
        """
        names = {**self.names, "load_pair": load_pair, "lower_of": lower_of, "upper_of": upper_of}
        loaded = [(k - self._num_results, k) for k in self._rows]
        each, lower, upper = list[str](), list[str](), list[str]()
        for value, k in loaded:
            if self._is_half(k):
                each.append(f"w{value} = load_pair(p{k}, i)")
                lower.append(f"v{value} = lower_of(w{value})")
                upper.append(f"v{value} = upper_of(w{value})")
            else:
                lower.append(f"v{value} = load{value}(p{k}, 2 * i)")
                upper.append(f"v{value} = load{value}(p{k}, 2 * i + 1)")
        each += lower + self._computed
        each += [f"l{k} = v{value}" for k, value in enumerate(self._structure.results)]
        each += upper + self._computed
        single = [line for line, is_once in self._loaded if not is_once] + self._computed
        for k, value in enumerate(self._structure.results):
            names[f"store{k}"] = storer(self._data_type_of(k), ordinary=self._is_ordinary(k))
            if in_piece:
                each += [f"store{k}(p{k}, i, l{k})", f"store{k}(p{k}, i + {PIECE // 2}, v{value})"]
                continue
            if not self._is_half(k):
                each += [f"store{k}(p{k}, 2 * i, l{k})", f"store{k}(p{k}, 2 * i + 1, v{value})"]
                single.append(f"store{k}(p{k}, i, v{value})")
                continue
            names[f"store_pair{k}"] = pair_storer(self._is_rounded(value), self._is_ordinary(k))
            each.append(f"store_pair{k}(p{k}, i, l{k}, v{value})")
            single.append(f"store{k}(p{k}, i, v{value})")
        rest = "" if in_piece else _REST.format(each="\n        ".join(single))
        once = "\n    ".join([line for line, is_once in self._loaded if is_once] or ["pass"])
        text = _PAIRS.format(once=once, each="\n        ".join(each), rest=rest, **self._given)
        function = function_of(text, "loop", __name__, names)
        return of_piece(function, pairs=True) if in_piece else jit(function)

    def _is_half(self, operand: int) -> bool:
        return self._data_type_of(operand) is DataType.kBFloat16

    def _is_ordinary(self, result: int) -> bool:
        return self._streamed is not None and result not in self._streamed

    def _is_rounded(self, value: int) -> bool:
        """Return whether a value is a number of its type already, not only when it is stored."""
        if value < self._first:
            return True
        step = self._structure.steps[value - self._first]
        return step.op is not None and step.rounded

    def _exceeds(self, checked: Sequence[int]) -> Any:
        """Return the function that checks whether some element is not ordinary."""
        names, each, cone = dict(self.names), list[str](), set[int]()
        for value in checked:
            cone |= self._cone(value) or set()
        for value in sorted(cone):
            if value >= self._first:
                each.append(self._computed[value - self._first])
        for value in checked:
            function, (operand,) = self.functions[value], self._structure.steps[value - self._first].operands
            assert function.check is not None
            names |= {f"key{value}": function.check.key, f"limit{value}": function.check.limit, "maximum": maximum}
            names[f"least{value}"] = function.check.least
            element = f"np.float64(v{operand})" if function.widened else f"v{operand}"
            each.append(f"m{value} = maximum(m{value}, key{value}({element}))")
        loaded = [self._loaded[value] for value in sorted(cone) if value < self._num_sources]
        starts = [(f"m{value} = least{value}", True) for value in checked]
        found = " or ".join(f"m{value} >= limit{value}" for value in checked)
        return jit(function_of(self._text(_EXCEEDS, [*loaded, *starts], each, found=found), "exceeds", __name__, names))

    def _text(self, template: str, loaded: Sequence[tuple[str, bool]], computed: Sequence[str], **given: str) -> str:
        once = [line for line, is_once in loaded if is_once] or ["pass"]
        each = [line for line, is_once in loaded if not is_once] + [*computed]
        return template.format(once="\n    ".join(once), each="\n        ".join(each), **self._given, **given)

    def _cone(self, value: int) -> set[int] | None:
        """Return a step's argument and the values that it is computed from; None if that computation takes long."""
        todo, cone = [*self._structure.steps[value - self._first].operands], set[int]()
        while todo:
            one = todo.pop()
            if one in cone:
                continue
            cone.add(one)
            if one < self._first:
                continue
            step = self._structure.steps[one - self._first]
            if step.op in OPS and OPS[step.op].cost not in (Cost.LIGHT, Cost.DIVISION):
                return None
            todo += step.operands
        return cone if sum(one >= self._first for one in cone) <= _MOST_AGAIN else None

    def _index(self, operand: int) -> str:
        return {0: "0", 1: "i", ANY: f"i * s{operand}"}[self._steps[operand]]

    def _load(self, value: int) -> tuple[str, bool]:
        """Return the line that loads a source, and whether it is loaded once for all elements."""
        k = self._num_results + value
        self.names[f"load{value}"] = loader(self._structure.sources[value])
        if value in self._structure.chosen:  # loaded by the step that chooses rows
            return "pass", True
        return f"v{value} = load{value}(p{k}, {self._index(k)})", self._steps[k] == 0

    def _compute(self, value: int) -> str:
        """Return the line that computes a step."""
        structure, step, names = self._structure, self._structure.steps[value - self._first], self.names
        operands = [f"v{operand}" for operand in step.operands]
        kept = step.data_type if step.rounded or step.data_type.itemsize > 2 else DataType.kFloat
        if step.data_type.dtype.kind in "biu":
            kept = step.data_type
        if step.op is None:
            return f"v{value} = v{step.operands[1]} if v{step.operands[0]} != 0 else v{step.operands[2]}"
        if step.op is ChoiceOp.kRow:
            source, index = step.operands
            k = self._num_results + source
            names[f"zero{value}"] = _constant(step.data_type, bytes(step.data_type.itemsize))
            row = f"row{value} = np.int64(v{index}); is{value} = 0 <= row{value} and row{value} < n{k}"
            place = f"p{k} + (row{value} if is{value} else 0) * r{k}, {self._index(k)}"
            loaded = f"v{value} = load{source}({place})"
            return f"{row}; {loaded}; v{value} = v{value} if is{value} else zero{value}"
        if step.op in (UnaryOp.kCast, UnaryOp.kIdentity):
            names[f"to{value}"] = converter(kept)
            return f"v{value} = to{value}({operands[0]})"
        function = element_function(step.op, structure.data_type(step.operands[0]), step.attributes)
        names[f"f{value}"], names[f"to{value}"] = function.apply, converter(kept, function.widened)
        self._is_long |= function.vectorised
        if function.check is not None:
            self.functions[value] = function
        if function.widened:
            operands = [f"np.float64({operand})" for operand in operands]
        for position, attribute in enumerate(function.attributes):
            names[f"f{value}_{position}"] = attribute
            operands.append(f"f{value}_{position}")
        return f"v{value} = to{value}(f{value}({', '.join(operands)}))"


def _constant(data_type: DataType, bits: bytes) -> Any:
    """Return a number in its arithmetic type."""
    number = np.frombuffer(bits, data_type.dtype)[0]
    return bool(number) if data_type is DataType.kBool else arithmetic_type(data_type)(number)
