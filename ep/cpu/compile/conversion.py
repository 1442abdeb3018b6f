"""Conversion between data types in LLVM IR, for single elements and for vectors of them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ep.common.native.on_demand import numba, types
from ep.cpu.compile.target import has_avx512
from ep.cpu.compile.vectors import BYTE, DOUBLE, FLOAT, HALF, INT, REALS, call, constant, stored_bits, structure
from ep.include.data_type import DataType
from ep.include.number_kind import FLOATS, HALVES, INTEGERS, part_of


def arithmetic(data_type: DataType) -> DataType:
    """Return the data type that elements are computed in."""
    return DataType.kFloat if data_type in HALVES else data_type


def widened(builder: Any, bits: Any, data_type: DataType) -> Any:
    """Return stored bits as a number of the arithmetic type of `data_type`; a bool is the byte that stores it."""
    if data_type is DataType.kFloat16:
        return builder.fpext(builder.bitcast(bits, _shaped(HALF, bits)), _shaped(FLOAT, bits))
    if data_type is DataType.kBFloat16:
        wide = _shaped(INT, bits)
        return builder.bitcast(builder.shl(builder.zext(bits, wide), constant(wide, 16)), _shaped(FLOAT, bits))
    if data_type in FLOATS:
        return builder.bitcast(bits, _shaped(REALS[data_type], bits))
    return bits


def extended(builder: Any, bits: Any, data_type: DataType, width: int) -> Any:
    """Return the stored bits of an integer, or of a vector of them, with at least `width` bits each."""
    if data_type.itemsize * 8 >= width:
        return bits
    extend = builder.sext if data_type.dtype.kind == "i" else builder.zext
    return extend(bits, _shaped(ir.IntType(width), bits))


def narrowed(builder: Any, value: Any, data_type: DataType) -> Any:
    """Return the bits that store a number of the arithmetic type of `data_type`; a bool is given as any byte."""
    bits = _shaped(stored_bits(data_type), value)
    if data_type is DataType.kFloat16:
        return builder.bitcast(builder.fptrunc(value, _shaped(HALF, value)), bits)
    if data_type is DataType.kBFloat16:
        return _to_bfloat16(builder, value)
    if data_type is DataType.kBool:
        return builder.zext(builder.icmp_unsigned("!=", value, constant(bits, 0)), bits)
    return builder.bitcast(value, bits) if data_type in FLOATS else value


def converted(builder: Any, value: Any, source: DataType, target: DataType) -> Any:
    """Return the lanes of a vector of type `source` as those of one of type `target`.

    Those of 16-bit floating types, bools and integers are stored bits. Raises NotImplementedError for float64 as 16-bit
    types, which would be rounded twice, for floating types as integers, and for bool as a target.
    """
    if source is target:
        return value
    bits = _shaped(stored_bits(target), value)
    if target in INTEGERS and source not in FLOATS:
        if source.itemsize > target.itemsize:
            return builder.trunc(value, bits)
        return extended(builder, value, source, 8 * target.itemsize)
    if target not in FLOATS or (source is DataType.kDouble and target in HALVES):
        raise NotImplementedError(f"a conversion of vectors from {source.name} to {target.name}")
    real = _shaped(REALS.get(target, FLOAT), value)
    if source not in FLOATS:
        number = (builder.sitofp if source.dtype.kind == "i" else builder.uitofp)(value, real)
    elif source is DataType.kDouble:
        number = builder.fptrunc(value, real)
    else:
        number = widened(builder, value, source)
        number = builder.fpext(number, real) if target is DataType.kDouble else number
    return narrowed(builder, number, target) if target in HALVES else number


def pair_of_bfloat16(builder: Any, lower: Any, upper: Any, exact: bool) -> Any:
    """Return the 32 bits that store two floats as bfloat16, the first one in the lower half.

    exact: whether the floats are bfloat16 numbers already.
    """
    if not exact:
        lower, upper = (_rounded_to_bfloat16(builder, value) for value in (lower, upper))
        return builder.or_(lower, builder.shl(upper, INT(16)))
    lower, upper = (builder.bitcast(value, INT) for value in (lower, upper))
    return builder.or_(builder.lshr(lower, INT(16)), builder.and_(upper, INT(0xFFFF0000)))


def _shaped(element: Any, like: Any) -> Any:
    """Return the vector type of `element` with the number of lanes of `like`; `element` itself if that is a scalar."""
    return ir.VectorType(element, like.type.count) if isinstance(like.type, ir.VectorType) else element


def convert(context: Any, builder: Any, value: Any, numba_type: Any, data_type: DataType) -> Any:
    """Return the stored form, in `data_type`, of an arithmetic value."""
    kind = data_type.dtype.kind
    if isinstance(numba_type, types.Literal):
        numba_type = numba_type.literal_type
    if kind == "c":
        part = numba.from_dtype(part_of(data_type).dtype)
        if isinstance(numba_type, types.Complex):
            parts = context.make_complex(builder, numba_type, value=value)
            real, imag = (context.cast(builder, v, numba_type.underlying_float, part) for v in (parts.real, parts.imag))
        else:
            real, imag = context.cast(builder, value, numba_type, part), context.get_constant(part, 0)
        return structure(builder, [real, imag])
    if data_type is DataType.kBool:
        return builder.zext(_is_nonzero(builder, value, numba_type), BYTE)
    if data_type in HALVES:
        if not isinstance(numba_type, types.Float):
            value, numba_type = _integer_to_odd(context, builder, value, numba_type)
        narrow = _round_to_odd(builder, value) if numba_type.bitwidth == 64 else value
        return narrowed(builder, narrow, data_type)
    if isinstance(numba_type, types.Float) and kind in "iu":
        return _saturate(builder, value, stored_bits(data_type), signed=kind == "i")
    return context.cast(builder, value, numba_type, numba.from_dtype(data_type.dtype))


def _is_nonzero(builder: Any, value: Any, numba_type: Any) -> Any:
    if isinstance(numba_type, types.Boolean):
        return value
    if isinstance(numba_type, types.Float):
        return builder.fcmp_unordered("!=", value, value.type(0.0))
    return builder.icmp_unsigned("!=", value, value.type(0))


def _saturate(builder: Any, value: Any, llvm_type: Any, signed: bool) -> Any:
    """Return a floating-point number as an integer: truncated toward zero, saturated, and 0 for NaN.

    LLVM's own instruction for this is not used because loops with it are not vectorised.
    """
    bits, digits = llvm_type.width, 53 if value.type == DOUBLE else 24
    low, end = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
    zero, lowest = (value.type(float(number)) for number in (0, low))
    if end.bit_length() - 1 <= digits:  # the largest integer is exact in the floating type
        largest = value.type(float(end - 1))
        packs = bits < 32 and not has_avx512() and (signed or value.type == FLOAT)
        if packs and signed:  # without mask registers, a mask would have to be narrowed like the numbers
            value = builder.select(builder.fcmp_unordered("uno", value, value), zero, value)
        number = builder.select(builder.fcmp_ordered(">", value, lowest), value, lowest)  # NaN becomes the lowest, too
        number = builder.select(builder.fcmp_ordered("<", number, largest), number, largest)
        if bits == 32:
            result = (builder.fptosi if signed else builder.fptoui)(number, llvm_type)
        else:
            wide = builder.fptosi(number, INT)
            if packs:  # LLVM packs vectors by saturating instructions only if it sees that integers are clamped
                for order, bound in ((">", low), ("<", end - 1)):
                    limit = INT(bound)
                    wide = builder.select(builder.icmp_signed(order, wide, limit), wide, limit)
            result = builder.trunc(wide, llvm_type)
        if not signed or packs:
            return result
        # select on the integer: processors with mask registers do it at no cost
        return builder.select(builder.fcmp_unordered("uno", value, value), llvm_type(0), result)
    beyond = builder.fcmp_ordered(">=", value, value.type(float(end)))
    below = builder.fcmp_unordered("<", value, lowest)  # or NaN
    number = builder.select(builder.or_(beyond, below), zero, value)
    result = (builder.fptosi if signed else builder.fptoui)(number, llvm_type)
    result = builder.select(beyond, llvm_type(end - 1), result)
    is_less = builder.fcmp_ordered("<", value, lowest)
    return builder.select(is_less, llvm_type(low), result)


def _to_bfloat16(builder: Any, value: Any) -> Any:
    return builder.trunc(_rounded_to_bfloat16(builder, value), _shaped(stored_bits(DataType.kBFloat16), value))


def _rounded_to_bfloat16(builder: Any, value: Any) -> Any:
    """Round a float to bfloat16, to nearest even; NaN stays NaN. Return its bits in the lower half of 32 bits."""
    bits32 = _shaped(INT, value)
    bits = builder.bitcast(value, bits32)
    upper = builder.lshr(bits, constant(bits32, 16))
    odd = builder.and_(upper, constant(bits32, 1))
    rounded = builder.lshr(builder.add(bits, builder.add(odd, constant(bits32, 0x7FFF))), constant(bits32, 16))
    # rounding could carry a NaN into infinity: keep its sign and payload, and make it quiet
    quiet = builder.or_(upper, constant(bits32, 0x40))
    return builder.select(builder.fcmp_unordered("uno", value, value), quiet, rounded)


def _integer_to_odd(context: Any, builder: Any, value: Any, numba_type: Any) -> tuple[Any, Any]:
    """Return an integer or bool as a floating-point number that rounds to 16 bits as the integer does, and its type.

    The number is the integer itself or, if that has too many bits, a neighbour whose last bit is 1 (round to odd). It
    is a float, or a double for integers of 64 bits.
    """
    bits = 1 if isinstance(numba_type, types.Boolean) else numba_type.bitwidth
    real = types.float64 if bits == 64 else types.float32
    if bits > 16:
        # every integer within 2^(bits - dropped) on either side of 0 is exact, and so is one without `dropped` bits
        dropped, kind = (16 if bits == 64 else 8), value.type
        low, limit = (1 << dropped) - 1, 1 << (bits - dropped)
        rest = builder.icmp_unsigned("!=", builder.and_(value, kind(low)), kind(0))
        last = builder.select(rest, kind(1 << dropped), kind(0))
        odd = builder.or_(builder.and_(value, kind(~low)), last)
        biased, end = (builder.add(value, kind(limit)), 2 * limit) if numba_type.signed else (value, limit)
        value = builder.select(builder.icmp_unsigned("<", biased, kind(end)), value, odd)
    return context.cast(builder, value, numba_type, real), real


def _round_to_odd(builder: Any, value: Any) -> Any:
    """Narrow a double to float so that rounding the result again equals rounding the double once."""
    nearest = builder.fptrunc(value, FLOAT)
    back = builder.fpext(nearest, DOUBLE)
    magnitude = [call(builder, "llvm.fabs.f64", DOUBLE, number) for number in (back, value)]
    bits = builder.bitcast(nearest, INT)
    away = builder.fcmp_ordered(">", *magnitude)
    towards = builder.select(away, INT(-1), INT(1))
    inexact = builder.fcmp_ordered("!=", back, value)
    even = builder.icmp_unsigned("==", builder.and_(bits, INT(1)), INT(0))
    return builder.bitcast(builder.select(builder.and_(inexact, even), builder.add(bits, towards), bits), FLOAT)
