"""Device memory in kernels: packs of elements, converted to and from the type of arithmetic.

An address is an int64. A *pack* is a tuple of contiguous elements that are moved at once; its address must be a
multiple of its bytes. The functions are intrinsics: LLVM code that NVVM turns into 128-bit accesses and conversion
instructions.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.stored_types import UNITS
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.numba_cuda import cgutils, from_dtype, intrinsic, ir, types
from ep.include.data_type import DataType
from ep.include.number_kind import part_of

_BITS = {size: ir.IntType(8 * size) for size in (1, 2, 4, 8)}
_FLOAT, _DOUBLE = ir.FloatType(), ir.DoubleType()
GLOBAL: Final = 1
"""The address space of device memory."""
SHARED: Final = 3
"""The address space of a block's shared memory: see `shared_address`."""


def unit_type(size: int) -> tuple[DataType, int]:
    """Return the data type and number of elements as which a unit of `size` (1, 2, 4, 8 or 16) bytes is moved."""
    return (UNITS[8], 2) if size == 16 else (UNITS[size], 1)


def _shape_of_words(data_type: DataType, count: int) -> tuple[Any, int]:
    """Return the type and number of the machine words that a pack is moved as.

    16-bit and smaller elements share words.
    """
    kind, size = data_type.dtype.kind, data_type.itemsize
    if kind == "c":
        return (_FLOAT if size == 8 else _DOUBLE), 2 * count
    if kind == "f" and size >= 4:
        return (_FLOAT if size == 4 else _DOUBLE), count
    word = min(max(size, 4), size * count) if size < 4 else size
    return _BITS[word], size * count // word


