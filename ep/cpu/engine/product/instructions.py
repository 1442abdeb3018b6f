"""LLVM's instructions as the products need them: vectors, loops that carry sums, and sums of products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir

from ep.include.data_type import DataType

WORD: Final = ir.IntType(64)
HALF_WORD: Final = ir.IntType(32)
REALS: Final = {DataType.kFloat: ir.FloatType(), DataType.kDouble: ir.DoubleType()}
"""The types of arithmetic."""


def function(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    """LLVM's function of that name."""
    return builder.module.globals.get(name) or ir.Function(builder.module, ir.FunctionType(result, arguments), name)


def add_product(builder: Any, x: Any, y: Any, total: Any) -> Any:
    """`total + x y`, rounded once."""
    kind, count = (x.type.element, x.type.count) if isinstance(x.type, ir.VectorType) else (x.type, 0)
    name = f"llvm.fma.{f'v{count}' if count else ''}f{32 if isinstance(kind, ir.FloatType) else 64}"
    return builder.call(function(builder, name, x.type, x.type, x.type, x.type), [x, y, total])


def spread(builder: Any, x: Any, count: int) -> Any:
    """A vector of `count` copies of `x`."""
    empty = ir.Constant(ir.VectorType(x.type, count), ir.Undefined)
    first = builder.insert_element(empty, x, HALF_WORD(0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(HALF_WORD, count), None))


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


def places_below(builder: Any, count: Any, lanes: int, first: int = 0) -> Any:
    """Which of so many numbers, from `first` on, are below `count`."""
    numbers = ir.Constant(ir.VectorType(WORD, lanes), list(range(first, first + lanes)))
    return builder.icmp_signed("<", numbers, spread(builder, count, lanes))


def masked_load(builder: Any, pointer: Any, vector: Any, align: int, mask: Any = None) -> Any:
    """The vector at `pointer`, with zeros where there is a mask that says no: nothing is read there."""
    pointer = builder.bitcast(pointer, vector.as_pointer())
    if mask is None:
        return builder.load(pointer, align=align)
    name = f"llvm.masked.load.{_mangled(vector)}"
    load = function(builder, name, vector, pointer.type, HALF_WORD, mask.type, vector)
    return builder.call(load, [pointer, HALF_WORD(align), mask, ir.Constant(vector, None)])


def masked_store(builder: Any, value: Any, pointer: Any, align: int, mask: Any = None) -> None:
    """Write a vector to `pointer`, and nothing where there is a mask that says no."""
    if mask is None:
        builder.store(value, pointer, align=align)
        return
    name = f"llvm.masked.store.{_mangled(value.type)}"
    store = function(builder, name, ir.VoidType(), value.type, pointer.type, HALF_WORD, mask.type)
    builder.call(store, [value, pointer, HALF_WORD(align), mask])


def _mangled(vector: Any) -> str:
    kind = {ir.FloatType(): "f32", ir.DoubleType(): "f64"}.get(vector.element) or f"i{vector.element.width}"
    return f"v{vector.count}{kind}.p0"
