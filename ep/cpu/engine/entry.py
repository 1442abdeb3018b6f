"""Entries: what Launch calls. The compiled check of a launch is written out here from the primitive's signature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, reduce
from typing import Any

from ep.common.primitive.signature import Signature
from ep.cpu.compile.compiler import compile_entry
from ep.cpu.compile.integers import multiply_sizes
from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import load_word, stack_words, store_words
from ep.cpu.compile.ndarray import (
    READABLE,
    WRITABLE,
    are_dims,
    array_data,
    array_of_bytes,
    index_integer,
    object_address,
    word,
    words,
)
from ep.cpu.engine.plan import plan_layout
from ep.cpu.engine.source import function_of
from ep.cpu.shared.context import CONTEXT_WORDS, MAX_SOURCES, NONE
from ep.cpu.shared.state import STATE, TYPE_WORDS


@cache
def entry(name: str, signature: Signature, state: Any, launch: Any, plan: Any = None) -> Callable[..., int]:
    """The entry (state, sizes and others, operands) of a primitive, or with plans (state, plan, dims, operands).

    It returns 0 where the launch was done. Otherwise nothing has been written, and the checks in Python say why.

    name: of the primitive, for the cache.
    state, plan: the layouts; where there is no plan, sizes are arguments, and a launch with one of 0 is left to Python.
        dims is the tuple of all dims and strides that the plan was found by: equal to those of the plan, but maybe not
        dims themselves.
    launch: compiled (context, bytes read and written, whether dst is the storage of another operand, sizes and others):
        does the work and returns 0, or has done nothing and returns 1.
    """
    if len(signature.operands) > MAX_SOURCES + 1:
        raise ValueError(f"{name} has {len(signature.operands)} operands; a launch has room for {MAX_SOURCES + 1}")
    fields = None if plan is None else plan_layout(plan, signature)
    numbers = () if plan is not None else (*signature.sizes, *signature.others)
    source = _source(signature, state, fields, numbers)
    function = function_of(source, "entry", __name__, {**_NAMES, "launch": launch})
    plans = () if plan is None else (words, object_address)
    types = (words, *plans, *(index_integer for _ in numbers), *(object_address for _ in signature.operands))
    return compile_entry(name, function, types)


@jit
def clash(dst, dst_count, dst_size, other, other_count, other_size, in_place):
    """Whether a written operand lies on another one in a way that is not allowed."""
    same = dst == other and dst_count == other_count and dst_size == other_size
    return other < dst + dst_count * dst_size and dst < other + other_count * other_size and not (same and in_place)


_NAMES = {
    "CONTEXT_WORDS": CONTEXT_WORDS,
    "READABLE": READABLE,
    "WRITABLE": WRITABLE,
    "are_dims": are_dims,
    "array_data": array_data,
    "array_of_bytes": array_of_bytes,
    "clash": clash,
    "load_word": load_word,
    "multiply_sizes": multiply_sizes,
    "stack_words": stack_words,
    "store_words": store_words,
    "word": word,
}


def _source(signature: Signature, state: Any, plan: Any, numbers: Sequence[str]) -> str:
    """The compiled check; plan: the layout of the plan with the signature's fields, or None."""
    operands = signature.operands
    buffers = [operand.name for operand in operands]
    arguments = ["state", *(["plan", "dims"] if plan else []), *numbers, *buffers]
    lines = [f"{argument} = word({argument}_)" for argument in arguments if argument not in buffers]
    if plan:
        lines += ["if not are_dims(dims, state):", "    return 1"]
        lines += [f"{size} = load_word(plan, {plan.sizes + i})" for i, size in enumerate(signature.sizes)]
        lines += [f"in_place = load_word(plan, {plan.in_place}) != 0"]
    else:
        lines += [f"if {_any(f'{size} <= 0' for size in signature.sizes)}:", "    return 1"]
        lines += ["plan, in_place = 0, True"]
    lines += [f"ndarray_type = load_word(state, {STATE.ndarray_type})"]
    for position, operand in enumerate(operands):
        name, flags = operand.name, "WRITABLE" if operand.written else "READABLE"
        count = reduce(lambda product, size: f"multiply_sizes({product}, {size})", operand.count or ("1",))
        if operand.any_type:
            known = f"load_word(state, {STATE.known_types})"
            lines += [
                f"{name}_count, {name}_size = {count}, 1",
                f"{name} = array_of_bytes(word({name}_), ndarray_type, {known}, {name}_count, {flags})",
            ]
            continue
        memory, first = ("plan", plan.types) if operand.type_at_launch else ("state", state.num_words)
        dtype = first + TYPE_WORDS * position
        lines += [
            f"{name}_count, {name}_size = {count}, load_word({memory}, {dtype + 1})",
            f"{name} = array_data(word({name}_), ndarray_type, load_word({memory}, {dtype}), {name}_count, {flags})",
        ]
    # an array that is as expected has no more elements than memory holds: nothing overflows from here on
    lines += [f"if {_any(f'{name} == 0' for name in buffers)}:", "    return 1"]
    for one, other in signature.pairs:
        in_place = "in_place" if operands[one].in_place else "False"
        parts = ", ".join(f"{operands[i].name}{part}" for i in (one, other) for part in ("", "_count", "_size"))
        lines += [f"if clash({parts}, {in_place}):", "    return 1"]
    dst = next(operand.name for operand in operands if operand.written)
    others = [name for name in buffers if name != dst]
    shared = [operands[other].name for one, other in signature.pairs if operands[one].in_place]
    given = [dst, "state", "plan", str(NONE), f"{dst}_count", f"{dst}_size", str(len(others))]
    given += [f"{name}{part}" for name in others for part in ("", "_count", "_size")]
    in_place = _any(f"{dst} == {name}" for name in shared)
    passed = "".join(f"{number}, " for number in numbers)
    moved = " + ".join(f"{name}_count * {name}_size" for name in buffers)
    lines += [
        "context = stack_words(CONTEXT_WORDS)",
        f"store_words(context, {', '.join(given)})",
        f"return launch(context, {moved}, {in_place}, ({passed}))",
    ]
    return "\n    ".join([f"def entry({', '.join(f'{argument}_' for argument in arguments)}):", *lines])


def _any(conditions: Iterable[str]) -> str:
    return " or ".join(conditions) or "False"