def _move(
    builder: Any,
    address: Any,
    index: Any,
    word: Any,
    count: int,
    alignment: int,
    space: int,
    words: Any = None,
    streams: bool = False,
) -> Any:
    """Load `count` words of pack `index` at `address`, or store `words` there."""
    size = count * _size(word)
    place = builder.add(address, builder.mul(index, ir.Constant(index.type, size)))
    vector_bytes = min(size, alignment, 16)
    per_vector = max(vector_bytes // _size(word), 1)
    vector = ir.VectorType(word, per_vector) if per_vector > 1 else word
    pointer = builder.inttoptr(place, vector.as_pointer(space))
    loaded = []
    for first in range(0, count, per_vector):
        target = builder.gep(pointer, [ir.Constant(_BITS[4], first // per_vector)])
        if words is None:
            value = builder.load(target, align=vector_bytes)
            loaded += (
                [value]
                if per_vector == 1
                else [builder.extract_element(value, ir.Constant(_BITS[4], lane)) for lane in range(per_vector)]
            )
        elif streams:
            _stream(builder, builder.ptrtoint(target, _BITS[8]), words[first : first + per_vector])
        else:
            value = words[first]
            if per_vector > 1:
                value = ir.Constant(vector, ir.Undefined)
                for lane in range(per_vector):
                    value = builder.insert_element(value, words[first + lane], ir.Constant(_BITS[4], lane))
            builder.store(value, target, align=vector_bytes)
    return loaded


_REGISTERS: Final = {1: "h", 2: "h", 4: "r", 8: "l"}
"""The letters of registers in inline PTX, by the bytes of an integer. There are none of 8 bits: it has the lower half
of one."""


def _stream(builder: Any, address: Any, words: list[Any]) -> None:
    """Store adjacent words by an instruction that marks them as streamed."""
    size, number = _size(words[0].type), len(words)
    integers = [builder.bitcast(word, _BITS[size]) if size >= 4 else word for word in words]
    if size == 1:
        integers = [builder.zext(word, _BITS[2]) for word in integers]
    vector, list_of = (f".v{number}", "{%s}") if number > 1 else ("", "%s")
    values = list_of % ", ".join(f"${1 + k}" for k in range(number))
    function_type = ir.FunctionType(ir.VoidType(), [address.type, *(word.type for word in integers)])
    constraints = ",".join(["l", *_REGISTERS[size] * number, "~{memory}"])
    text = f"st.global.cs{vector}.b{8 * size} [$0], {values};"
    builder.asm(function_type, text, constraints, [address, *integers], side_effect=True)


def _size(word: Any) -> int:
    if isinstance(word, ir.IntType):
        return int(word.width) // 8
    return 4 if word is _FLOAT else 8


def _alignment(data_type: DataType, count: int, aligned: bool) -> int:
    parts = 2 if data_type.dtype.kind == "c" else 1
    return data_type.itemsize * count if aligned else data_type.itemsize // parts


def _assembly(builder: Any, text: str, constraints: str, result: Any, *args: Any) -> Any:
    """Return one PTX instruction without side effects."""
    function_type = ir.FunctionType(result, [value.type for value in args])
    return builder.asm(function_type, text, constraints, args, side_effect=False)


@cache
def loader(data_type: DataType, count: int, aligned: bool = True, space: int = GLOBAL) -> Any:
    """Return `load(address, index)`: pack `index` of `count` elements of a buffer, in the type of arithmetic.

    aligned: whether addresses are multiples of the pack's bytes, and not only of a number's (of one part of a complex
    number).
    """
    numba_type = from_dtype(np.dtype(storage_arithmetic(data_type)))
    pack_type = types.UniTuple(numba_type, count)
    word, num_words = _shape_of_words(data_type, count)
    alignment = _alignment(data_type, count, aligned)

    @intrinsic
    def load(typing_context: Any, address: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            words = _move(builder, args[0], args[1], word, num_words, alignment, space)
            values = elements_of(context, builder, words, data_type)
            return context.make_tuple(builder, pack_type, values)

        return pack_type(types.int64, types.int64), generate

    return load


def elements_of(context: Any, builder: Any, words: list[Any], data_type: DataType) -> list[Any]:
    """Return the elements in machine words, in the type of arithmetic."""
    if data_type.dtype.kind == "c":
        numba_type = from_dtype(data_type.dtype)
        values = []
        for real, imag in zip(words[::2], words[1::2], strict=True):
            number = context.make_complex(builder, numba_type)
            number.real, number.imag = real, imag
            values.append(number._getvalue())
        return values
    if data_type.itemsize >= 4:
        return words
    bits = _BITS[data_type.itemsize]
    parts = []
    for word in words:
        for lane in range(_size(word.type) // data_type.itemsize):
            shifted = builder.lshr(word, ir.Constant(word.type, 8 * data_type.itemsize * lane)) if lane else word
            parts.append(builder.trunc(shifted, bits) if word.type.width > bits.width else shifted)
    if data_type is DataType.kBool:
        return [builder.icmp_unsigned("!=", part, ir.Constant(bits, 0)) for part in parts]
    if data_type is DataType.kFloat16:
        return [_assembly(builder, "cvt.f32.f16 $0, $1;", "=f,h", _FLOAT, part) for part in parts]
    if data_type is DataType.kBFloat16:
        high = ir.Constant(_BITS[4], 16)
        return [builder.bitcast(builder.shl(builder.zext(part, _BITS[4]), high), _FLOAT) for part in parts]
    return parts


@cache
def storer(data_type: DataType, count: int, aligned: bool = True, space: int = GLOBAL, *, streams: bool = False) -> Any:
    """Return `store(address, index, pack)`: converts the pack's elements to `data_type` and writes pack `index`.

    Floating-point numbers are converted to integers with saturation, NaN to 0; to bool by `!= 0`; to a narrower
    floating type with one rounding to nearest even. Integers convert modulo 2^n. A real number becomes a complex one
    with imaginary part 0. streams: whether the caches replace what is stored in device memory first.
    """
    word, num_words = _shape_of_words(data_type, count)
    alignment = _alignment(data_type, count, aligned)

    @intrinsic
    def store(typing_context: Any, address: Any, index: Any, pack: Any) -> Any:
        if not isinstance(pack, types.BaseTuple) or len(pack) != count:
            return None
        if data_type.dtype.kind != "c" and any(isinstance(numba_type, types.Complex) for numba_type in pack):
            return None  # kReal is the op that drops an imaginary part

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            values = cgutils.unpack_tuple(builder, args[2], count)
            pairs = [(value, _plain(numba_type)) for value, numba_type in zip(values, pack, strict=True)]
            words = _storage_words(context, builder, pairs, data_type, word)
            _move(builder, args[0], args[1], word, num_words, alignment, space, words, streams)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, pack), generate

    return store


def words_of(context: Any, builder: Any, value: Any, numba_type: Any, data_type: DataType) -> list[Any]:
    """Return the machine words that a value of a Numba type is stored as: one, or the parts of a complex number."""
    word, _ = _shape_of_words(data_type, 1)
    return _storage_words(context, builder, [(value, _plain(numba_type))], data_type, word)


def _plain(numba_type: Any) -> Any:
    return numba_type.literal_type if isinstance(numba_type, types.Literal) else numba_type


def _storage_words(context: Any, builder: Any, pairs: list[Any], data_type: DataType, word: Any) -> list[Any]:
    """Return the words of a pack of values with their Numba types, converted to `data_type`."""
    if data_type.dtype.kind == "c":
        return [
            part for value, numba_type in pairs for part in _complex(context, builder, value, numba_type, data_type)
        ]
    lanes = _size(word) // data_type.itemsize
    if data_type in (DataType.kFloat16, DataType.kBFloat16):
        floats = [_narrow(context, builder, value, numba_type) for value, numba_type in pairs]
        suffix = "f16" if data_type is DataType.kFloat16 else "bf16"
        if lanes == 1:
            return [_assembly(builder, f"cvt.rn.{suffix}.f32 $0, $1;", "=h,f", word, value) for value in floats]
        # the first operand becomes the upper half
        text = f"cvt.rn.{suffix}x2.f32 $0, $2, $1;"
        twos = zip(floats[::2], floats[1::2], strict=True)
        return [_assembly(builder, text, "=r,f,f", word, low, high) for low, high in twos]
    values = [_number(context, builder, value, numba_type, data_type) for value, numba_type in pairs]
    if lanes == 1:
        return values
    words = []
    for first in range(0, len(values), lanes):
        whole = builder.zext(values[first], word)
        for lane in range(1, lanes):
            wide = builder.zext(values[first + lane], word)
            whole = builder.or_(whole, builder.shl(wide, ir.Constant(word, 8 * data_type.itemsize * lane)))
        words.append(whole)
    return words


def _complex(context: Any, builder: Any, value: Any, numba_type: Any, data_type: DataType) -> tuple[Any, Any]:
    part = from_dtype(part_of(data_type).dtype)
    if isinstance(numba_type, types.Complex):
        parts = context.make_complex(builder, numba_type, value=value)
        of = numba_type.underlying_float
        return context.cast(builder, parts.real, of, part), context.cast(builder, parts.imag, of, part)
    return context.cast(builder, value, numba_type, part), context.get_constant(part, 0)


def _narrow(context: Any, builder: Any, value: Any, numba_type: Any) -> Any:
    """Return a number as the float that rounds to any 16-bit type as the number itself does."""
    if isinstance(numba_type, types.Float):
        return _round_to_odd(builder, value) if numba_type.bitwidth == 64 else value
    if isinstance(numba_type, types.Integer) and numba_type.bitwidth >= 32:
        return _integer_to_odd(builder, value, numba_type.signed)
    return context.cast(builder, value, numba_type, types.float32)  # which holds it exactly


def _number(context: Any, builder: Any, value: Any, numba_type: Any, data_type: DataType) -> Any:
    """Return a number in the storage form of `data_type`, which is bool, an integer, float32 or float64."""
    if data_type is DataType.kBool:
        return builder.zext(_is_nonzero(builder, value, numba_type), _BITS[1])
    if data_type.dtype.kind in "iu" and isinstance(numba_type, types.Float):
        return _saturate(builder, value, data_type)
    return context.cast(builder, value, numba_type, from_dtype(data_type.dtype))


def _is_nonzero(builder: Any, value: Any, numba_type: Any) -> Any:
    if isinstance(numba_type, types.Boolean):
        return value
    if isinstance(numba_type, types.Float):
        return builder.fcmp_unordered("!=", value, ir.Constant(value.type, 0.0))
    return builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))


def _saturate(builder: Any, value: Any, data_type: DataType) -> Any:
    """Return a conversion with saturation: the device saturates at 32 and 64 bits, narrower types are clamped first.

    NaN becomes 0.
    """
    signed, wide = data_type.dtype.kind == "i", data_type.itemsize == 8
    result = _BITS[8 if wide else 4]
    name = f"{'s' if signed else 'u'}{result.width}"
    source, register = ("f32", "f") if value.type is _FLOAT or value.type == _FLOAT else ("f64", "d")
    constraints = f"={'l' if wide else 'r'},{register}"
    number = _assembly(builder, f"cvt.rzi.{name}.{source} $0, $1;", constraints, result, value)
    number = builder.select(builder.fcmp_unordered("uno", value, value), ir.Constant(result, 0), number)
    if data_type.itemsize >= 4:
        return number
    info = np.iinfo(data_type.dtype)
    compare = builder.icmp_signed if signed else builder.icmp_unsigned
    low, high = ir.Constant(result, int(info.min)), ir.Constant(result, int(info.max))
    number = builder.select(compare(">", number, high), high, number)
    number = builder.select(compare("<", number, low), low, number)
    return builder.trunc(number, _BITS[data_type.itemsize])


def _round_to_odd(builder: Any, value: Any) -> Any:
    """Narrow a double to float so that rounding the result again equals rounding the double once."""
    bits32 = _BITS[4]
    nearest = builder.fptrunc(value, _FLOAT)
    back = builder.fpext(nearest, _DOUBLE)
    magnitude = [_assembly(builder, "abs.f64 $0, $1;", "=d,d", _DOUBLE, number) for number in (back, value)]
    bits = builder.bitcast(nearest, bits32)
    away = builder.fcmp_ordered(">", *magnitude)
    towards = builder.select(away, ir.Constant(bits32, -1), ir.Constant(bits32, 1))
    inexact = builder.fcmp_ordered("!=", back, value)
    even = builder.icmp_unsigned("==", builder.and_(bits, ir.Constant(bits32, 1)), ir.Constant(bits32, 0))
    return builder.bitcast(builder.select(builder.and_(inexact, even), builder.add(bits, towards), bits), _FLOAT)


def _integer_to_odd(builder: Any, value: Any, signed: bool) -> Any:
    """Return a wide integer rounded toward zero to a float, with the last bit set if the float is not exact."""
    name = f"{'s' if signed else 'u'}{value.type.width}"
    register = "l" if value.type.width == 64 else "r"
    towards = _assembly(builder, f"cvt.rz.f32.{name} $0, $1;", f"=f,{register}", _FLOAT, value)
    back = _assembly(builder, f"cvt.rzi.{name}.f32 $0, $1;", f"={register},f", value.type, towards)
    inexact = builder.zext(builder.icmp_unsigned("!=", back, value), _BITS[4])
    return builder.bitcast(builder.or_(builder.bitcast(towards, _BITS[4]), inexact), _FLOAT)


@cache
def value_reader(scalar_type: type[np.generic]) -> Any:
    """Return `read(word0, word1)`: the number of a type of arithmetic whose bytes are the first ones of the two
    words."""
    dtype = np.dtype(scalar_type)
    numba_type = from_dtype(dtype)

    @intrinsic
    def read(typing_context: Any, word0: Any, word1: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            if dtype.kind != "c":
                return _value(builder, args[0], dtype)
            number = context.make_complex(builder, numba_type)
            part = np.dtype(f"f{dtype.itemsize // 2}")
            second = builder.lshr(args[0], ir.Constant(_BITS[8], 32)) if dtype.itemsize == 8 else args[1]
            number.real, number.imag = _value(builder, args[0], part), _value(builder, second, part)
            return number._getvalue()

        return numba_type(types.int64, types.int64), generate

    return read


def _value(builder: Any, word: Any, dtype: np.dtype[Any]) -> Any:
    """Return the number whose bytes are the low ones of a word."""
    bits = builder.trunc(word, _BITS[dtype.itemsize]) if dtype.itemsize < 8 else word
    if dtype.kind == "b":
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))
    return builder.bitcast(bits, _FLOAT if dtype.itemsize == 4 else _DOUBLE) if dtype.kind == "f" else bits
