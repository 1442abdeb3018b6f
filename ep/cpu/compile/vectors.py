"""Instructions on vectors of any length, in LLVM's code: the one place that knows how LLVM names and takes them.

Of a register's length nothing is said: LLVM takes as many registers as a vector needs. `packed.py` has vectors of one
length for rows of real numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from llvmlite import ir

_INT: Final = ir.IntType(32)
_BYTES: Final = ir.IntType(8).as_pointer()
_MANGLED: Final = {ir.HalfType(): "f16", ir.FloatType(): "f32", ir.DoubleType(): "f64"}

_INTERLEAVED: Final = 4  # vectors at a time

FIRST_CACHE: Final = 3  # as LLVM counts
SECOND_CACHE: Final = 2


def splat(builder: Any, value: Any, count: int) -> Any:
    """Return a vector of `count` copies of a value of any type."""
    kind, zeros = ir.VectorType(value.type, count), ir.VectorType(_INT, count)
    one = builder.insert_element(kind(ir.Undefined), value, _INT(0))
    return builder.shuffle_vector(one, one, zeros(None))


def fma(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """Return x y + z, rounded once, of real numbers or vectors of them."""
    return builder.call(_intrinsic(builder, f"llvm.fma.{_mangled(x.type)}", x.type, x.type, x.type, x.type), [x, y, z])


def sum_in_any_order(builder: Any, value: Any) -> Any:
    """Return the sum of the lanes of a vector of real numbers, in the order that suits the processor."""
    real = value.type.element
    function = _intrinsic(builder, f"llvm.vector.reduce.fadd.{_mangled(value.type)}", real, real, value.type)
    return builder.call(function, [real(0.0), value], fastmath=("reassoc",))


def lanes_below(builder: Any, bound: Any, count: int, first: int = 0) -> Any:
    """Return which of `count` integers, from `first` on and as wide as `bound`, are below it."""
    numbers = ir.Constant(ir.VectorType(bound.type, count), list(range(first, first + count)))
    return builder.icmp_signed("<", numbers, splat(builder, bound, count))


def lanes_of(builder: Any, value: Any, first: int, count: int) -> Any:
    """Return lanes [first, first + count) of a vector."""
    if count == value.type.count:
        return value
    places = ir.Constant(ir.VectorType(_INT, count), list(range(first, first + count)))
    return builder.shuffle_vector(value, value, places)


def halves(builder: Any, value: Any) -> tuple[Any, Any]:
    """Return the lower and the upper half of a vector."""
    half = value.type.count // 2
    return lanes_of(builder, value, 0, half), lanes_of(builder, value, half, half)


def pointer_to(builder: Any, address: Any, index: Any, kind: Any) -> Any:
    """Return a pointer to what begins with element `index` at an address: a vector of elements, or one."""
    if not isinstance(kind, ir.VectorType):
        return builder.gep(builder.inttoptr(address, kind.as_pointer()), [index])
    first = builder.gep(builder.inttoptr(address, kind.element.as_pointer()), [index])
    return builder.bitcast(first, kind.as_pointer())


def load_lanes(builder: Any, pointer: Any, kind: Any, align: int, mask: Any = None) -> Any:
    """Return what is at a pointer, with zeros in lanes that a mask leaves out: nothing is read there."""
    pointer = builder.bitcast(pointer, kind.as_pointer())
    if mask is None:
        return builder.load(pointer, align=align)
    name = f"llvm.masked.load.{_mangled(kind)}.p0"
    function = _intrinsic(builder, name, kind, pointer.type, _INT, mask.type, kind)
    return builder.call(function, [pointer, _INT(align), mask, kind(None)])


def store_lanes(builder: Any, value: Any, pointer: Any, align: int, mask: Any = None) -> None:
    """Write a value to a pointer, and nothing in lanes that a mask leaves out."""
    pointer = builder.bitcast(pointer, value.type.as_pointer())
    if mask is None:
        builder.store(value, pointer, align=align)
        return
    name = f"llvm.masked.store.{_mangled(value.type)}.p0"
    function = _intrinsic(builder, name, ir.VoidType(), value.type, pointer.type, _INT, mask.type)
    builder.call(function, [value, pointer, _INT(align), mask])


def store_past_caches(builder: Any, value: Any, pointer: Any, align: int = 64) -> None:
    """Write a vector, or several, to whole lines of the caches; the pointer is aligned so."""
    written = builder.store(value, pointer, align=align)
    written.set_metadata("nontemporal", builder.module.add_metadata([_INT(1)]))


def prefetch(builder: Any, pointer: Any, cache: int) -> None:
    """Ask for the line at a pointer, which need not be one that may be read, in a cache and those behind it."""
    function = _intrinsic(builder, "llvm.prefetch.p0", ir.VoidType(), _BYTES, _INT, _INT, _INT)
    to_read, data = _INT(0), _INT(1)
    builder.call(function, [builder.bitcast(pointer, _BYTES), to_read, _INT(cache), data])


def loop(
    builder: Any, end: Any, values: Sequence[Any], body: Callable[..., Sequence[Any]], mark: Any = None
) -> list[Any]:
    """Carry values on while the first of them is below `end`, and return the last ones; there may be no turn.

    body: `body(*values)` gives those that follow. mark: of the loop, as `interleaving` has it.
    """
    before, inside, done = builder.block, *(builder.append_basic_block(name) for name in ("loop", "done"))
    builder.cbranch(builder.icmp_signed("<", values[0], end), inside, done)
    builder.position_at_end(inside)
    carried = [builder.phi(value.type) for value in values]
    following = body(*carried)
    last = builder.block
    for value, first, again in zip(carried, values, following, strict=True):
        value.add_incoming(first, before)
        value.add_incoming(again, last)
    back = builder.cbranch(builder.icmp_signed("<", following[0], end), inside, done)
    if mark:
        back.set_metadata("llvm.loop", mark)
    builder.position_at_end(done)
    return [either(builder, ((a, before), (b, last))) for a, b in zip(values, following, strict=True)]


def interleaving(module: Any) -> Any:
    """Return the mark of a loop that is vectorised several vectors at a time."""
    hint = module.add_metadata(["llvm.loop.interleave.count", _INT(_INTERLEAVED)])
    mark = module.add_metadata([f"loop {len(module.metadata)}"])
    mark.operands = (mark, hint)  # the identity of a loop is a node that refers to itself
    return mark


def either(builder: Any, incoming: Sequence[tuple[Any, Any]]) -> Any:
    """Return the value that comes from each of these blocks."""
    if all(value is incoming[0][0] for value, _ in incoming):
        return incoming[0][0]
    value = builder.phi(incoming[0][0].type)
    for one, block in incoming:
        value.add_incoming(one, block)
    return value


def _intrinsic(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    return builder.module.declare_intrinsic(name, (), ir.FunctionType(result, arguments))


def _mangled(kind: Any) -> str:
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{_mangled(kind.element)}"
    return _MANGLED.get(kind) or f"i{kind.width}"
