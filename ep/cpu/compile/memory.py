"""Raw memory access in compiled code: words, and elements of a DataType converted to and from their arithmetic type.

Addresses are int64 values. No alignment is assumed: x86-64 and AArch64 access unaligned words at full speed.
"""

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir

from ep.common.functor.math_library import ScalarType
from ep.common.native.emitted import emitted, intrinsic, numba_type
from ep.common.native.on_demand import types
from ep.cpu.compile.conversion import convert, pair_of_bfloat16, widened
from ep.cpu.compile.llvm import ORDINARY_STORES
from ep.cpu.compile.vectors import (
    BYTE,
    DOUBLE,
    FLOAT,
    INT,
    NOTHING,
    WORD,
    call,
    copy_memory,
    load,
    pointer_to,
    set_memory,
    store,
    stored_bits,
)
from ep.include.data_type import DataType
from ep.include.number_kind import HALVES

_UNITS = {size: ir.IntType(8 * size) for size in (1, 2, 4, 8)} | {
    size: ir.VectorType(BYTE, size) for size in (16, 32, 64)
}


def arithmetic_type(data_type: DataType) -> ScalarType:
    """Return the NumPy scalar type that elements of `data_type` are computed in."""
    if data_type in HALVES:
        return np.float32
    return data_type.dtype.type


@emitted("int64")
def allocate(builder: Any, size: Any) -> Any:
    """Allocate `size` bytes and return their address, or 0 if memory is exhausted; free them with `release`."""
    return builder.ptrtoint(call(builder, "malloc", BYTE.as_pointer(), size), WORD)


@emitted()
def release(builder: Any, address: Any) -> None:
    """Free memory that `allocate` returned."""
    call(builder, "free", NOTHING, pointer_to(builder, address, BYTE))


@emitted()
def copy_bytes(builder: Any, dst: Any, src: Any, count: Any) -> None:
    """Copy `count` bytes from `src` to `dst`, which must not overlap."""
    copy_memory(builder, dst, src, count)


@emitted()
def set_bytes(builder: Any, dst: Any, count: Any, value: Any) -> None:
    """Write `count` bytes of `value`, from 0 to 255."""
    set_memory(builder, dst, builder.trunc(value, BYTE), count)


@cache
def unit_functions(size: int) -> tuple[Any, Any]:
    """Return two functions that move one unit of `size` bytes (1, 2, 4, 8, 16, 32 or 64).

    copy_unit(dst, dst_index, src, src_index): copies one unit; indices count units.
    copy_unit_or_zero(dst, dst_index, src, src_index, valid): copies one unit if valid, else writes zeros.
    """
    kind = _UNITS[size]

    def place(builder: Any, address: Any, index: Any) -> Any:
        return builder.gep(pointer_to(builder, address, kind), [index])

    @emitted()
    def copy_unit(builder: Any, dst: Any, dst_index: Any, src: Any, src_index: Any) -> None:
        target = place(builder, dst, dst_index)
        store(builder, load(builder, place(builder, src, src_index), kind), target)

    @emitted(valid="boolean")
    def copy_unit_or_zero(builder: Any, dst: Any, dst_index: Any, src: Any, src_index: Any, valid: Any) -> None:
        # for a missing row, the first unit is read instead: no branch, and no read out of bounds
        value = load(builder, place(builder, src, builder.select(valid, src_index, WORD(0))), kind)
        store(builder, builder.select(valid, value, kind(None)), place(builder, dst, dst_index))

    return copy_unit, copy_unit_or_zero


@cache
def loader(data_type: DataType, wide: bool = False, written: bool = False) -> Any:
    """Return `load(address, index)`, which reads element `index` of a buffer of `data_type` in its arithmetic type.

    wide: read float64 if that type is float32.
    written: whether a loop may read an element that an earlier iteration has written.
    """

    @emitted(loaded_type(data_type, wide))
    def load_one(builder: Any, address: Any, index: Any) -> Any:
        return load_element(builder, address, index, data_type, wide, written)

    return load_one


def loaded_type(data_type: DataType, wide: bool) -> str:
    """Return the name of the Numba type of the values that `loader` reads."""
    name = np.dtype(arithmetic_type(data_type)).name
    return "float64" if wide else "boolean" if name == "bool" else name


def load_element(builder: Any, address: Any, index: Any, data_type: DataType, wide: bool, written: bool = False) -> Any:
    """Write the instructions of a `loader`."""
    value = load(builder, address, _storage_type(data_type), index)
    if not written:
        _mark(builder, value, "alias.scope")
    value = _loaded(builder, value, data_type)
    return builder.fpext(value, DOUBLE) if wide else value


