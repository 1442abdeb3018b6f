"""Instructions on vectors of any length, in LLVM IR: the only module that depends on LLVM's naming and signatures.

The length of a register plays no role: LLVM uses as many registers as a vector needs. `packed.py` has vectors of one
fixed length for rows of real numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from llvmlite import ir

from ep.include.data_type import DataType

WORD: Final = ir.IntType(64)
REALS: Final = {DataType.kFloat: ir.FloatType(), DataType.kDouble: ir.DoubleType()}
"""The floating types of arithmetic."""

_INT: Final = ir.IntType(32)
_BYTES: Final = ir.IntType(8).as_pointer()
_MANGLED: Final = {ir.HalfType(): "f16", ir.FloatType(): "f32", ir.DoubleType(): "f64"}

_INTERLEAVED: Final = 4  # vectors at a time

L1_CACHE: Final = 3  # LLVM's number for L1 in a prefetch; L2 is below
L2_CACHE: Final = 2


def constant(kind: Any, number: Any) -> Any:
    """Return a constant of a type; of a vector type, in every lane."""
    return ir.Constant(kind, [number] * kind.count if isinstance(kind, ir.VectorType) else number)


def splat(builder: Any, value: Any, count: int) -> Any:
    """Return a vector of `count` copies of a value of any type."""
    one = builder.insert_element(ir.VectorType(value.type, count)(ir.Undefined), value, _INT(0))
    return builder.shuffle_vector(one, one, ir.VectorType(_INT, count)(None))


def taken(builder: Any, places: Sequence[int], vector: Any, behind: Any = None) -> Any:
    """Return the lanes `places` of a vector; lanes of `behind` count on from the vector's own."""
    lanes = ir.Constant(ir.VectorType(_INT, len(places)), list(places))
    return builder.shuffle_vector(vector, vector if behind is None else behind, lanes)


def fma(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """Return x y + z, rounded once, for real numbers or vectors of them."""
    return builder.call(_intrinsic(builder, f"llvm.fma.{_mangled(x.type)}", x.type, x.type, x.type, x.type), [x, y, z])


def sum_in_any_order(builder: Any, value: Any) -> Any:
    """Return the sum of the lanes of a vector of real numbers, in the order that suits the processor."""
    real = value.type.element
    function = _intrinsic(builder, f"llvm.vector.reduce.fadd.{_mangled(value.type)}", real, real, value.type)
    return builder.call(function, [real(0.0), value], fastmath=("reassoc",))


def lanes_below(builder: Any, bound: Any, count: int, first: int = 0) -> Any:
    """Return the mask of the `count` integers from `first` on, as wide as `bound`, that are below `bound`."""
    numbers = ir.Constant(ir.VectorType(bound.type, count), list(range(first, first + count)))
    return builder.icmp_signed("<", numbers, splat(builder, bound, count))


def lanes_of(builder: Any, value: Any, first: int, count: int) -> Any:
    """Return lanes [first, first + count) of a vector."""
    return value if count == value.type.count else taken(builder, range(first, first + count), value)


def halves(builder: Any, value: Any) -> tuple[Any, Any]:
    """Return the lower and the upper half of a vector."""
    half = value.type.count // 2
    return lanes_of(builder, value, 0, half), lanes_of(builder, value, half, half)


def joined(builder: Any, values: Sequence[Any]) -> Any:
    """Concatenate vectors, a power of two of them, into one."""
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=True)
        values = [taken(builder, range(2 * a.type.count), a, b) for a, b in pairs]
    return values[0]


def pointer_to(builder: Any, address: Any, index: Any, kind: Any) -> Any:
    """Return a pointer of type `kind`, a vector or one element, that starts at element `index` of an address."""
    if not isinstance(kind, ir.VectorType):
        return builder.gep(builder.inttoptr(address, kind.as_pointer()), [index])
    first = builder.gep(builder.inttoptr(address, kind.element.as_pointer()), [index])
    return builder.bitcast(first, kind.as_pointer())


