"""Instructions on vectors of any length, in LLVM IR: the only module that depends on LLVM's naming and signatures.

A vector may be longer than a register: LLVM uses as many registers as it needs. Compiled code has
vectors as values (`vector.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from llvmlite import ir

from ep.cpu.compile.llvm import INTERLEAVED
from ep.include.data_type import DataType

BIT, BYTE, INT, WORD = (ir.IntType(width) for width in (1, 8, 32, 64))
HALF, FLOAT, DOUBLE, NOTHING = ir.HalfType(), ir.FloatType(), ir.DoubleType(), ir.VoidType()
REALS: Final = {DataType.kFloat: FLOAT, DataType.kDouble: DOUBLE}
"""The floating types of arithmetic."""

_NAMES: Final = {HALF: "f16", FLOAT: "f32", DOUBLE: "f64"}

PIECE: Final = 32
"""The elements of a piece of a row that becomes one vector: as many as a sum in float64 has lanes."""

L1_CACHE: Final = 3  # LLVM's number for L1 in a prefetch
L2_CACHE: Final = 2


def stored_bits(data_type: DataType, count: int | None = None) -> Any:
    """Return the integer type of a stored number; with a count, that of a vector of numbers."""
    bits = ir.IntType(8 * data_type.itemsize)
    return bits if count is None else ir.VectorType(bits, count)


def constant(kind: Any, *numbers: Any) -> Any:
    """Return a constant of a type; of a vector type, a number in every lane, or several in turn."""
    if not isinstance(kind, ir.VectorType):
        return ir.Constant(kind, *numbers)
    return ir.Constant(kind, [numbers[lane % len(numbers)] for lane in range(kind.count)])


def splat(builder: Any, value: Any, count: int) -> Any:
    """Return a vector of `count` copies of a value of any type."""
    one = builder.insert_element(ir.VectorType(value.type, count)(ir.Undefined), value, INT(0))
    return builder.shuffle_vector(one, one, ir.VectorType(INT, count)(None))


def taken(builder: Any, places: Sequence[int], vector: Any, behind: Any = None) -> Any:
    """Return the lanes `places` of a vector; numbers beyond its last lane select lanes of `behind`."""
    lanes = ir.Constant(ir.VectorType(INT, len(places)), list(places))
    return builder.shuffle_vector(vector, vector if behind is None else behind, lanes)


def taken_of_several(builder: Any, places: Sequence[int], vectors: Sequence[Any]) -> Any:
    """Return the vector of as many lanes of several vectors, counted from the first of these on."""
    lanes, result = vectors[0].type.count, vectors[0]
    sources = [divmod(place, lanes) for place in places]
    for number in range(1, len(vectors)):  # lanes from earlier vectors stay, the others come from this one
        chosen = [
            lanes + lane if source == number else (lane if number == 1 else place)
            for place, (source, lane) in enumerate(sources)
        ]
        result = taken(builder, chosen, result, vectors[number])
    return result


def every(builder: Any, vectors: Sequence[Any], begin: int) -> Any:
    """Return the vector of element `begin` and every len(vectors)-th element after it."""
    step = len(vectors)
    return taken_of_several(builder, range(begin, begin + step * vectors[0].type.count, step), vectors)


def call(builder: Any, name: str, result: Any, *arguments: Any, fastmath: Sequence[str] = ()) -> Any:
    """Call a function of the process, or of LLVM, by its name; `result` is its LLVM type."""
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(result, [one.type for one in arguments]), name)
    return builder.call(function, arguments, fastmath=fastmath)


def call_address(builder: Any, address: Any, result: Any, *arguments: Any) -> Any:
    """Call the C function at an address; `result` is its LLVM type."""
    kind = ir.FunctionType(result, [one.type for one in arguments])
    return builder.call(builder.inttoptr(address, kind.as_pointer()), arguments)


def address_of_words(builder: Any, name: str) -> Any:
    """Return the address of words of the process, by their name."""
    words = builder.module.globals.get(name) or ir.GlobalVariable(builder.module, WORD, name)
    return builder.ptrtoint(words, WORD)


def address_of_text(builder: Any, name: str, text: str) -> Any:
    """Return the address of a C string, a constant that kernels share by its name."""
    stored = builder.module.globals.get(name)
    if stored is None:
        letters = bytearray(text.encode() + b"\0")
        constant = ir.Constant(ir.ArrayType(BYTE, len(letters)), letters)
        stored = ir.GlobalVariable(builder.module, constant.type, name)
        stored.global_constant, stored.linkage, stored.initializer = True, "linkonce_odr", constant
    return builder.ptrtoint(stored, WORD)


def structure(builder: Any, parts: Sequence[Any]) -> Any:
    """Return a structure of values."""
    made = ir.LiteralStructType([part.type for part in parts])(ir.Undefined)
    for number, part in enumerate(parts):
        made = builder.insert_value(made, part, number)
    return made


def copy_memory(builder: Any, dst: Any, src: Any, count: Any) -> None:
    """Copy `count` bytes from an address to another one; they must not overlap."""
    places = [pointer_to(builder, address, BYTE) for address in (dst, src)]
    copy = builder.module.declare_intrinsic("llvm.memcpy", [*(place.type for place in places), count.type])
    builder.call(copy, [*places, count, BIT(0)])


def set_memory(builder: Any, dst: Any, byte: Any, count: Any) -> None:
    """Write a byte `count` times from an address on."""
    place = pointer_to(builder, dst, BYTE)
    fill = builder.module.declare_intrinsic("llvm.memset", [place.type, count.type])
    builder.call(fill, [place, byte, count, BIT(0)])


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer, or a vector of integers."""
    return isinstance(getattr(value.type, "element", value.type), ir.IntType)


