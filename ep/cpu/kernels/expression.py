"""The kernels of expressions: the functors of their ops, called one after the other for each element."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.native.words import load_word
from ep.common.source import function_of
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import interleaved, jit
from ep.cpu.compile.memory import arithmetic_type, converter, loader, storer
from ep.cpu.engine.map.strided import OPERAND, STRIDED_PLAN, word_of
from ep.cpu.kernels.functors import ElementFunction, element_function
from ep.cpu.kernels.ordinary import maximum
from ep.cpu.shared.context import CONTEXT
from ep.include.data_type import DataType
from ep.include.primitive.op_definition import Cost
from ep.include.primitive.op_table import OPS
from ep.include.primitive.structure import ChoiceOp, Structure
from ep.include.primitive.unary_op import UnaryOp

ANY: Final = 2
"""The step of an operand that is neither 0 nor 1; it is read from the plan, while 0 and 1 are compiled in."""

_MOST_TWICE: Final = 12
"""The most steps of a structure that is compiled a second time, for ordinary elements."""

_BLOCK: Final = 256
"""Elements of a block, which is computed by the function for any element unless all of its elements are ordinary.

In sums, a few elements in a thousand may be too large to be ordinary.
"""

_MOST_AGAIN: Final = 4
"""The most steps that are recomputed to check whether elements are ordinary."""

_LOOP: Final = """
def loop({operands}, count, {steps}):
    {once}
    for i in range(count):
        {each}
"""

_EXCEEDS: Final = """
def exceeds({operands}, count, {steps}):
    {once}
    for i in range(count):
        {each}
    return {found}
"""

_BY_BLOCKS: Final = """
def by_blocks({operands}, count, {steps}):
    for begin in range(0, count, {block}):
        end = min(count - begin, {block})
        {parts}
        if exceeds({of_block}, end, {steps}):
            loop_of_any({of_block}, end, {steps})
        else:
            loop({of_block}, end, {steps})
"""

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


def expression_kernel(structure: Structure, steps: Sequence[int]) -> int:
    """Return the address of the task (context, begin, end) of a structure.

    steps: for each operand, results first, its stride along the innermost axis, in elements.
    """
    return _kernel(structure, tuple(step if step in (0, 1) else ANY for step in steps))


@cache
def _kernel(structure: Structure, steps: tuple[int, ...]) -> int:
    names: dict[str, Any] = {"load_word": load_word, "np": np}
    operands = [f"p{k}" for k in range(len(steps))]
    strided = [k for k, step in enumerate(steps) if step == ANY]
    chosen = sorted(len(structure.results) + source for source in structure.chosen)
    words = [f"s{k}" for k in strided] + [f"{word}{k}" for k in chosen for word in ("n", "r")]
    given = {"operands": ", ".join(operands), "steps": ", ".join(words)}
    names["loop"], is_long = _Loops(structure, steps, given).made()
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
    digest = hashlib.sha256(repr((structure, steps)).encode()).hexdigest()[:24]
    return compile_task(f"expression.{digest}", function_of(rows, "rows", __name__, names), light=not is_long)


class _Loops:
    """The loops over contiguous elements of a structure: either one loop, or one for ordinary elements and one for any.

    names: the objects that the generated lines refer to. functions: those of the steps that have a form for ordinary
        elements, by value.
    """

    def __init__(self, structure: Structure, steps: Sequence[int], given: Mapping[str, str]) -> None:
        """Generate the lines of the loops.

        steps: for each operand, as in a kernel. given: the parameters of all loops.
        """
        self._structure, self._steps, self._given = structure, steps, given
        self._num_results, self._num_sources = len(structure.results), len(structure.sources)
        self._first = self._num_sources + len(structure.constants)
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
        if not checked or len(self._structure.steps) > _MOST_TWICE:
            return self._loop({}), self._is_long
        names = {
            "loop_of_any": self._loop({}),
            "loop": self._loop({f"f{value}": self.functions[value].ordinary for value in checked}),
            "exceeds": self._exceeds(checked),
        }
        parts, operands = [], self._given["operands"].split(", ")
        for k, (operand, step) in enumerate(zip(operands, self._steps, strict=True)):
            size = self._data_type_of(k).itemsize
            parts.append(f"q{k} = {operand}" + ("" if step == 0 else f" + begin * {size}" + f" * s{k}" * (step == ANY)))
        of_block = ", ".join(f"q{k}" for k in range(len(operands)))
        text = _BY_BLOCKS.format(block=_BLOCK, parts="\n        ".join(parts), of_block=of_block, **self._given)
        return jit(function_of(text, "by_blocks", __name__, names)), self._is_long

    def _data_type_of(self, operand: int) -> DataType:
        result = operand < self._num_results
        return self._structure.data_type(self._structure.results[operand] if result else operand - self._num_results)

    def _loop(self, others: Mapping[str, Any]) -> Any:
        """Return the loop that computes and stores; others: functions that replace those in `names`."""
        stores = []
        for k, value in enumerate(self._structure.results):
            self.names[f"store{k}"] = storer(self._structure.data_type(value))
            stores.append(f"store{k}(p{k}, {self._index(k)}, v{value})")
        text = self._text(_LOOP, self._loaded, [*self._computed, *stores])
        function = function_of(text, "loop", __name__, {**self.names, **others})
        return (interleaved if self._is_long else jit)(function)

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
