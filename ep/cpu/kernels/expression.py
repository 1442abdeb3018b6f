"""The kernels of expressions: the functors of their ops, called one after the other for each element."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.source import function_of
from ep.cpu.compile.compiler import compile_task
from ep.cpu.compile.jit import interleaved, jit
from ep.cpu.compile.memory import arithmetic_type, converter, load_word, loader, storer
from ep.cpu.engine.map.strided import OPERAND, STRIDED_PLAN, word_of
from ep.cpu.kernels.functors import element_function
from ep.cpu.shared.context import CONTEXT
from ep.include.data_type import DataType
from ep.include.primitive.structure import Step, Structure
from ep.include.primitive.unary_op import UnaryOp

ANY: Final = 2
"""Of an operand's step: neither 0 nor 1, which are compiled in; the plan has it."""

_LOOP: Final = """
def loop({operands}, count, {steps}):
    {once}
    for i in range(count):
        {each}
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
    """The address of the task (context, begin, end) of a structure.

    steps: of each operand, results first: elements from one to the next of the innermost axis.
    """
    return _kernel(structure, tuple(step if step in (0, 1) else ANY for step in steps))


@cache
def _kernel(structure: Structure, steps: tuple[int, ...]) -> int:
    names: dict[str, Any] = {"load_word": load_word, "np": np}
    operands = [f"p{k}" for k in range(len(steps))]
    loaded, computed, compile_loop = _texts(structure, steps, names)
    once = [line for line, is_once in loaded if is_once] or ["pass"]
    each = [line for line, is_once in loaded if not is_once] + computed
    strided = [k for k, step in enumerate(steps) if step == ANY]
    given = {"operands": ", ".join(operands), "steps": ", ".join(f"s{k}" for k in strided)}
    text = _LOOP.format(once="\n    ".join(once), each="\n        ".join(each), **given)
    names["loop"] = compile_loop(function_of(text, "loop", __name__, dict(names)))
    types = [structure.data_type(value) for value in (*structure.results, *range(len(structure.sources)))]
    addresses = [f"a{k} = load_word(places, {k})" for k in range(1, len(steps))]
    addresses += [f"s{k} = load_word(plan, {word_of(k, OPERAND.step)})" for k in strided]
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
    return compile_task(f"expression.{digest}", function_of(rows, "rows", __name__, names), light=compile_loop is jit)


def _texts(
    structure: Structure, steps: Sequence[int], names: dict[str, Any]
) -> tuple[list[tuple[str, bool]], Any, Any]:
    """The lines that load (with whether once for all elements), those that compute and store, what compiles the loop.

    names: those that the lines refer to are added.
    """
    num_results, num_sources = len(structure.results), len(structure.sources)
    loaded: list[tuple[str, bool]] = []
    computed: list[str] = []
    compile_loop = jit
    for value, data_type in enumerate(structure.sources):
        k = num_results + value
        names[f"load{value}"] = loader(data_type)
        index = {0: "0", 1: "i", ANY: f"i * s{k}"}[steps[k]]
        loaded.append((f"v{value} = load{value}(p{k}, {index})", steps[k] == 0))
    for value, constant in enumerate(structure.constants, num_sources):
        names[f"v{value}"] = _constant(constant.data_type, constant.bits)
    for value, step in enumerate(structure.steps, num_sources + len(structure.constants)):
        text, is_long = _step(structure, value, step, names)
        computed.append(f"v{value} = {text}")
        compile_loop = interleaved if is_long else compile_loop
    for k, value in enumerate(structure.results):
        names[f"store{k}"] = storer(structure.data_type(value))
        computed.append(f"store{k}(p{k}, {'i' if steps[k] == 1 else f'i * s{k}' if steps[k] else '0'}, v{value})")
    return loaded, computed, compile_loop


def _step(structure: Structure, value: int, step: Step, names: dict[str, Any]) -> tuple[str, bool]:
    """The text of a step's value, and whether it is a long chain of instructions."""
    operands = [f"v{operand}" for operand in step.operands]
    kept = step.data_type if step.rounded or step.data_type.itemsize > 2 else DataType.kFloat
    if step.data_type.dtype.kind in "biu":
        kept = step.data_type
    if step.op is None:
        return f"v{step.operands[1]} if v{step.operands[0]} != 0 else v{step.operands[2]}", False
    if step.op in (UnaryOp.kCast, UnaryOp.kIdentity):
        names[f"to{value}"] = converter(kept)
        return f"to{value}({operands[0]})", False
    function = element_function(step.op, structure.data_type(step.operands[0]), step.attributes)
    names[f"f{value}"], names[f"to{value}"] = function.apply, converter(kept, function.widened)
    if function.widened:
        operands = [f"np.float64({operand})" for operand in operands]
    for position, attribute in enumerate(function.attributes):
        names[f"f{value}_{position}"] = attribute
        operands.append(f"f{value}_{position}")
    return f"to{value}(f{value}({', '.join(operands)}))", function.vectorised


def _constant(data_type: DataType, bits: bytes) -> Any:
    """A number in its type of arithmetic."""
    number = np.frombuffer(bits, data_type.dtype)[0]
    return bool(number) if data_type is DataType.kBool else arithmetic_type(data_type)(number)