@cache
def storer(data_type: DataType, wide: bool = False, ordinary: bool = False) -> Any:
    """Return `store(address, index, value)`, which converts `value` to `data_type` and writes it as element `index`.

    Floating point converts to integers with saturation, NaN to 0; to bool by `!= 0`; to a narrower floating type with
    one rounding to nearest even. Integers convert modulo 2^n. A real number becomes a complex one with imaginary part
    0.

    wide: `value` is a float64 that stands for a float32, and is rounded to float32 first.
    ordinary: whether the store stays an ordinary one in a kernel with non-temporal stores.
    """

    @intrinsic
    def store_one(typing_context: Any, address: Any, index: Any, value: Any) -> Any:
        if isinstance(value, types.Complex) and data_type.dtype.kind != "c":
            return None  # dropping an imaginary part is the job of kReal

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address, index, number = args
            store_element(context, builder, address, index, number, signature.args[2], data_type, wide, ordinary)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, value), generate

    return store_one


def store_element(
    context: Any,
    builder: Any,
    address: Any,
    index: Any,
    value: Any,
    numba_type: Any,
    data_type: DataType,
    wide: bool,
    ordinary: bool = False,
) -> None:
    """Write the instructions of a `storer` for a value of this Numba type."""
    if wide:
        value, numba_type = builder.fptrunc(value, FLOAT), types.float32
    converted = convert(context, builder, value, numba_type, data_type)
    target = pointer_to(builder, address, _storage_type(data_type), index)
    _mark(builder, builder.store(converted, target, align=1), "noalias", ordinary)


@cache
def converter(data_type: DataType, wide: bool = False) -> Any:
    """Return `converted(value)`: the value that `storer(data_type, wide)` and then `loader(data_type)` would return."""

    @intrinsic
    def converted(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            number, given = args[0], signature.args[0]
            if given == types.float64 and (wide or data_type is DataType.kFloat):
                number, given = _narrowed_apart(builder, number), types.float32
            return _loaded(builder, convert(context, builder, number, given, data_type), data_type)

        return numba_type(loaded_type(data_type, wide=False))(value), generate

    return converted


@emitted("uint32")
def load_pair(builder: Any, address: Any, index: Any) -> Any:
    """Return pair `index` of a buffer of bfloat16, for `lower_of` and `upper_of`: no lane of a vector has to move."""
    value = load(builder, address, INT, index)
    _mark(builder, value, "alias.scope")
    return value


@emitted("float32", pair="uint32")
def lower_of(builder: Any, pair: Any) -> Any:
    """Return the first number of a pair."""
    return builder.bitcast(builder.shl(pair, INT(16)), FLOAT)


@emitted("float32", pair="uint32")
def upper_of(builder: Any, pair: Any) -> Any:
    """Return the second number of a pair."""
    return builder.bitcast(builder.and_(pair, INT(0xFFFF0000)), FLOAT)


@cache
def pair_storer(exact: bool, ordinary: bool = False) -> Any:
    """Return `store(address, index, lower, upper)`, which writes two float32 numbers as pair `index` of bfloat16.

    exact: whether they are bfloat16 numbers already. ordinary: as for `storer`.
    """

    @emitted(lower="float32", upper="float32")
    def store_pair(builder: Any, address: Any, index: Any, lower: Any, upper: Any) -> None:
        pair = pair_of_bfloat16(builder, lower, upper, exact)
        target = pointer_to(builder, address, INT, index)
        _mark(builder, builder.store(pair, target, align=1), "noalias", ordinary)

    return store_pair


def _narrowed_apart(builder: Any, number: Any) -> Any:
    """Return a double as a float whose bits are opaque to LLVM: any NaN is made quiet.

    Otherwise LLVM would read the float's sign from the double. If the float's copysign is then rounded to float16, LLVM
    calls a C library function that rounds doubles to float16, and that function may be missing.
    """
    bits = builder.bitcast(builder.fptrunc(number, FLOAT), INT)
    quiet = builder.or_(bits, INT(1 << 22))
    return builder.bitcast(builder.select(builder.fcmp_unordered("uno", number, number), quiet, bits), FLOAT)


def _loaded(builder: Any, value: Any, data_type: DataType) -> Any:
    """Return the arithmetic value of an element as it is stored."""
    if data_type is DataType.kBool:
        return builder.icmp_unsigned("!=", value, value.type(0))
    return widened(builder, value, data_type) if data_type in HALVES else value


def _mark(builder: Any, instruction: Any, kind: str, ordinary: bool = False) -> None:
    """Tell LLVM that no store of a loop writes an element that a later iteration loads.

    Launch has checked this: operands do not overlap dst, or are read and written at the same place. Without the mark,
    an in-place launch would fail the overlap test of the vectorised loop and run its scalar version.
    ordinary: for a store that stays an ordinary one; nothing is loaded from its second scope.
    """
    module = builder.module
    domain = module.add_metadata(["ep operands"])
    scopes = [module.add_metadata(["ep operands: read", domain])]
    if ordinary:
        scopes.append(module.add_metadata([ORDINARY_STORES, domain]))
    instruction.set_metadata(kind, module.add_metadata(scopes))


def _storage_type(data_type: DataType) -> Any:
    """Return the LLVM type that an element is loaded and stored as."""
    kind, size = data_type.dtype.kind, data_type.itemsize
    if kind == "c":
        part = FLOAT if size == 8 else DOUBLE
        return ir.LiteralStructType([part, part])
    if kind == "f" and size > 2:
        return FLOAT if size == 4 else DOUBLE
    return stored_bits(data_type)
