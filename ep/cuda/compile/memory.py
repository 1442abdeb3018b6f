"""Device memory in kernels: packs of elements, converted to and from the type of arithmetic.

An address is an int64. A *pack* is a tuple of contiguous elements that are moved at once; its address must be a
multiple of its bytes. The functions are written in instructions, which NVVM turns into 128-bit accesses and
conversions.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from ep.common.functor.math_library import ScalarType
from ep.common.stored_types import UNITS
from ep.cuda.compile.arithmetic import storage_arithmetic
from ep.cuda.compile.instructions import DOUBLE, FLOAT, Instructions, integer_of, size_of, written, written_for
from ep.cuda.compile.numba_cuda import from_dtype, types
from ep.include.data_type import DataType
from ep.include.number_kind import part_of

_BITS = {size: integer_of(8 * size) for size in (1, 2, 4, 8)}
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
        return (FLOAT if size == 8 else DOUBLE), 2 * count
    if kind == "f" and size >= 4:
        return (FLOAT if size == 4 else DOUBLE), count
    word = min(max(size, 4), size * count) if size < 4 else size
    return _BITS[word], size * count // word


def _move(
    code: Instructions,
    address: Any,
    index: Any,
    kind: Any,
    count: int,
    alignment: int,
    space: int,
    words: Any = None,
    streams: bool = False,
) -> Any:
    """Load `count` words of pack `index` at `address`, or store `words` there."""
    size = count * size_of(kind)
    place = code.add(address, code.multiply(index, size))
    vector_bytes = min(size, alignment, 16)
    per_vector = max(vector_bytes // size_of(kind), 1)
    pointer = code.pointer(place, kind, per_vector, space)
    loaded = []
    for first in range(0, count, per_vector):
        vector = first // per_vector
        if words is None:
            loaded += code.load(pointer, vector, per_vector, vector_bytes)
        elif streams:
            _stream(code, code.address(pointer, vector), words[first : first + per_vector])
        else:
            code.store(pointer, vector, words[first : first + per_vector], vector_bytes)
    return loaded


_REGISTERS: Final = {1: "h", 2: "h", 4: "r", 8: "l"}
"""The letters of registers in inline PTX, by the bytes of an integer. There are none of 8 bits: it has the lower half
of one."""


def _stream(code: Instructions, address: Any, words: list[Any]) -> None:
    """Store adjacent words by an instruction that marks them as streamed."""
    size, number = size_of(code.kind_of(words[0])), len(words)
    integers = [code.bits(word, _BITS[size]) if size >= 4 else word for word in words]
    if size == 1:
        integers = [code.extend(word, _BITS[2]) for word in integers]
    vector, list_of = (f".v{number}", "{%s}") if number > 1 else ("", "%s")
    values = list_of % ", ".join(f"${1 + k}" for k in range(number))
    constraints = ",".join(["l", *_REGISTERS[size] * number, "~{memory}"])
    code.ptx(f"st.global.cs{vector}.b{8 * size} [$0], {values};", constraints, None, address, *integers, effects=True)


def _alignment(data_type: DataType, count: int, aligned: bool) -> int:
    parts = 2 if data_type.dtype.kind == "c" else 1
    return data_type.itemsize * count if aligned else data_type.itemsize // parts


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

    @written(pack_type, types.int64, types.int64)
    def load(code: Instructions, address: Any, index: Any) -> Any:
        words = _move(code, address, index, word, num_words, alignment, space)
        return code.tuple_of(elements_of(code, words, data_type), pack_type)

    return load


def elements_of(code: Instructions, words: list[Any], data_type: DataType) -> list[Any]:
    """Return the elements in machine words, in the type of arithmetic."""
    if data_type.dtype.kind == "c":
        numba_type = from_dtype(data_type.dtype)
        return [code.complex_of(real, imag, numba_type) for real, imag in zip(words[::2], words[1::2], strict=True)]
    if data_type.itemsize >= 4:
        return words
    size = data_type.itemsize
    parts = []
    for word in words:
        for lane in range(size_of(code.kind_of(word)) // size):
            parts.append(code.truncate(code.shift_right(word, 8 * size * lane) if lane else word, _BITS[size]))
    if data_type is DataType.kBool:
        return [code.is_nonzero(part) for part in parts]
    if data_type is DataType.kFloat16:
        return [code.ptx("cvt.f32.f16 $0, $1;", "=f,h", FLOAT, part) for part in parts]
    if data_type is DataType.kBFloat16:
        return [code.bits(code.shift_left(code.extend(part, _BITS[4]), 16), FLOAT) for part in parts]
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

    def typed(address: Any, index: Any, pack: Any) -> tuple[Any, Any] | None:
        if not isinstance(pack, types.BaseTuple) or len(pack) != count:
            return None
        if data_type.dtype.kind != "c" and any(isinstance(numba_type, types.Complex) for numba_type in pack):
            return None  # kReal is the op that drops an imaginary part
        return types.void, (types.int64, types.int64, pack)

    @written_for(typed)
    def store(code: Instructions, address: Any, index: Any, pack: Any) -> None:
        values = code.items_of(pack, count)
        pairs = [(value, _plain(numba_type)) for value, numba_type in zip(values, code.types[2], strict=True)]
        words = _storage_words(code, pairs, data_type, word)
        _move(code, address, index, word, num_words, alignment, space, words, streams)

    return store


def words_of(code: Instructions, value: Any, numba_type: Any, data_type: DataType) -> list[Any]:
    """Return the machine words that a value of a Numba type is stored as: one, or the parts of a complex number."""
    word, _ = _shape_of_words(data_type, 1)
    return _storage_words(code, [(value, _plain(numba_type))], data_type, word)


def _plain(numba_type: Any) -> Any:
    return numba_type.literal_type if isinstance(numba_type, types.Literal) else numba_type


def _storage_words(code: Instructions, pairs: list[Any], data_type: DataType, word: Any) -> list[Any]:
    """Return the words of a pack of values with their Numba types, converted to `data_type`."""
    if data_type.dtype.kind == "c":
        return [part for value, numba_type in pairs for part in _complex(code, value, numba_type, data_type)]
    lanes = size_of(word) // data_type.itemsize
    if data_type in (DataType.kFloat16, DataType.kBFloat16):
        floats = [_narrow(code, value, numba_type) for value, numba_type in pairs]
        suffix = "f16" if data_type is DataType.kFloat16 else "bf16"
        if lanes == 1:
            return [code.ptx(f"cvt.rn.{suffix}.f32 $0, $1;", "=h,f", word, value) for value in floats]
        # the first operand becomes the upper half
        text = f"cvt.rn.{suffix}x2.f32 $0, $2, $1;"
        twos = zip(floats[::2], floats[1::2], strict=True)
        return [code.ptx(text, "=r,f,f", word, low, high) for low, high in twos]
    values = [_number(code, value, numba_type, data_type) for value, numba_type in pairs]
    if lanes == 1:
        return values
    words = []
    for first in range(0, len(values), lanes):
        whole = code.extend(values[first], word)
        for lane in range(1, lanes):
            wide = code.extend(values[first + lane], word)
            whole = code.or_(whole, code.shift_left(wide, 8 * data_type.itemsize * lane))
        words.append(whole)
    return words


def _complex(code: Instructions, value: Any, numba_type: Any, data_type: DataType) -> tuple[Any, Any]:
    part = from_dtype(part_of(data_type).dtype)
    if isinstance(numba_type, types.Complex):
        real, imag = code.parts(value, numba_type)
        of = numba_type.underlying_float
        return code.cast(real, of, part), code.cast(imag, of, part)
    real = code.cast(value, numba_type, part)
    return real, code.constant(code.kind_of(real), 0)


def _narrow(code: Instructions, value: Any, numba_type: Any) -> Any:
    """Return a number as the float that rounds to any 16-bit type as the number itself does."""
    if isinstance(numba_type, types.Float):
        return _round_to_odd(code, value) if numba_type.bitwidth == 64 else value
    if isinstance(numba_type, types.Integer) and numba_type.bitwidth >= 32:
        return _integer_to_odd(code, value, numba_type.signed)
    return code.cast(value, numba_type, types.float32)  # which holds it exactly


def _number(code: Instructions, value: Any, numba_type: Any, data_type: DataType) -> Any:
    """Return a number in the storage form of `data_type`, which is bool, an integer, float32 or float64."""
    if data_type is DataType.kBool:
        return code.extend(value if isinstance(numba_type, types.Boolean) else code.is_nonzero(value), _BITS[1])
    if data_type.dtype.kind in "iu" and isinstance(numba_type, types.Float):
        return _saturate(code, value, data_type)
    return code.cast(value, numba_type, from_dtype(data_type.dtype))


def _saturate(code: Instructions, value: Any, data_type: DataType) -> Any:
    """Return a conversion with saturation: the device saturates at 32 and 64 bits, narrower types are clamped first.

    NaN becomes 0.
    """
    signed, wide = data_type.dtype.kind == "i", data_type.itemsize == 8
    result = _BITS[8 if wide else 4]
    name = f"{'s' if signed else 'u'}{8 * size_of(result)}"
    source, register = ("f32", "f") if code.kind_of(value) == FLOAT else ("f64", "d")
    constraints = f"={'l' if wide else 'r'},{register}"
    number = code.ptx(f"cvt.rzi.{name}.{source} $0, $1;", constraints, result, value)
    number = code.select(code.is_nan(value), code.constant(result, 0), number)
    if data_type.itemsize >= 4:
        return number
    info = np.iinfo(data_type.dtype)
    low, high = code.constant(result, int(info.min)), code.constant(result, int(info.max))
    number = code.select(code.compare(">", number, high, signed), high, number)
    number = code.select(code.compare("<", number, low, signed), low, number)
    return code.truncate(number, _BITS[data_type.itemsize])


def _round_to_odd(code: Instructions, value: Any) -> Any:
    """Narrow a double to float so that rounding the result again equals rounding the double once."""
    nearest = code.to_float(value)
    back = code.to_double(nearest)
    magnitude = [code.ptx("abs.f64 $0, $1;", "=d,d", DOUBLE, number) for number in (back, value)]
    bits = code.bits(nearest, _BITS[4])
    away = code.compare_reals(">", *magnitude)
    towards = code.select(away, code.constant(_BITS[4], -1), code.constant(_BITS[4], 1))
    inexact = code.compare_reals("!=", back, value)
    even = code.compare("==", code.and_(bits, 1), 0)
    return code.bits(code.select(code.and_(inexact, even), code.add(bits, towards), bits), FLOAT)


def _integer_to_odd(code: Instructions, value: Any, signed: bool) -> Any:
    """Return a wide integer rounded toward zero to a float, with the last bit set if the float is not exact."""
    kind = code.kind_of(value)
    name = f"{'s' if signed else 'u'}{8 * size_of(kind)}"
    register = "l" if size_of(kind) == 8 else "r"
    towards = code.ptx(f"cvt.rz.f32.{name} $0, $1;", f"=f,{register}", FLOAT, value)
    back = code.ptx(f"cvt.rzi.{name}.f32 $0, $1;", f"={register},f", kind, towards)
    inexact = code.extend(code.compare("!=", back, value), _BITS[4])
    return code.bits(code.or_(code.bits(towards, _BITS[4]), inexact), FLOAT)


@cache
def value_reader(scalar_type: ScalarType) -> Any:
    """Return `read(word0, word1)`: the number of a type of arithmetic whose bytes are the first ones of the two
    words."""
    dtype = np.dtype(scalar_type)
    numba_type = from_dtype(dtype)

    @written(numba_type, types.int64, types.int64)
    def read(code: Instructions, word0: Any, word1: Any) -> Any:
        if dtype.kind != "c":
            return _value(code, word0, dtype)
        part = np.dtype(f"f{dtype.itemsize // 2}")
        second = code.shift_right(word0, 32) if dtype.itemsize == 8 else word1
        return code.complex_of(_value(code, word0, part), _value(code, second, part), numba_type)

    return read


def _value(code: Instructions, word: Any, dtype: np.dtype[Any]) -> Any:
    """Return the number whose bytes are the low ones of a word."""
    bits = code.truncate(word, _BITS[dtype.itemsize])
    if dtype.kind == "b":
        return code.is_nonzero(bits)
    return code.bits(bits, FLOAT if dtype.itemsize == 4 else DOUBLE) if dtype.kind == "f" else bits