def load_lanes(builder: Any, pointer: Any, kind: Any, align: int, mask: Any = None) -> Any:
    """Load a value from a pointer; lanes that the mask excludes are not read and hold zeros."""
    pointer = builder.bitcast(pointer, kind.as_pointer())
    if mask is None:
        return builder.load(pointer, align=align)
    name = f"llvm.masked.load.{_mangled(kind)}.p0"
    function = _intrinsic(builder, name, kind, pointer.type, _INT, mask.type, kind)
    return builder.call(function, [pointer, _INT(align), mask, kind(None)])


def store_lanes(builder: Any, value: Any, pointer: Any, align: int, mask: Any = None) -> None:
    """Write a value to a pointer, and nothing in lanes that the mask excludes."""
    pointer = builder.bitcast(pointer, value.type.as_pointer())
    if mask is None:
        builder.store(value, pointer, align=align)
        return
    name = f"llvm.masked.store.{_mangled(value.type)}.p0"
    function = _intrinsic(builder, name, ir.VoidType(), value.type, pointer.type, _INT, mask.type)
    builder.call(function, [value, pointer, _INT(align), mask])


def store_nontemporal(builder: Any, value: Any, pointer: Any, align: int = 64) -> None:
    """Write one or more whole cache lines with non-temporal stores; the pointer is aligned to `align` bytes."""
    written = builder.store(value, pointer, align=align)
    written.set_metadata("nontemporal", builder.module.add_metadata([_INT(1)]))


def prefetch(builder: Any, pointer: Any, cache: int) -> None:
    """Prefetch the line at a pointer, which may be unreadable, into a cache level and those behind it."""
    function = _intrinsic(builder, "llvm.prefetch.p0", ir.VoidType(), _BYTES, _INT, _INT, _INT)
    to_read, data = _INT(0), _INT(1)
    builder.call(function, [builder.bitcast(pointer, _BYTES), to_read, _INT(cache), data])


def loop(
    builder: Any, end: Any, values: Sequence[Any], body: Callable[..., Sequence[Any]], mark: Any = None
) -> list[Any]:
    """Carry values on while the first is below `end`, and return the last ones; there may be no iteration.

    body: `body(*values)` returns the next values. mark: the loop's metadata, from `interleaving`.
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


def counted(
    builder: Any, begin: Any, end: Any, step: int, values: Sequence[Any], body: Callable[[Any, list[Any]], Any]
) -> tuple[Any, list[Any]]:
    """Carry values on for each index from `begin` below `end`, by `step`; return the next index and the last values.

    body: `body(index, values)` returns the next values, or None if there are no values.
    """

    def turn(index: Any, *carried: Any) -> Sequence[Any]:
        following = body(index, list(carried)) or ()
        return builder.add(index, WORD(step)), *following

    index, *last = loop(builder, end, [begin, *values], turn)
    return index, last


def counted_whole(
    builder: Any, begin: Any, end: Any, step: int, values: Sequence[Any], body: Callable[[Any, list[Any]], Any]
) -> tuple[Any, list[Any]]:
    """Do the same for whole steps only; the remainder begins at the returned index."""
    return counted(builder, begin, builder.sub(end, WORD(step - 1)), step, values, body)


def where(builder: Any, condition: Any, make: Callable[[], Sequence[Any]], values: Sequence[Any]) -> list[Any]:
    """Return the values of `make` if a condition holds, else `values`."""
    before = builder.block
    with builder.if_then(condition):
        made = make()
        last = builder.block
    return [either(builder, ((value, before), (other, last))) for value, other in zip(values, made, strict=True)]


def interleaving(module: Any) -> Any:
    """Return the metadata of a loop that is to be vectorised several vectors at a time."""
    hint = module.add_metadata(["llvm.loop.interleave.count", _INT(_INTERLEAVED)])
    mark = module.add_metadata([f"loop {len(module.metadata)}"])
    mark.operands = (mark, hint)  # the identity of a loop is a node that refers to itself
    return mark


def either(builder: Any, incoming: Sequence[tuple[Any, Any]]) -> Any:
    """Return a value that selects, by the block that control comes from, one of the `incoming` (value, block) pairs."""
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