def add(builder: Any, x: Any, y: Any) -> Any:
    """Return x + y, for numbers or vectors of them; of integers modulo the range."""
    return (builder.add if is_integer(x) else builder.fadd)(x, y)


def fma(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """Return x y + z, for numbers or vectors of them: rounded once, or of integers modulo the range."""
    if is_integer(x):
        return builder.add(builder.mul(x, y), z)
    return call(builder, f"llvm.fma.{mangled(x.type)}", x.type, x, y, z)


class _BFloat(ir.Type):  # type: ignore[misc]
    """LLVM's type of bfloat16, which llvmlite lacks."""

    def __str__(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BFloat)

    def __hash__(self) -> int:
        return hash(_BFloat)


def add_pairs(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """Return z plus the products of pairs, which are the halves of each lane of x and y.

    Halves of integers are signed, and sums are modulo the range. Others are bfloat16: the product of the upper halves
    is added first, sums are rounded each time, and subnormal numbers count as 0.
    """
    half = ir.IntType(16) if is_integer(z) else _BFloat()
    x, y = (builder.bitcast(one, ir.VectorType(half, 2 * z.type.count)) for one in (x, y))
    if is_integer(z):  # LLVM makes one instruction of both where the processor has it
        name = {4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}[z.type.count]
        return builder.add(z, call(builder, f"llvm.x86.{name}", z.type, x, y))
    return call(builder, f"llvm.x86.avx512bf16.dpbf16ps.{32 * z.type.count}", z.type, z, x, y)


def add_quads(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """Return z plus the products of the four bytes of each lane of x, which are unsigned, and of y, which are signed.

    Sums are modulo the range.
    """
    return call(builder, f"llvm.x86.avx512.vpdpbusd.{32 * z.type.count}", z.type, z, x, y)


def sum_in_any_order(builder: Any, value: Any) -> Any:
    """Return the sum of the lanes of a vector of numbers, in the order that is best for the processor."""
    real = value.type.element
    if is_integer(value):
        return call(builder, f"llvm.vector.reduce.add.{mangled(value.type)}", real, value)
    name = f"llvm.vector.reduce.fadd.{mangled(value.type)}"
    return call(builder, name, real, real(0.0), value, fastmath=("reassoc",))


def smallest(builder: Any, value: Any) -> Any:
    """Return the least lane of a vector of unsigned integers."""
    return call(builder, f"llvm.vector.reduce.umin.{mangled(value.type)}", value.type.element, value)


def largest(builder: Any, value: Any) -> Any:
    """Return the largest lane of a vector of floating-point numbers, none of which is NaN unless all are."""
    while value.type.count > 1:
        lower, upper = halves(builder, value)
        value = builder.select(builder.fcmp_ordered(">", lower, upper), lower, upper)
    return builder.extract_element(value, INT(0))


def lanes_below(builder: Any, bound: Any, count: int, first: int = 0) -> Any:
    """Return the mask of the `count` integers from `first` on, as wide as `bound`, that are below `bound`."""
    return _compared(builder, "<", bound, range(first, first + count))


def lanes_from(builder: Any, bound: Any, count: int) -> Any:
    """Return the mask of the `count` integers from 0 on, as wide as `bound`, that are at least `bound`."""
    return _compared(builder, ">=", bound, range(count))


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


def pointer_to(builder: Any, address: Any, kind: Any, index: Any = None) -> Any:
    """Return a pointer of type `kind` to an address, or to element `index` of the array that begins there.

    address: a word, or a pointer of any type. index: counts values of `kind`, or elements of it if `kind` is a vector.
    """
    convert = builder.bitcast if isinstance(address.type, ir.PointerType) else builder.inttoptr
    if index is None:
        return convert(address, kind.as_pointer())
    element = kind.element if isinstance(kind, ir.VectorType) else kind
    return builder.bitcast(builder.gep(convert(address, element.as_pointer()), [index]), kind.as_pointer())


def load(builder: Any, address: Any, kind: Any, index: Any = None, mask: Any = None, align: int = 1) -> Any:
    """Load a value of type `kind`; lanes that the mask excludes are not read and hold zeros.

    address, index: the place, as for `pointer_to`; it is aligned to `align` bytes.
    """
    pointer = pointer_to(builder, address, kind, index)
    if mask is None:
        return builder.load(pointer, align=align)
    return call(builder, f"llvm.masked.load.{mangled(kind)}.p0", kind, pointer, INT(align), mask, kind(None))


def store(builder: Any, value: Any, address: Any, index: Any = None, mask: Any = None, align: int = 1) -> None:
    """Write a value to the place that `load` would read it from, and nothing in lanes that the mask excludes."""
    pointer = pointer_to(builder, address, value.type, index)
    if mask is None:
        builder.store(value, pointer, align=align)
    else:
        call(builder, f"llvm.masked.store.{mangled(value.type)}.p0", NOTHING, value, pointer, INT(align), mask)


def store_nontemporal(builder: Any, value: Any, address: Any, index: Any = None, align: int = 64) -> None:
    """Write one or more whole cache lines, as `store` does, with non-temporal stores. align: of the place, in bytes."""
    written = builder.store(value, pointer_to(builder, address, value.type, index), align=align)
    written.set_metadata("nontemporal", builder.module.add_metadata([INT(1)]))


def prefetch_line(builder: Any, address: Any, cache: int) -> None:
    """Prefetch the line at an address, which may be unreadable, into a cache level and the levels behind it.

    Only `lines/fetch.py` calls it, which prefetches all lines of a range.
    """
    to_read, data = INT(0), INT(1)
    call(builder, "llvm.prefetch.p0", NOTHING, pointer_to(builder, address, BYTE), to_read, INT(cache), data)


def loop(
    builder: Any, end: Any, values: Sequence[Any], body: Callable[..., Sequence[Any]], mark: Any = None
) -> list[Any]:
    """Loop while the first of the carried values is below `end`; return the last values. There may be no iteration.

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
    """Loop over indices from `begin` to `end`, by `step`, carrying values; return the next index and the last values.

    body: `body(index, values)` returns the next values, or None if there are no values.
    """

    def turn(index: Any, *carried: Any) -> Sequence[Any]:
        following = body(index, list(carried)) or ()
        return builder.add(index, WORD(step)), *following

    index, *last = loop(builder, end, [begin, *values], turn)
    return index, last


def counted_at_head(
    builder: Any, begin: Any, end: Any, step: Any, values: Sequence[Any], body: Callable[[Any, list[Any]], Any]
) -> tuple[Any, list[Any]]:
    """Do the same as `counted`, by a step that may be a word, with the test at the head.

    LLVM generates different code for it: 10 % shorter code for reductions, longer code for products.
    """
    before, step = builder.block, WORD(step) if isinstance(step, int) else step
    head, inside, done = (builder.append_basic_block(name) for name in ("head", "loop", "done"))
    builder.branch(head)
    builder.position_at_end(head)
    index, *carried = phis = [builder.phi(value.type) for value in (begin, *values)]
    builder.cbranch(builder.icmp_signed("<", index, end), inside, done)
    builder.position_at_end(inside)
    following = body(index, carried) or ()
    for phi, first, again in zip(phis, (begin, *values), (builder.add(index, step), *following), strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(again, builder.block)
    builder.branch(head)
    builder.position_at_end(done)
    return index, carried


def where(builder: Any, condition: Any, make: Callable[[], Sequence[Any]], values: Sequence[Any]) -> list[Any]:
    """Return the values of `make` if a condition holds, else `values`."""
    before = builder.block
    with builder.if_then(condition):
        made = make()
        last = builder.block
    return [either(builder, ((value, before), (other, last))) for value, other in zip(values, made, strict=True)]


def interleaving(module: Any) -> Any:
    """Return the metadata of a loop that is to be vectorised several vectors at a time."""
    return _mark_of_loop(module, ["llvm.loop.interleave.count", INT(INTERLEAVED)])


def in_one_vector(module: Any, count: int) -> Any:
    """Return the metadata of a loop of `count` turns that is to become instructions on vectors of `count` lanes.

    Otherwise LLVM writes such a loop as `count` copies of its instructions, before it looks for vectors.
    """
    return _mark_of_loop(module, ["llvm.loop.unroll.disable"], ["llvm.loop.vectorize.width", INT(count)])


def as_written(module: Any) -> Any:
    """Return the metadata of a loop by steps of several vectors or elements, whose body LLVM is not to repeat."""
    return _mark_of_loop(module, ["llvm.loop.unroll.runtime.disable"])


def _mark_of_loop(module: Any, *hints: list[Any]) -> Any:
    mark = module.add_metadata([f"loop {len(module.metadata)}"])
    # the identity of a loop is a node that refers to itself
    mark.operands = (mark, *(module.add_metadata(hint) for hint in hints))
    return mark


def either(builder: Any, incoming: Sequence[tuple[Any, Any]]) -> Any:
    """Return a value that selects, by the block that control comes from, one of the `incoming` (value, block) pairs."""
    if all(value is incoming[0][0] for value, _ in incoming):
        return incoming[0][0]
    value = builder.phi(incoming[0][0].type)
    for one, block in incoming:
        value.add_incoming(one, block)
    return value


def with_masks_unless(builder: Any, inside: Any, make: Callable[[bool], Sequence[Any]]) -> list[Any]:
    """Return the values of `make(False)` where all elements are inside, else those of `make(True)`, with masks."""
    made = []
    with builder.if_else(inside) as ways:
        for way, masked in zip(ways, (False, True), strict=True):
            with way:
                made.append((make(masked), builder.block))
    (one, of_one), (other, of_other) = made
    return [either(builder, ((a, of_one), (b, of_other))) for a, b in zip(one, other, strict=True)]


def least(builder: Any, a: Any, b: Any) -> Any:
    """Return the smaller of two signed integers."""
    return builder.select(builder.icmp_signed("<", a, b), a, b)


def _compared(builder: Any, order: str, bound: Any, numbers: Sequence[int]) -> Any:
    bounds = splat(builder, bound, len(numbers))
    return builder.icmp_signed(order, constant(bounds.type, *numbers), bounds)


def mangled(kind: Any) -> str:
    """Return the part of the name of LLVM's functions that stands for a type."""
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{mangled(kind.element)}"
    return _NAMES.get(kind) or f"i{kind.width}"
