"""Raw memory access in compiled code: words, and elements of a DataType converted to and from their arithmetic type.

Addresses are int64 values. No alignment is assumed: x86-64 and AArch64 access unaligned words at full speed.
"""

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from ep.cpu.compile.conversion import HALVES, convert, widened
from ep.include.data_type import DataType

_BITS = {size: ir.IntType(8 * size) for size in (1, 2, 4, 8, 16)}
_UNITS = _BITS | {size: ir.VectorType(_BITS[1], size) for size in (16, 32, 64)}
_FLOAT, _DOUBLE = ir.FloatType(), ir.DoubleType()
_WORD = _BITS[8]


def arithmetic_type(data_type: DataType) -> type[np.generic]:
    """Return the NumPy scalar type that elements of `data_type` are computed in."""
    if data_type in HALVES:
        return np.float32
    return data_type.dtype.type


@intrinsic
def load_word(typing_context: Any, address: Any, index: Any) -> Any:
    """Return the int64 at `address + 8 * index`."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return builder.load(_element(builder, args[0], args[1], _WORD), align=8)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def load_int(typing_context: Any, address: Any) -> Any:
    """Return the C int at `address`, as int64."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return builder.sext(builder.load(builder.inttoptr(args[0], _BITS[4].as_pointer()), align=4), _WORD)

    return types.int64(types.int64), generate


@intrinsic
def load_float64(typing_context: Any, address: Any, index: Any) -> Any:
    """Return the float64 at `address + 8 * index`."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        return builder.load(_element(builder, args[0], args[1], _DOUBLE), align=8)

    return types.float64(types.int64, types.int64), generate


@intrinsic
def store_word(typing_context: Any, address: Any, index: Any, value: Any) -> Any:
    """Write the int64 `value` to `address + 8 * index`."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        builder.store(args[2], _element(builder, args[0], args[1], _WORD), align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def store_words(typing_context: Any, address: Any, *values: Any) -> Any:
    """Write the int64 `values` to consecutive words at `address`. One call compiles faster than one per value."""
    packed = len(values) == 1 and isinstance(values[0], types.BaseTuple)  # Numba types the call in both forms
    arguments = values[0] if packed else types.StarArgTuple(values)
    count = len(arguments)

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        for index, value in enumerate(cgutils.unpack_tuple(builder, args[1], count)):
            builder.store(value, _element(builder, args[0], ir.Constant(_WORD, index), _WORD), align=8)
        return context.get_dummy_value()

    return types.void(types.int64, arguments), generate


@intrinsic
def stack_words(typing_context: Any, count: Any) -> Any:
    """Return the address of `count` (a literal) uninitialised words on the calling function's stack."""
    if not isinstance(count, types.IntegerLiteral):
        return None
    size = count.literal_value

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        with builder.goto_entry_block():  # not `alloca_once`, whose zeros LLVM splits into single words
            words = builder.alloca(_WORD, size)
        return builder.ptrtoint(words, _WORD)

    return types.int64(count), generate


@intrinsic
def allocate(typing_context: Any, size: Any) -> Any:
    """Allocate `size` bytes and return their address, or 0 if there is no memory; free them with `release`."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        function_type = ir.FunctionType(_BITS[1].as_pointer(), [_WORD])
        function = cgutils.get_or_insert_function(builder.module, function_type, "malloc")
        return builder.ptrtoint(builder.call(function, args), _WORD)

    return types.int64(types.int64), generate


@intrinsic
def release(typing_context: Any, address: Any) -> Any:
    """Free memory that `allocate` returned."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        pointer = _BITS[1].as_pointer()
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), [pointer]), "free")
        builder.call(function, [builder.inttoptr(args[0], pointer)])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def copy_bytes(typing_context: Any, dst: Any, src: Any, count: Any) -> Any:
    """Copy `count` bytes from `src` to `dst`, which must not overlap."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        pointers = [builder.inttoptr(address, _BITS[1].as_pointer()) for address in args[:2]]
        cgutils.raw_memcpy(builder, *pointers, args[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def set_bytes(typing_context: Any, dst: Any, count: Any, value: Any) -> Any:
    """Write `count` bytes of `value`, from 0 to 255."""

    def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
        dst, count, value = args
        byte = builder.trunc(value, _BITS[1])
        cgutils.memset(builder, builder.inttoptr(dst, _BITS[1].as_pointer()), count, byte)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@cache
def unit_functions(size: int) -> tuple[Any, Any]:
    """Return two functions that move one unit of `size` bytes (1, 2, 4, 8, 16, 32 or 64).

    copy_unit(dst, dst_index, src, src_index): copies one unit; indices count units.
    copy_unit_or_zero(dst, dst_index, src, src_index, valid): copies one unit if valid, else writes zeros.
    """
    llvm_type = _UNITS[size]
    address = types.int64

    def move(builder: Any, source: Any, target: Any, keep: Any = None) -> None:
        value = builder.load(source, align=1)
        if keep is not None:
            value = builder.select(keep, value, cgutils.get_null_value(llvm_type))
        builder.store(value, target, align=1)

    @intrinsic
    def copy_unit(typing_context: Any, dst: Any, dst_index: Any, src: Any, src_index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
            dst_unit, src_unit = (_element(builder, *args[i : i + 2], llvm_type) for i in (0, 2))
            move(builder, src_unit, dst_unit)
            return context.get_dummy_value()

        return types.void(*[address] * 4), generate

    @intrinsic
    def copy_unit_or_zero(typing_context: Any, dst: Any, dst_index: Any, src: Any, src_index: Any, valid: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
            # a row that does not exist reads the first unit instead: no branch, and no read out of bounds
            index = builder.select(args[4], args[3], ir.Constant(_WORD, 0))
            source = _element(builder, args[2], index, llvm_type)
            move(builder, source, _element(builder, args[0], args[1], llvm_type), keep=args[4])
            return context.get_dummy_value()

        return types.void(*[address] * 4, types.boolean), generate

    return copy_unit, copy_unit_or_zero


@cache
def loader(data_type: DataType, wide: bool = False) -> Any:
    """Return `load(address, index)`, which reads element `index` of a buffer of `data_type` in its arithmetic type.

    wide: read float64 if that type is float32.
    """

    @intrinsic
    def load(typing_context: Any, address: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
            return load_element(builder, *args, data_type, wide)

        return loaded_type(data_type, wide)(types.int64, types.int64), generate

    return load


def loaded_type(data_type: DataType, wide: bool) -> Any:
    """Return the Numba type of the values that `loader` reads."""
    return types.float64 if wide else from_dtype(np.dtype(arithmetic_type(data_type)))


def load_element(builder: Any, address: Any, index: Any, data_type: DataType, wide: bool) -> Any:
    """Write the instructions of a `loader`."""
    value = builder.load(_element(builder, address, index, _storage_type(data_type)), align=1)
    _mark(builder, value, "alias.scope")
    value = _loaded(builder, value, data_type)
    return builder.fpext(value, _DOUBLE) if wide else value


@cache
def storer(data_type: DataType, wide: bool = False) -> Any:
    """Return `store(address, index, value)`, which converts `value` to `data_type` and writes it as element `index`.

    Floating point converts to integers with saturation, NaN to 0; to bool by `!= 0`; to a narrower floating type with
    one rounding to nearest even. Integers convert modulo 2^n. A real number becomes a complex one with imaginary part
    0.

    wide: `value` is a float64 that stands for a float32, and is rounded to float32 first.
    """

    @intrinsic
    def store(typing_context: Any, address: Any, index: Any, value: Any) -> Any:
        if isinstance(value, types.Complex) and data_type.dtype.kind != "c":
            return None  # dropping an imaginary part is the job of kReal

        def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
            store_element(context, builder, *args, signature.args[2], data_type, wide)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, value), generate

    return store


def store_element(
    context: Any, builder: Any, address: Any, index: Any, value: Any, numba_type: Any, data_type: DataType, wide: bool
) -> None:
    """Write the instructions of a `storer` for a value of this Numba type."""
    if wide:
        value, numba_type = builder.fptrunc(value, _FLOAT), types.float32
    converted = convert(context, builder, value, numba_type, data_type)
    target = _element(builder, address, index, _storage_type(data_type))
    _mark(builder, builder.store(converted, target, align=1), "noalias")


@cache
def converter(data_type: DataType, wide: bool = False) -> Any:
    """Return `converted(value)`: the value that `storer(data_type, wide)` and then `loader(data_type)` would return."""
    numba_type = loaded_type(data_type, wide=False)

    @intrinsic
    def converted(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Signature, args: Any) -> Any:
            number, given = args[0], signature.args[0]
            if given == types.float64 and (wide or data_type is DataType.kFloat):
                number, given = _narrowed_apart(builder, number), types.float32
            return _loaded(builder, convert(context, builder, number, given, data_type), data_type)

        return numba_type(value), generate

    return converted


def _narrowed_apart(builder: Any, number: Any) -> Any:
    """Return a double as a float whose bits are opaque to LLVM: any NaN is made quiet.

    Otherwise LLVM reads the float's sign from the double. If the float's copysign is then rounded to float16, LLVM
    calls a C library function that rounds doubles to float16, and that function may be missing.
    """
    bits32 = ir.IntType(32)
    bits = builder.bitcast(builder.fptrunc(number, _FLOAT), bits32)
    quiet = builder.or_(bits, ir.Constant(bits32, 1 << 22))
    return builder.bitcast(builder.select(builder.fcmp_unordered("uno", number, number), quiet, bits), _FLOAT)


def _loaded(builder: Any, value: Any, data_type: DataType) -> Any:
    """Return the arithmetic value of an element as it is stored."""
    if data_type is DataType.kBool:
        return builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))
    return widened(builder, value, data_type) if data_type in HALVES else value


def _element(builder: Any, address: Any, index: Any, llvm_type: Any) -> Any:
    """Return a pointer to element `index` of the array of `llvm_type` at `address`."""
    return builder.gep(builder.inttoptr(address, llvm_type.as_pointer()), [index])


def _mark(builder: Any, instruction: Any, kind: str) -> None:
    """Tell LLVM that no store of a loop writes an element that a later iteration loads.

    Launch has checked this: operands do not overlap dst, or are read and written at the same place. Without the mark,
        an in-place launch would fail the overlap test of the vectorised loop and run its scalar version.
    """
    module = builder.module
    domain = module.add_metadata(["ep operands"])
    scope = module.add_metadata(["ep operands: read", domain])
    instruction.set_metadata(kind, module.add_metadata([scope]))


def _storage_type(data_type: DataType) -> Any:
    """Return the LLVM type that an element is loaded and stored as."""
    kind, size = data_type.dtype.kind, data_type.itemsize
    if kind == "c":
        part = _FLOAT if size == 8 else _DOUBLE
        return ir.LiteralStructType([part, part])
    if kind == "f" and size > 2:
        return _FLOAT if size == 4 else _DOUBLE
    return _BITS[size]
